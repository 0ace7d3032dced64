//! What holds for every route there is, read off the table itself, so that a new
//! route is covered by being in it.

use std::collections::BTreeMap;

use keepsake::accounts::{Role, Scope};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::json;

use crate::support::Sql as _;
use crate::support::{Browser, TestApp, TestUser, problem};

#[derive(Debug)]
pub struct Route {
    /// The function of the table: who calls.
    pub caller: String,
    pub path: String,
    pub methods: Vec<&'static str>,
    /// Its GET renders a page.
    pub is_page: bool,
}

/// The routes of `src/web/routes.rs` and `app/src/routes.rs`.
pub fn routes() -> Vec<Route> {
    let tables = ["src/web/routes.rs", "app/src/routes.rs"];
    let text = tables.map(|file| std::fs::read_to_string(file).unwrap()).concat();
    let mut routes = Vec::new();
    for function in text.replace("\npub fn ", "\nfn ").split("\nfn ").skip(1) {
        let caller = match function.split('(').next().unwrap() {
            "pages" => "people",
            caller => caller,
        };
        for route in function.split(".route(").skip(1) {
            let route = up_to_its_bracket(route);
            let (path, handlers) = route.split_once(',').unwrap();
            let path = path.trim().trim_matches('"');
            assert!(path.starts_with('/'), "{route}: a path that this test cannot read");
            let methods: Vec<_> = ["get", "post", "any", "put", "patch", "delete"]
                .into_iter()
                .filter(|m| handlers.contains(&format!("{m}(")))
                .collect();
            assert!(!methods.is_empty(), "{route}");
            routes.push(Route {
                caller: caller.to_owned(),
                path: path.to_owned(),
                methods,
                // What a program asks for shows a page only with its query: end2end/oauth.spec.mjs.
                is_page: caller == "people"
                    && handlers.contains("::show)")
                    && path != "/oauth/authorize",
            });
        }
    }
    assert!(routes.len() >= 30, "{routes:?}");
    routes
}

/// The pages that have no parameter in their path.
pub fn plain_pages() -> impl Iterator<Item = String> {
    let pages = routes().into_iter().filter(|r| r.is_page);
    pages.map(|r| r.path).filter(|path| !path.contains('{'))
}

impl Route {
    /// Whether a path, without its query, is of this route. What stands in braces fits anything.
    pub fn fits(&self, path: &str) -> bool {
        let (own, parts) = (self.path.split('/'), path.split('/'));
        own.clone().count() == parts.clone().count()
            && own
                .zip(parts)
                .all(|(own, part)| own == part || own.starts_with('{') || part.contains('{'))
    }
}

/// The paths that stand in a file between these quotes, without their queries.
fn paths_in(file: &str, quotes: &[char]) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let quoted = text.split(quotes).filter(|part| part.starts_with('/'));
    let paths = quoted.map(|path| path.split(['?', '#']).next().unwrap().to_owned());
    paths.filter(|path| !path.contains([' ', '\n', '\\'])).collect()
}

fn up_to_its_bracket(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    &text[..end.unwrap()]
}

/// An app in which there is something of everything.
pub(super) struct Filled {
    pub app: TestApp,
    pub anna: TestUser,
    /// Signed in as Anna, who is an admin.
    browser: Browser,
    /// What stands for each parameter of a path.
    names: BTreeMap<&'static str, String>,
}

impl Filled {
    pub async fn start() -> Self {
        Self::on(TestApp::start().await).await
    }

    pub async fn on(app: TestApp) -> Self {
        let anna = app.user("anna").await;
        app.make_admin(&anna).await;
        let ben = app.user("ben").await;
        let item = anna.add("Anna takes her tea without sugar.").await;
        anna.call("memory_search", json!({ "query": "tea" })).await;
        let said = json!({ "id": "1", "role": "user", "content": "I take my tea without sugar." });
        let path = "/api/v1/sessions/1/messages";
        let handed_over = anna.post(path, &json!({ "messages": [said] })).await;
        assert_eq!(handed_over.status(), 200);
        app.service_token("support", &Scope::ALL).await;
        app.activity.flush().await.unwrap();
        let invitation = app.accounts.invite(anna.id, None, Role::Member).await.unwrap();
        let agents = app.accounts.list_agents(anna.id).await.unwrap();
        let operators = app.accounts.list_operators().await.unwrap();
        let browser = app.signed_in(&anna).await;
        let names = [
            ("id", item.to_string()),
            ("item_id", item.to_string()),
            ("user_id", ben.id.0.to_string()),
            ("agent_id", agents[0].0.id.0.to_string()),
            ("token_id", agents[0].1[0].id.0.to_string()),
            ("operator_id", operators[0].id.0.to_string()),
            ("invitation_id", "1".to_owned()),
            ("token", invitation.reveal()),
            ("name", "memory_list_themes".to_owned()),
            ("*rest", "anything/at/all".to_owned()),
        ];
        Self { app, anna, browser, names: names.into() }
    }

    pub fn url(&self, route: &Route) -> String {
        let path = route.path.split('/').map(|part| match part.strip_prefix('{') {
            None => part.to_owned(),
            Some(name) => {
                let name = name.trim_end_matches('}');
                // A parameter that is not known here is some id.
                self.names.get(name).cloned().unwrap_or_else(|| "1".to_owned())
            }
        });
        let path: Vec<String> = path.collect();
        format!("{}{}", self.app.base, path.join("/"))
    }

    /// All rows of all tables, less what a visit may touch.
    pub async fn fingerprint(&self) -> BTreeMap<String, String> {
        let mut conn = self.app.superuser().await;
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
        let tables: Vec<String> = conn.sql(tables).values().await;
        assert!(tables.len() > 15, "{tables:?}");
        let mut found = BTreeMap::new();
        for table in tables {
            let rows = format!(
                "SELECT coalesce(md5(string_agg(line, ',' ORDER BY line)), '') FROM (
                     SELECT (to_jsonb(t) - 'last_used_at' - CASE WHEN '{table}' = 'web_sessions'
                             THEN 'expires_at' ELSE 'last_used_at' END)::text AS line FROM {table} t) r"
            );
            let sum: String = conn.sql(rows).value().await;
            found.insert(table, sum);
        }
        found
    }
}

fn from_elsewhere(request: RequestBuilder) -> [(&'static str, RequestBuilder); 5] {
    let again = || request.try_clone().unwrap();
    [
        ("no word of where it comes from", again()),
        ("cross-site", again().header("sec-fetch-site", "cross-site")),
        ("same-site", again().header("sec-fetch-site", "same-site")),
        ("a foreign Origin", again().header("origin", "https://evil.example")),
        ("no Origin", again().header("origin", "null")),
    ]
}

#[tokio::test]
async fn no_form_of_any_page_is_taken_from_another_site() {
    let filled = Filled::start().await;
    let before = filled.fingerprint().await;
    let mut tried = 0;
    for route in routes().iter().filter(|r| r.caller == "people") {
        let unsafe_methods = route.methods.iter().filter(|m| **m != "get");
        for method in unsafe_methods {
            assert_eq!(*method, "post", "{}: forms know no other", route.path);
            tried += 1;
            let request = filled.browser.client.post(filled.url(route));
            let request = request.form(&[("action", "disable"), ("name", "x")]);
            for (from, request) in from_elsewhere(request) {
                let (status, refused) = problem(request.send().await.unwrap()).await;
                let code = refused["code"].as_str();
                assert_eq!((status, code), (403, Some("cross_origin")), "{} {from}", route.path);
            }
        }
    }
    assert!(tried >= 20, "{tried}");
    assert_eq!(filled.fingerprint().await, before);
}

#[tokio::test]
async fn a_cookie_opens_nothing_at_the_doors_of_programs() {
    let filled = Filled::start().await;
    let before = filled.fingerprint().await;
    for route in routes().iter().filter(|r| r.caller == "programs") {
        for method in [Method::GET, Method::POST] {
            let url = filled.url(route);
            let request = filled.browser.client.request(method.clone(), url);
            let request = request.header("sec-fetch-site", "same-origin").json(&json!({}));
            let response = request.send().await.unwrap();
            let is_open_to_all =
                route.path.ends_with("openapi.json") || route.path == "/api/v1/tools";
            let is_fine =
                response.status().is_client_error() || (is_open_to_all && method == Method::GET);
            assert!(is_fine, "{method} {}: {}", route.path, response.status());
            let text = response.text().await.unwrap();
            assert!(!text.contains("without sugar") && !text.contains("anna@"), "{}", route.path);
        }
    }
    assert_eq!(filled.fingerprint().await, before);
}

#[tokio::test]
async fn no_get_changes_anything() {
    let filled = Filled::start().await;
    let before = filled.fingerprint().await;
    let stranger = filled.app.browser();
    let mut seen = 0;
    for route in routes() {
        if !route.methods.iter().any(|m| ["get", "any"].contains(m)) {
            continue;
        }
        for query in ["", "?action=disable&confirm=1&name=x&q=tea&operator=1&external_id=a"] {
            let url = format!("{}{query}", filled.url(&route));
            for request in [
                stranger.client.get(&url),
                filled.browser.client.get(&url),
                filled.browser.client.head(&url),
                stranger.client.get(&url).bearer_auth(&filled.anna.token),
            ] {
                let response = request.send().await.unwrap();
                assert!(!response.status().is_server_error() || route.path == "/readyz", "{url}");
                seen += usize::from(response.status() == StatusCode::OK);
            }
        }
    }
    filled.app.activity.flush().await.unwrap();
    assert!(seen >= 40, "{seen}");
    // That an agent read the summary, and looked for a document, is recorded, as for every tool.
    let recorded = "DELETE FROM activity WHERE tool IN ('memory_summary', 'memory_files')";
    assert_eq!(filled.app.sql(recorded).run().await, 4);
    assert_eq!(filled.fingerprint().await, before);
}

#[tokio::test]
async fn an_address_of_a_form_alone_or_of_a_page_alone_answers_the_other_with_a_page_that_says_so()
{
    let filled = Filled::start().await;
    let stranger = filled.app.browser();
    let (mut visited, mut sent) = (0, 0);
    for route in routes().iter().filter(|r| r.caller == "people") {
        let url = filled.url(route);
        let (requests, says) = if route.methods == ["post"] {
            visited += 1;
            let visits = [&filled.browser, &stranger].map(|browser| browser.client.get(&url));
            (Vec::from(visits), "it is no page")
        } else if route.methods == ["get"] {
            sent += 1;
            let form = filled.browser.client.post(&url).header("sec-fetch-site", "same-origin");
            (vec![form.form(&[("a", "b")])], "takes no form")
        } else {
            continue;
        };
        for request in requests {
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 405, "{}", route.path);
            let allowed = response.headers()["allow"].to_str().unwrap();
            let is_told =
                if route.methods == ["post"] { allowed == "POST" } else { allowed.contains("GET") };
            assert!(is_told, "{}: {allowed}", route.path);
            let page = response.text().await.unwrap();
            assert!(page.contains(says), "{}: {page}", route.path);
        }
    }
    assert!(visited >= 20 && sent >= 10, "{visited} {sent}");
}

/// On every answer: of pages, probes, programs and files, refused or not.
fn check_headers(what: &str, response: &Response) {
    let header = |name: &str| {
        let value = response.headers().get(name);
        value.map_or("", |v| v.to_str().unwrap())
    };
    assert_eq!(header("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(header("x-frame-options"), "DENY", "{what}");
    assert_eq!(header("referrer-policy"), "same-origin", "{what}");
    // Pages that a client may have opened go on with it.
    let is_opened =
        ["/oauth/authorize", "/login", "/signup"].iter().any(|path| what.contains(path));
    let openers = if is_opened { "unsafe-none" } else { "same-origin" };
    assert_eq!(header("cross-origin-opener-policy"), openers, "{what}");
    assert!(!header("permissions-policy").is_empty(), "{what}");
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'"), "{what}: {policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{what}: {policy}");
    let is_loose = ["unsafe-inline", "'unsafe-eval'"].iter().any(|word| policy.contains(word));
    assert!(!is_loose, "{what}: {policy}");
    let is_page = header("content-type").starts_with("text/html");
    assert_eq!(policy.contains("'nonce-"), is_page, "{what}: {policy}");
    let is_file = what.contains("/pkg/") || what.contains("favicon");
    let kept = if is_file { "no-cache" } else { "no-store" };
    assert_eq!(header("cache-control"), kept, "{what}");
}

/// Of a page: each script has the nonce of the policy, and nothing is inline but that.
fn check_page(what: &str, policy: &str, page: &str) {
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(nonce.len() >= 16, "{what}");
    assert!(!page.contains(" style=") && !page.contains("<style"), "{what}");
    assert!(!page.contains(" onclick=") && !page.contains("javascript:"), "{what}");
    for script in page.split("<script").skip(1) {
        let tag = script.split('>').next().unwrap();
        assert!(tag.contains(&format!("nonce=\"{nonce}\"")), "{what}: <script{tag}>");
    }
}

#[tokio::test]
async fn every_answer_of_every_route_carries_the_security_headers() {
    let filled = Filled::start().await;
    let stranger = filled.app.browser();
    let mut urls: Vec<String> = routes().iter().map(|route| filled.url(route)).collect();
    let nowhere = ["/nowhere", "/admin/nothing", "/memory/x", "/memory?q=%00"];
    let files = ["/pkg/keepsake.css", "/pkg/nothing.css", "/favicon.svg"];
    for path in nowhere.into_iter().chain(files) {
        urls.push(format!("{}{path}", filled.app.base));
    }
    let (mut pages, mut nonces) = (0, Vec::new());
    for url in urls {
        for (client, who) in [(&stranger.client, "a stranger"), (&filled.browser.client, "Anna")] {
            for method in [Method::GET, Method::DELETE, Method::OPTIONS] {
                let what = format!("{method} {url} by {who}");
                let response = client.request(method, &url).send().await.unwrap();
                check_headers(&what, &response);
                let policy =
                    response.headers()["content-security-policy"].to_str().unwrap().to_owned();
                let text = response.text().await.unwrap();
                if policy.contains("'nonce-") && !text.is_empty() {
                    check_page(&what, &policy, &text);
                    pages += 1;
                    nonces.push(policy);
                }
            }
            // Signing out would end what follows; strangers see to that form.
            if who == "Anna" {
                continue;
            }
            for site in ["same-origin", "cross-site"] {
                let form = client.post(&url).header("sec-fetch-site", site);
                let form = form.form(&[("email", "x"), ("password", "y")]);
                check_headers(&format!("POST {url} {site}"), &form.send().await.unwrap());
            }
        }
    }
    assert!(pages >= 20, "{pages}");
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), pages, "each page has a nonce of its own");
}

#[test]
fn the_browser_sees_every_page_and_each_of_its_paths_is_one() {
    const NOWHERE: &str = "/nothing-here";
    let pages: Vec<Route> = routes().into_iter().filter(|r| r.is_page).collect();
    let seen = paths_in("end2end/pages.spec.mjs", &['"', '`']);
    for page in &pages {
        let is_seen = seen.iter().any(|path| page.fits(path));
        assert!(is_seen, "{} is not in end2end/pages.spec.mjs", page.path);
    }
    for path in seen.iter().filter(|path| *path != NOWHERE) {
        assert!(pages.iter().any(|page| page.fits(path)), "{path} is no page");
    }
}

#[test]
fn each_form_of_the_hostile_texts_is_posted_to_a_route() {
    let forms: Vec<Route> = routes().into_iter().filter(|r| r.methods.contains(&"post")).collect();
    for (path, _) in super::payloads::FORMS {
        assert!(forms.iter().any(|form| form.fits(path)), "{path}");
    }
}
