//! No circle of imports: neither between the modules of a folder nor between its files. A folder's `mod.rs` and
//! its own files may use each other, as Rust's privacy has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

type Module = Vec<String>;

/// A crate's files by their module, and what each takes from which other: (from, to) → names.
struct Imports {
    files: BTreeMap<Module, Vec<(bool, Module)>>,
}

impl Imports {
    fn of(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut folders = vec![Module::new()];
        while let Some(folder) = folders.pop() {
            let at = folder.iter().fold(root.to_owned(), |at, name| at.join(name));
            for entry in fs::read_dir(at).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let mut module = folder.clone();
                if !["mod", "lib"].contains(&name.as_str()) {
                    module.push(name);
                }
                if path.is_dir()
                    && !["tests", "core", "edge", "encoder"].contains(&module.join("/").as_str())
                {
                    folders.push(module);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    files.insert(module, uses(&fs::read_to_string(path).unwrap()));
                }
            }
        }
        Self { files }
    }

    /// The module that a path in `module` starts from, made absolute; `None` for another crate's.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Module> {
        let first = path.first()?.as_str();
        let above = path.iter().take_while(|name| *name == "super").count();
        let mut child = module.to_vec();
        child.push(first.to_owned());
        match first {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => Some([module.get(..module.len() - above)?, &path[above..]].concat()),
            _ if self.files.contains_key(&child) => Some([module, path].concat()),
            _ => None,
        }
    }

    /// The file in which the last name of an absolute path is declared, through `pub use`.
    fn declares(&self, path: &[String], steps: usize) -> Option<Module> {
        let own = (0..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end]))?;
        let (module, rest) = path.split_at(own);
        let name = rest.first();
        let passed_on = self.files[module].iter().find_map(|(is_public, used)| {
            (*is_public && steps > 0 && used.last() == name).then(|| self.absolute(module, used))?
        });
        match passed_on {
            Some(path) => self.declares(&path, steps - 1),
            None => Some(module.to_vec()),
        }
    }

    /// (from, to), less re-exports.
    fn edges(&self) -> BTreeSet<(Module, Module)> {
        let mut edges = BTreeSet::new();
        for (module, used) in &self.files {
            for (_, path) in used.iter().filter(|(is_public, _)| !is_public) {
                let to = self.absolute(module, path).and_then(|path| self.declares(&path, 5));
                edges.extend(to.map(|to| (module.clone(), to)));
            }
        }
        edges
    }
}

/// Each imported path of a file, less its unit tests, and whether it is re-exported.
fn uses(text: &str) -> Vec<(bool, Module)> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let comment = Regex::new(r"(?m)//.*$").unwrap();
    let text = comment.replace_all(text, "");
    let statement = Regex::new(r"(?m)^\s*(pub(?:\([a-z:]+\))?\s+)?use\s+([^;]+);").unwrap();
    let inline = Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap();
    let mut found = Vec::new();
    for used in statement.captures_iter(&text) {
        let mut paths = Vec::new();
        expand(&[], &used[2], &mut paths);
        found.extend(paths.into_iter().map(|path| (used.get(1).is_some(), path)));
    }
    let body = statement.replace_all(&text, "");
    let names = |path: &str| path.split("::").map(str::to_owned).collect();
    found.extend(inline.find_iter(&body).map(|path| (false, names(path.as_str()))));
    found
}

/// `a::{b, c::D}` into `a::b` and `a::c::D`.
fn expand(before: &[String], tree: &str, found: &mut Vec<Module>) {
    let (path, inside) = match tree.split_once('{') {
        Some((path, inside)) => (path, inside.trim_end().strip_suffix('}')),
        None => (tree.split(" as ").next().unwrap(), None),
    };
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
    let path: Module = before.iter().cloned().chain(names.map(str::to_owned)).collect();
    let Some(inside) = inside else {
        found.push(path);
        return;
    };
    let mut depth = 0;
    let parts = inside.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.filter(|part| !part.trim().is_empty()) {
        expand(&path, part, found);
    }
}

/// The pairs of one folder's members that reach each other, with the imports that tie them.
fn circles(edges: &BTreeSet<(Module, Module)>) -> Vec<String> {
    let mut folders: BTreeMap<&[String], BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for (from, to) in edges {
        let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
            let members = folders.entry(&from[..shared]).or_default();
            members.entry(a).or_default().insert(b);
        }
    }
    let mut found = Vec::new();
    for (folder, members) in folders {
        for from in members.keys() {
            let (mut reached, mut next) = (BTreeSet::new(), vec![*from]);
            while let Some(at) = next.pop() {
                next.extend(
                    members.get(at).into_iter().flatten().filter(|to| reached.insert(**to)),
                );
            }
            if reached.contains(from) {
                found.push(format!("{}::{from} → {:?}", folder.join("::"), members[from]));
            }
        }
    }
    found
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for of in ["src", "src/core", "src/edge", "app/src"] {
        let imports = Imports::of(&root.join(of));
        let edges = imports.edges();
        assert!(edges.len() > 20, "{of}: only {} imports found", edges.len());
        let circles = circles(&edges);
        assert!(circles.is_empty(), "{of}:\n{}", circles.join("\n"));
    }
}

#[test]
fn a_circle_is_found() {
    let module = |path: &str| path.split('/').map(str::to_owned).collect::<Module>();
    let edge = |from, to| (module(from), module(to));
    let tree = [edge("a", "b/c"), edge("b", "b/c"), edge("b/c", "b"), edge("b/d", "b/c")];
    assert_eq!(circles(&BTreeSet::from(tree.clone())), Vec::<String>::new());
    let with = |more| circles(&tree.iter().cloned().chain([more]).collect());
    assert_eq!(with(edge("b/d", "a")).len(), 2);
    assert_eq!(with(edge("b/c", "b/d")), ["b::c → {\"d\"}", "b::d → {\"c\"}"]);
    let mut paths = Vec::new();
    expand(&[], "crate::{a::B, c::{self, D as E}}", &mut paths);
    let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["crate::a::B", "crate::c::self", "crate::c::D"]);
}
