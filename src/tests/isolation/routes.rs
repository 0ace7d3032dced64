//! Every route, by the table in src/web/routes.rs, called with what is another's.

use std::collections::BTreeSet;

use keepsake::config::OWN_ADDRESSES;
use reqwest::{Client, RequestBuilder};

use super::scene::{Answer, Scene, answered, spread_ids};
use super::walk;
use crate::support::{Browser, TestApp};

type Form = &'static [(&'static str, &'static str)];

/// One way to ask a route for what is not one's own. `{item}`, `{agent}`,
/// `{token}`, `{theme}` and so on stand for Anna's (src/tests/isolation/scene.rs).
struct Case {
    method: &'static str,
    route: &'static str,
    asks: Asks,
}

enum Asks {
    /// Names somebody's row: answered as for a name that never was, with this status.
    Row(&'static str, Form, u16),
    /// Is about the caller, whose rows it finds by who they are: whatever others have changes nothing.
    Own(&'static str, Form, u16),
    /// For admins: a member is answered as if it were not there.
    Admin(&'static str, Form),
    /// The same for all: no word of any user is in it.
    Server(&'static str, u16),
}

use Asks::{Admin, Own, Row, Server};

const fn get(route: &'static str, asks: Asks) -> Case {
    Case { method: "GET", route, asks }
}

const fn post(route: &'static str, asks: Asks) -> Case {
    Case { method: "POST", route, asks }
}

const NEW_TOKEN: Form = &[("scope", "memory:read"), ("name", "x"), ("users_max", "9")];

#[rustfmt::skip]
const CASES: &[Case] = &[
    get("/livez", Server("/livez", 200)),
    get("/readyz", Server("/readyz", 200)),
    // Sent from this machine, and not passed on.
    get("/metrics", Server("/metrics", 200)),
    get("/pkg", Server("/pkg/keepsake.css", 0)),
    get("/favicon.svg", Server("/favicon.svg", 0)),
    get("/fonts", Server("/fonts/inter-4.1.woff2", 0)),
    // Its methods and tools are walked in mcp.rs.
    post("/mcp", Own("/mcp", &[], 400)),
    post("/mcp/", Own("/mcp/", &[], 400)),
    get("/api/v1/tools", Own("/api/v1/tools?format=json", &[], 200)),
    // Its tools are walked in tools.rs.
    post("/api/v1/tools/{name}", Row("/api/v1/tools/{theme}", &[], 404)),
    get("/api/v1/prompt", Own("/api/v1/prompt", &[], 200)),
    get("/api/v1/summary", Own("/api/v1/summary", &[], 200)),
    // Its tool is walked in tools.rs.
    post("/api/v1/recall", Own("/api/v1/recall", &[], 422)),
    get("/api/v1/changes", Own("/api/v1/changes", &[], 200)),
    get("/api/v1/settings/secrets", Own("/api/v1/settings/secrets", &[], 200)),
    Case { method: "PUT", route: "/api/v1/settings/secrets", asks: Own("/api/v1/settings/secrets", &[], 422) },
    get("/api/v1/documents", Own("/api/v1/documents", &[], 200)),
    Case { method: "DELETE", route: "/api/v1/documents", asks: Own("/api/v1/documents", &[], 200) },
    get("/api/v1/documents/{*path}", Row("/api/v1/documents/{document}", &[], 404)),
    Case { method: "PUT", route: "/api/v1/documents/{*path}", asks: Row("/api/v1/documents/{document}", &[], 422) },
    Case { method: "DELETE", route: "/api/v1/documents/{*path}", asks: Row("/api/v1/documents/{document}", &[], 404) },
    get("/api/v1/sessions/{external_id}", Row("/api/v1/sessions/{session}", &[], 404)),
    get("/api/v1/sessions/{external_id}/messages", Row("/api/v1/sessions/{session}/messages", &[], 404)),
    // Whose session it is hangs on the token: this would be one of the caller's own, if it said anything.
    post("/api/v1/sessions/{external_id}/messages", Row("/api/v1/sessions/{session}/messages", &[], 422)),
    post("/api/v1/sessions/{external_id}/flush", Row("/api/v1/sessions/{session}/flush", &[], 404)),
    post("/api/v1/sessions/{external_id}/complete", Row("/api/v1/sessions/{session}/complete", &[], 404)),
    get("/api/v1/openapi.json", Server("/api/v1/openapi.json", 200)),
    Case { method: "ANY", route: "/api/{*rest}", asks: Row("/api/v1/items/{item}", &[], 404) },
    Case { method: "ANY", route: "/.well-known/{*rest}", asks: Row("/.well-known/{item}", &[], 404) },
    get("/.well-known/oauth-protected-resource", Server("/.well-known/oauth-protected-resource", 200)),
    get("/.well-known/oauth-protected-resource/mcp", Server("/.well-known/oauth-protected-resource/mcp", 200)),
    get("/.well-known/oauth-authorization-server", Server("/.well-known/oauth-authorization-server", 200)),
    // Clients and tokens are another's in src/tests/oauth/hostile.rs.
    post("/oauth/register", Server("/oauth/register", 400)),
    post("/oauth/token", Server("/oauth/token", 400)),
    post("/oauth/revoke", Server("/oauth/revoke", 400)),
    get("/oauth/authorize", Own("/oauth/authorize?client_id=x", &[], 400)),
    post("/oauth/authorize", Own("/oauth/authorize?client_id=x", &[("action", "allow"), ("agent", "1")], 400)),
    get("/", Server("/", 303)),
    get("/login", Server("/login?next=/memory/{item}", 200)),
    post("/login", Row("/login", &[("email", "{email}"), ("password", "not the password")], 422)),
    post("/signup", Row("/signup", &[("email", "{email}"), ("password", "long enough to be one")], 403)),
    post("/logout", Own("/logout", &[], 303)),
    get("/docs", Server("/docs", 200)),
    get("/connect.py", Server("/connect.py", 200)),
    get("/memory", Own("/memory?status=all", &[], 200)),
    get("/memory", Own("/memory?q=rows", &[], 200)),
    get("/memory", Row("/memory?q={word}&status=all", &[], 200)),
    get("/memory", Row("/memory?theme={theme}&status=all", &[], 200)),
    get("/memory/{id}", Row("/memory/{item}", &[], 404)),
    get("/memory/{id}", Row("/memory/{item}?q={word}", &[], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "archive")], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "restore"), ("newer", "{item}")], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "confirm")], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "unconfirm")], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "share")], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "own")], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "half_life"), ("days", "3")], 404)),
    post("/memory/{id}", Row("/memory/{item}", &[("action", "undo"), ("event", "{item}")], 404)),
    get("/documents", Own("/documents", &[], 200)),
    get("/documents", Row("/documents?folder={theme}", &[], 200)),
    get("/documents/{id}", Row("/documents/{document_id}", &[], 404)),
    get("/documents/{id}", Row("/documents/{document_id}?revision=1&as=text", &[], 404)),
    get("/documents/{id}/raw", Row("/documents/{document_id}/raw", &[], 404)),
    post("/documents/{id}", Row("/documents/{document_id}", &[("action", "restore")], 404)),
    post("/documents/{id}", Row("/documents/{document_id}", &[("action", "restore_revision"), ("revision", "1")], 404)),
    post("/documents/{id}/erase", Row("/documents/{document_id}/erase", &[("confirm", "1")], 404)),
    post("/documents/{id}/erase", Row("/documents/{document_id}/erase", &[], 404)),
    post("/data/delete", Row("/data/delete", &[("action", "delete"), ("item", "{item}")], 404)),
    post("/data/delete", Row("/data/delete", &[("action", "undo"), ("item", "{item}")], 404)),
    get("/data", Own("/data", &[], 200)),
    get("/data/about", Row("/data/about?memory={item}", &[], 200)),
    get("/data/about.json", Row("/data/about.json?memory={item}", &[], 404)),
    post("/data/about", Row("/data/about", &[("action", "delete"), ("memory", "{item}"), ("part", "memories:{item}")], 404)),
    get("/data/export", Own("/data/export", &[], 200)),
    get("/data/imports/{id}/report.jsonl", Row("/data/imports/{import}/report.jsonl", &[], 404)),
    post("/data/import", Own("/data/import", &[], 422)),
    post("/data/erase", Own("/data/erase", &[("email", "{email}"), ("password", "not the password")], 422)),
    get("/erased/{receipt}", Row("/erased/{theme}", &[], 404)),
    get("/erased/{receipt}/receipt.json", Row("/erased/{theme}/receipt.json", &[], 404)),
    get("/invitation/{token}", Row("/invitation/{theme}", &[], 404)),
    post("/invitation/{token}", Row("/invitation/{theme}", &[("password", "long enough to be one")], 404)),
    get("/reset/{token}", Row("/reset/{theme}", &[], 404)),
    post("/reset/{token}", Row("/reset/{theme}", &[("password", "long enough to be one")], 404)),
    get("/summary", Own("/summary", &[], 200)),
    post("/summary", Own("/summary", &[("action", "write")], 303)),
    get("/entities", Own("/entities", &[], 200)),
    get("/entities/{id}", Row("/entities/{entity}", &[], 404)),
    post("/entities/{id}", Row("/entities/{entity}", &[("action", "rename"), ("name", "x"), ("type", "person")], 404)),
    post("/entities/{id}", Row("/entities/{entity}", &[("action", "merge"), ("with", "{entity}")], 404)),
    post("/entities/{id}", Row("/entities/{entity}", &[("action", "undo"), ("decision", "1")], 404)),
    post("/entities/pairs", Row("/entities/pairs", &[("action", "merge"), ("one", "{entity}"), ("other", "{entity}")], 409)),
    post("/entities/pairs", Row("/entities/pairs", &[("action", "merge"), ("one", "{entity}"), ("other", "{item}")], 404)),
    post("/entities/pairs", Row("/entities/pairs", &[("action", "apart"), ("one", "{entity}"), ("other", "{item}")], 404)),
    post("/entities/settings", Own("/entities/settings", &[("by_rules", "1"), ("by_model", "1")], 303)),
    get("/graph", Own("/graph", &[], 200)),
    get("/graph", Row("/graph?around={entity}", &[], 404)),
    get("/sessions", Own("/sessions", &[], 200)),
    get("/sessions", Row("/sessions?agent={agent}", &[], 200)),
    get("/sessions/{id}", Row("/sessions/{session_id}", &[], 404)),
    post("/sessions/{id}/again", Row("/sessions/{session_id}/again", &[("first", "1")], 404)),
    post("/sessions/{id}/erase", Row("/sessions/{session_id}/erase", &[("memories", "1")], 404)),
    get("/agents", Own("/agents", &[], 200)),
    get("/agents", Own("/agents?connect=cursor", &[], 200)),
    post("/agents", Own("/agents", &[("name", "mine"), ("scope", "memory:read")], 303)),
    post("/agents/{agent_id}/tokens", Row("/agents/{agent}/tokens", NEW_TOKEN, 404)),
    post("/agents/{agent_id}/tokens/{token_id}/revoke", Row("/agents/{agent}/tokens/{token}/revoke", &[], 404)),
    post("/agents/{agent_id}/settings", Row("/agents/{agent}/settings", &[("action", "document"), ("document", "{}")], 404)),
    post("/agents/{agent_id}/team", Row("/agents/{agent}/team", &[("action", "invite")], 404)),
    post("/agents/{agent_id}/team", Row("/agents/{agent}/team", &[("action", "take_back")], 404)),
    post("/agents/{agent_id}/team", Row("/agents/{agent}/team", &[("action", "leave"), ("tie", "1")], 404)),
    get("/team/{token}", Row("/team/{theme}", &[], 404)),
    post("/team/{token}", Row("/team/{theme}", &[("member", "1")], 404)),
    post("/account/tokens", Own("/account/tokens", &[("action", "end_all")], 303)),
    post("/agents/{agent_id}/undo", Row("/agents/{agent}/undo", &[("action", "look"), ("since", "2026")], 404)),
    post("/agents/{agent_id}/undo", Row("/agents/{agent}/undo", &[("action", "undo"), ("since", "2026")], 404)),
    post("/agents/{agent_id}/undo", Row("/agents/{agent}/undo", &[("action", "take_back")], 404)),
    post("/agents/{agent_id}/memory", Row("/agents/{agent}/memory", &[("action", "off")], 404)),
    post("/agents/{agent_id}/tools", Row("/agents/{agent}/tools", &[("action", "full")], 404)),
    get("/activity", Own("/activity", &[], 200)),
    get("/activity", Row("/activity?item={item}", &[], 200)),
    get("/activity", Row("/activity?agent={agent}", &[], 200)),
    get("/activity", Row("/activity?theme={theme}", &[], 200)),
    get("/activity", Own("/activity?day=2026-01-01", &[], 200)),
    get("/used", Own("/used", &[], 200)),
    post("/activity/queries", Own("/activity/queries", &[("action", "forget")], 303)),
    get("/settings/embeddings", Own("/settings/embeddings", &[], 200)),
    post("/settings/embeddings", Own("/settings/embeddings", &[("action", "cancel")], 303)),
    // A key that another had sealed for a confirmation.
    post("/settings/embeddings", Row("/settings/embeddings", &[("action", "confirm"), ("staged", "{staged}"),
        ("own_enabled", "1"), ("provider_type", "openai"), ("url", "https://api.example.com/v1"), ("model", "m")], 422)),
    get("/settings/chat", Own("/settings/chat", &[], 200)),
    post("/settings/chat", Own("/settings/chat", &[("action", "remove")], 303)),
    post("/admin/chat", Admin("/admin/chat", &[("action", "save"), ("url", ""), ("provider_type", "openai")])),
    get("/admin", Admin("/admin", &[])),
    get("/admin/backups", Admin("/admin/backups", &[])),
    post("/admin/backups", Admin("/admin/backups", &[("action", "back_up")])),
    get("/admin/jobs", Admin("/admin/jobs", &[])),
    post("/admin/jobs", Admin("/admin/jobs", &[("action", "pause"), ("job", "embed")])),
    get("/admin/users", Admin("/admin/users", &[])),
    post("/admin/users/{user_id}", Admin("/admin/users/{user}", &[("action", "disable")])),
    post("/admin/users/{user_id}/reset", Admin("/admin/users/{user}/reset", &[])),
    post("/admin/invitations", Admin("/admin/invitations", &[("email", "x@example.com")])),
    post("/admin/invitations/{invitation_id}/revoke", Admin("/admin/invitations/1/revoke", &[])),
    post("/admin/embeddings", Admin("/admin/embeddings", &[("action", "builtin_off")])),
    post("/admin/endpoints", Admin("/admin/endpoints", &[("action", "add"), ("endpoint", "127.0.0.1:1")])),
    post("/admin/browser", Admin("/admin/browser", &[("action", "close")])),
    post("/admin/storage", Admin("/admin/storage", &[("mib", "1")])),
    post("/admin/operators", Admin("/admin/operators", NEW_TOKEN)),
    post("/admin/operators/{operator_id}", Admin("/admin/operators/{operator}", NEW_TOKEN)),
    post("/admin/operators/{operator_id}/tokens", Admin("/admin/operators/{operator}/tokens", NEW_TOKEN)),
    post("/admin/operators/{operator_id}/tokens/{token_id}/revoke",
        Admin("/admin/operators/{operator}/tokens/{operator_token}/revoke", &[])),
    get("/account", Own("/account", &[], 200)),
    get("/dreams", Own("/dreams", &[], 200)),
    post("/dreams", Own("/dreams", &[("action", "accept_all"), ("dream", "1")], 303)),
    post("/dreams", Own("/dreams", &[("action", "dismiss"), ("dream", "1"), ("n", "1")], 303)),
    post("/dreams", Own("/dreams", &[("action", "undo"), ("dream", "1")], 303)),
    post("/dreams", Own("/dreams", &[("action", "save"), ("mode", "propose"), ("episodes_min", "5")], 303)),
    get("/timeline", Own("/timeline", &[], 200)),
    get("/learned", Own("/learned", &[], 200)),
    post("/learned", Row("/learned", &[("action", "keep"), ("item", "{item}")], 404)),
    post("/learned", Row("/learned", &[("action", "forget"), ("item", "{item}")], 404)),
    post("/learned", Row("/learned", &[("action", "confirm"), ("item", "{item}")], 404)),
    post("/learned", Row("/learned", &[("action", "restore"), ("item", "{item}")], 404)),
    post("/learned", Own("/learned", &[("action", "keep_all"), ("oldest", "1"), ("item", "1")], 303)),
    post("/learned", Own("/learned", &[("action", "unwanted"), ("text", "The weather")], 303)),
    post("/learned", Own("/learned", &[("action", "keep_imported"), ("oldest", "1"), ("item", "1")], 303)),
    post("/learned", Own("/learned", &[("action", "keep_claimed"), ("oldest", "1"), ("item", "1")], 303)),
    post("/learned", Row("/learned", &[("action", "disown"), ("item", "{item}")], 404)),
    post("/learned", Own("/learned", &[("action", "keep_all_imported"), ("item", "1")], 303)),
    post("/learned", Own("/learned", &[("action", "accept"), ("proposal", "1")], 303)),
    post("/learned", Own("/learned", &[("action", "dismiss"), ("proposal", "1")], 303)),
    post("/learned", Own("/learned", &[("action", "wanted"), ("line", "1")], 303)),
    get("/settings/fading", Own("/settings/fading", &[], 200)),
    post("/settings/fading", Row("/settings/fading", &[("action", "restore"), ("item", "{item}")], 404)),
    post("/settings/fading", Row("/settings/fading", &[("action", "keep"), ("item", "{item}")], 404)),
    post("/settings/fading", Own("/settings/fading", &[("action", "restore_all")], 303)),
    get("/settings/webhooks", Own("/settings/webhooks", &[], 200)),
    post("/settings/webhooks", Row("/settings/webhooks", &[("action", "test"), ("webhook", "{item}")], 404)),
    post("/settings/webhooks", Row("/settings/webhooks", &[("action", "pause"), ("webhook", "{item}")], 404)),
    post("/settings/webhooks", Row("/settings/webhooks", &[("action", "resume"), ("webhook", "{item}")], 404)),
    post("/settings/webhooks", Row("/settings/webhooks", &[("action", "rotate"), ("webhook", "{item}")], 404)),
    post("/settings/webhooks", Row("/settings/webhooks", &[("action", "delete"), ("webhook", "{item}")], 404)),
    get("/settings/secrets", Own("/settings/secrets", &[], 200)),
    post("/settings/secrets", Own("/settings/secrets", &[("action", "save"), ("policy", "mask")], 303)),
    post("/settings/secrets", Own("/settings/secrets", &[("action", "allow"), ("id", "00000000000000000000000000000000")], 422)),
    get("/settings/work", Own("/settings/work", &[], 200)),
    post("/account/password", Own("/account/password", &[("current_password", "no"), ("new_password", "long enough to be one")], 422)),
    post("/sessions", Own("/sessions", &[("action", "on")], 303)),
    post("/account/time-zone", Own("/account/time-zone", &[("time_zone", "Asia/Tokyo")], 303)),
    post("/account/memory", Own("/account/memory", &[("action", "on")], 303)),
];

#[test]
fn every_route_has_a_case() {
    let served = walk::routes();
    for (method, route) in &served {
        let has_case = CASES.iter().any(|c| c.method == method && c.route == route);
        assert!(
            has_case,
            "{method} {route} is served and nobody has tried it with another's rows. Add to CASES in \
             src/tests/isolation/routes.rs a line such as\n    {}(\"{route}\", Row(\"{}\", &[], 404)),\n\
             Row where its address or form names somebody's row ({{item}}, {{agent}}, …); Own where it is about the \
             caller alone; Admin where only admins may; Server where it is the same for all.",
            method.to_lowercase(),
            route.replace("{id}", "{item}"),
        );
    }
    for case in CASES {
        let is_served = served.iter().any(|(m, r)| m == case.method && r == case.route);
        assert!(
            is_served,
            "{} {} is not in src/web/routes.rs any more: remove its case from src/tests/isolation/routes.rs",
            case.method, case.route
        );
    }
}

/// Behind a proxy that removes the path of the public address, nobody could tell it from the route.
#[test]
fn the_path_of_a_public_address_begins_as_no_route_does() {
    let firsts = walk::routes()
        .into_iter()
        .map(|(_, route)| route.split('/').nth(1).unwrap_or_default().to_owned());
    let firsts: BTreeSet<String> = firsts.filter(|first| !first.is_empty()).collect();
    let own: BTreeSet<String> = OWN_ADDRESSES.iter().map(|&own| own.to_owned()).collect();
    assert_eq!(firsts, own, "OWN_ADDRESSES of src/config/addresses.rs");
}

/// For programs: by token, and without a cookie.
fn is_for_programs(route: &str) -> bool {
    let doors = ["/api/", "/mcp", "/.well-known/"];
    doors.iter().any(|door| route.starts_with(door))
}

/// As the browser, from one of our own pages.
fn by_browser(
    browser: &Browser,
    method: &str,
    path: &str,
    form: &[(String, String)],
) -> RequestBuilder {
    let url = format!("{}{path}", browser.base);
    match method {
        "POST" => browser.client.post(url).header("sec-fetch-site", "same-origin").form(form),
        _ => browser.client.get(url),
    }
}

/// A program that calls with a token or none, and may name whom it acts for.
struct Program<'a> {
    client: &'a Client,
    base: &'a str,
    token: Option<&'a str>,
    user: Option<&'a str>,
}

impl Program<'_> {
    fn ask(&self, method: &str, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base);
        let mut request = match method {
            "POST" => self.client.post(url).body("{}"),
            "PUT" => self.client.put(url).body("{}"),
            "DELETE" => self.client.delete(url),
            _ => self.client.get(url),
        };
        request = request.header("content-type", "application/json");
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        if let Some(user) = self.user {
            request = request.header("keepsake-user", user);
        }
        request
    }
}

/// Those who try by token, and a stranger without one.
fn programs(scene: &Scene) -> Vec<(&'static str, Program<'_>)> {
    let of = |token, user| Program { client: &scene.client, base: &scene.app.base, token, user };
    let known = scene.by_token().map(|(who, token, user)| (who, of(Some(token), user)));
    known.into_iter().chain([("a stranger", of(None, None))]).collect()
}

fn filled(form: Form, fill: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    form.iter().map(|(n, v)| ((*n).to_owned(), fill(v))).collect()
}

fn template_of(path: &str, form: Form) -> String {
    form.iter().fold(path.to_owned(), |all, (n, v)| format!("{all} {n}={v}"))
}

/// Whom a stranger is shown: the sign-in, or that a token is missing.
fn assert_is_sent_away(case: &Case, answer: &Answer) {
    if is_for_programs(case.route) {
        assert!(matches!(answer.status, 400 | 401 | 404), "{answer:?}");
        return;
    }
    assert_eq!(answer.status, 303, "{} {}: {answer:?}", case.method, case.route);
    assert!(answer.header("location").starts_with("/login"), "{answer:?}");
}

/// Says where two pages part, rather than showing both.
fn assert_same_page(one: &Answer, other: &Answer, path: &str) {
    let (tags, others) = (one.body.split('>'), other.body.split('>'));
    let differing = tags.zip(others).find(|(one, other)| one != other);
    assert_eq!(differing, None, "{path}");
    assert_eq!(one.body.len(), other.body.len(), "{path}");
}

async fn is_signed_in(browser: &Browser) -> bool {
    browser.get("/account").await.0 == 200
}

#[tokio::test]
async fn whatever_route_is_called_with_anothers_names_it_answers_as_if_they_never_were() {
    let scene = Scene::start().await;
    for case in CASES {
        let told = format!("{} {}", case.method, case.route);
        match case.asks {
            Row(path, form, status) => named(&scene, case, path, form, status).await,
            Own(path, form, status) => own(&scene, case, path, form, status).await,
            Admin(path, form) => of_admins(&scene, case, path, form).await,
            Server(path, status) => {
                let path = scene.annas.fill(path);
                let answer = Answer::of(by_browser(&scene.stranger, case.method, &path, &[])).await;
                // Static files are there or not, as the pages were built or not.
                assert!(status == 0 || answer.status == status, "{told}: {answer:?}");
                let named = scene.annas.fill("{item}");
                let body = answer.body.replace(&named, "");
                scene.assert_tells_nothing(&Answer { body, ..answer }, &told);
            }
        }
        scene.assert_untouched(&told).await;
        if !is_signed_in(&scene.bens).await {
            scene.bens.sign_in(&scene.ben).await;
        }
    }
}

async fn named(scene: &Scene, case: &Case, path: &'static str, form: Form, status: u16) {
    let template = &template_of(path, form);
    if is_for_programs(case.route) {
        for (who, caller) in programs(scene) {
            let ask = |fill: &dyn Fn(&str) -> String| caller.ask(case.method, &fill(path));
            let answer = scene.assert_alike(who, template, &ask).await;
            match caller.token {
                Some(_) => assert_eq!(answer.status, status, "{who}: {template}: {answer:?}"),
                None => assert_is_sent_away(case, &answer),
            }
        }
        return;
    }
    let is_open = ["/login", "/signup", "/invitation/", "/reset/", "/erased/"]
        .iter()
        .any(|open| case.route.starts_with(open));
    for (who, browser) in [("Ben", &scene.bens), ("a stranger", &scene.stranger)] {
        let ask = |fill: &dyn Fn(&str) -> String| {
            by_browser(browser, case.method, &fill(path), &filled(form, fill))
        };
        if is_open {
            // Tries are counted: once is all that is needed.
            let hers = answered(&scene.annas, template, &ask).await;
            let never = answered(&scene.nobodys, template, &ask).await;
            assert_eq!(hers, never, "{who}: {template}");
            assert_eq!(hers.status, status, "{who}: {template}");
            continue;
        }
        let answer = scene.assert_alike(who, template, &ask).await;
        match who {
            "Ben" => assert_eq!(answer.status, status, "{template}: {answer:?}"),
            _ => assert_is_sent_away(case, &answer),
        }
    }
}

async fn own(scene: &Scene, case: &Case, path: &str, form: Form, status: u16) {
    let template = template_of(path, form);
    let form = filled(form, &str::to_owned);
    if is_for_programs(case.route) {
        for (who, caller) in programs(scene) {
            let answer = Answer::of(caller.ask(case.method, path)).await;
            if caller.token.is_none() {
                assert_is_sent_away(case, &answer);
                continue;
            }
            assert_eq!(answer.status, status, "{who}: {template}: {answer:?}");
            scene.assert_tells_nothing(&answer, &format!("{who} ({template})"));
        }
        return;
    }
    let answer = Answer::of(by_browser(&scene.bens, case.method, path, &form)).await;
    assert_eq!(answer.status, status, "{template}: {answer:?}");
    scene.assert_tells_nothing(&answer, &format!("Ben ({template})"));
    let answer = Answer::of(by_browser(&scene.stranger, case.method, path, &form)).await;
    assert_is_sent_away(case, &answer);
}

async fn of_admins(scene: &Scene, case: &Case, path: &'static str, form: Form) {
    let fill = |text: &str| scene.annas.fill(text);
    let form = &filled(form, &fill);
    let answer = Answer::of(by_browser(&scene.bens, case.method, &fill(path), form)).await;
    let nowhere = match case.method {
        "GET" => "/no-such-page",
        // A form that is not there is answered with the page that is not there.
        _ => "/admin/no-such-form",
    };
    let nothing = Answer::of(by_browser(&scene.bens, "GET", nowhere, &[])).await;
    assert_eq!(answer.status, 404, "{path}: {answer:?}");
    assert_same_page(&answer, &nothing, path);
    scene.assert_tells_nothing(&answer, &format!("a member ({path})"));
    let answer = Answer::of(by_browser(&scene.stranger, case.method, &fill(path), form)).await;
    assert_is_sent_away(case, &answer);
    if case.method == "GET" {
        // Admins see accounts and operators, and nothing that is remembered.
        let (_, page) = scene.admins.get(&fill(path)).await;
        for word in ["quokka", "bergamot", "anna-private-theme", "anna-private-tag", "sk-annas"] {
            assert!(!page.contains(word), "an admin is shown {word} at {path}");
        }
    }
}

/// Ben's pages and answers, before there is an Anna and after she has done
/// everything: not one letter may differ.
#[tokio::test]
async fn what_others_do_changes_no_letter_of_what_one_sees() {
    let app = TestApp::start().await;
    spread_ids(&app).await;
    let ben = app.user("ben").await;
    ben.add_to("rowing", "Ben rows.").await;
    ben.find("rows").await;
    let bens = app.signed_in(&ben).await;
    // The scene signs Ben in once more, which he sees in numbers on Your data.
    let spare = app.signed_in(&ben).await;
    let client = Client::new();
    let caller = Program { client: &client, base: &app.base, token: Some(&ben.token), user: None };
    let look = async || {
        app.activity.flush().await.unwrap();
        let mut seen = Vec::new();
        for case in CASES {
            let Own(path, ..) = case.asks else {
                continue;
            };
            // Reading the summary is recorded, and one's calls are counted on one's pages.
            if case.method != "GET" || path == "/api/v1/summary" {
                continue;
            }
            let request = match is_for_programs(case.route) {
                true => caller.ask("GET", path),
                false => by_browser(&bens, "GET", path, &[]),
            };
            seen.push((path, Answer::of(request).await));
        }
        assert!(seen.len() >= 8);
        seen
    };
    let before = look().await;
    let others = TestApp::twin(&app).await;
    let anothers_ben = ben.with_token(&ben.token);
    Scene::with_anna(others, anothers_ben).await;
    spare.post("/logout", &[]).await;
    for (then, now) in before.into_iter().zip(look().await) {
        assert_same_page(&then.1, &now.1, then.0);
        assert_eq!(then, now);
    }
}
