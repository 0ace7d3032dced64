//! Reads off the source what is served: so that nothing can be served unseen.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Less comments and unit tests.
fn code(path: &str) -> String {
    let text = read(path);
    let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Every file below a folder, by its path from the root of the package.
pub fn files(folder: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// What stands between the parentheses that open right before `text`.
fn arguments(text: &str) -> &str {
    let (mut depth, mut in_string) = (1, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    panic!("unbalanced: {text:.80}");
}

/// `get(…).post(…)` → GET, POST: the calls at the top level.
fn methods(handlers: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), handlers.trim());
    while let Some((name, after)) = rest.split_once('(') {
        let name = name.trim().trim_start_matches('.').trim();
        let inner = arguments(after);
        rest = after[inner.len() + 1..].trim_start_matches(',').trim();
        if name == "layer" {
            continue;
        }
        let known = ["get", "post", "put", "patch", "delete", "any", "head"];
        assert!(
            known.contains(&name),
            "src/tests/isolation/walk.rs cannot tell the method of {handlers:?}: write it as get(…), post(…) and so on"
        );
        found.push(name.to_uppercase());
    }
    found
}

fn path_of(argument: &str) -> String {
    let argument = argument.trim();
    if let Some(literal) = argument.strip_prefix('"') {
        return literal.trim_end_matches('"').to_owned();
    }
    // A constant of a module: `mcp::PATH`.
    let (module, name) = argument.split_once("::").unwrap_or(("", argument));
    let home = match module {
        "" => "src/web/routes.rs".to_owned(),
        module => {
            let folder = format!("src/web/{module}/mod.rs");
            let is_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder).exists();
            if is_folder { folder } else { format!("src/web/{module}.rs") }
        }
    };
    let text = code(&home);
    let value = text
        .split_once(&format!("const {name}: &str = \""))
        .unwrap_or_else(|| panic!("{home} has no `const {name}: &str`, a route's path"));
    value.1.split('"').next().unwrap().to_owned()
}

/// Where routes stand: those of programs and downloads, and the pages.
const TABLES: [&str; 2] = ["src/web/routes.rs", "app/src/routes.rs"];

/// Method and path of every route, in the tables' own order.
pub fn routes() -> Vec<(String, String)> {
    let table = TABLES.map(code).concat();
    let mut found = Vec::new();
    for rest in table.split(".route(").skip(1) {
        let inner = arguments(rest);
        let (path, handlers) = inner.split_once(',').expect("a path and its handlers");
        for method in methods(handlers) {
            found.push((method, path_of(path)));
        }
    }
    for service in [".route_service(", ".nest_service("] {
        for rest in table.split(service).skip(1) {
            let path = arguments(rest).split(',').next().unwrap();
            found.push(("GET".to_owned(), path_of(path)));
        }
    }
    // A whole router from elsewhere would hide its routes from this test.
    assert!(!table.contains(".nest("), "list nested routes in the table");
    for rest in table.split(".merge(").skip(1) {
        let name = rest.split('(').next().unwrap();
        assert!(
            table.contains(&format!("fn {name}(")),
            "{name} is merged into the table from elsewhere: its routes belong into {TABLES:?}"
        );
    }
    for file in files("src").into_iter().chain(files("app/src")) {
        let adds = [".route(", ".route_service(", ".nest_service(", "Router::new()"];
        let is_elsewhere = !file.starts_with("src/tests/") && !TABLES.contains(&file.as_str());
        if is_elsewhere && let Some(adds) = adds.iter().find(|a| code(&file).contains(**a)) {
            panic!("{file} says `{adds}`: routes stand in {TABLES:?} alone");
        }
    }
    found
}

/// What the server of MCP answers: the functions of `impl ServerHandler`.
pub fn mcp_handlers() -> Vec<String> {
    let handler = code("src/web/mcp/handler.rs");
    let body = handler.split_once("impl ServerHandler for Handler {").expect("the server of MCP");
    let body = body.1.split("\n}").next().unwrap();
    let names = body.lines().filter_map(|line| {
        let line = line.strip_prefix("    ")?;
        let line = line.strip_prefix("async ").unwrap_or(line);
        Some(line.strip_prefix("fn ")?.split('(').next()?.to_owned())
    });
    names.collect()
}

/// The names of the jobs.
pub fn jobs() -> Vec<String> {
    let names = keepsake::jobs::JOBS.iter().map(|job| job.name.to_owned());
    names.collect()
}

#[test]
fn there_are_no_server_functions() {
    // Each would be a public endpoint beside the table of routes.
    for file in files("src").into_iter().chain(files("app/src")) {
        if file.starts_with("src/tests/") {
            continue;
        }
        let code = code(&file);
        for sign in ["#[server", "server_fn", "ServerFn", "handle_server_fns", "leptos_routes"] {
            assert!(
                !code.contains(sign),
                "{file} says `{sign}`: pages have forms and links; a server function needs a walk of its own in src/tests/isolation"
            );
        }
    }
}

#[test]
fn the_walk_sees_routes_as_they_are_written() {
    assert_eq!(methods("get(a).post(b::c)"), ["GET", "POST"]);
    assert_eq!(methods("post(move |r| door.answer(r)),"), ["POST"]);
    assert_eq!(methods("post(a).layer(Limit::none()),"), ["POST"]);
    let routes = routes();
    for known in [
        ("GET", "/livez"),
        ("POST", "/mcp"),
        ("POST", "/login"),
        ("POST", "/agents/{agent_id}/tokens/{token_id}/revoke"),
        ("GET", "/favicon.svg"),
        ("GET", "/pkg"),
    ] {
        let is_seen = routes.iter().any(|(m, p)| (m.as_str(), p.as_str()) == known);
        assert!(is_seen, "{known:?} in {routes:?}");
    }
    assert!(mcp_handlers().contains(&"call_tool".to_owned()));
    assert!(jobs().contains(&"embed".to_owned()));
}
