//! A server under a path of its host, by the requests of a proxy that passes the path on and of one that removes it.
//! `end2end/subpath` has real ones.

use std::collections::BTreeSet;

use html5gum::{Token, Tokenizer};
use reqwest::{Client, Response, redirect};
use serde_json::{Value, json};

use super::every_route::{Filled, routes};
use crate::support::{Browser, PASSWORD, TestApp, Wish};

const PATH: &str = "/keepsake";
const PUBLIC: &str = "https://memory.example.com/keepsake";
/// What reaches the server of the path.
const PASSED_ON: [&str; 2] = [PATH, ""];

/// Its `base` is what a browser sees, without the host: the proxy passes the path on.
async fn start() -> TestApp {
    let mut app = TestApp::start_as(Wish { public_url: Some(PUBLIC), ..Wish::default() }).await;
    app.base.push_str(PATH);
    app
}

fn header(response: &Response, name: &str) -> String {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned()
}

fn is_below(address: &str) -> bool {
    let rest = address.strip_prefix(PATH);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
}

/// What a browser would send to the server, and follow: tag, attribute and value. What is in fields is no address.
fn addresses(page: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for Ok(token) in Tokenizer::new(page) {
        let Token::StartTag(tag) = token else { continue };
        for (name, value) in &tag.attributes {
            let [tag, name, value] = [&tag.name, name, &value.value]
                .map(|text| String::from_utf8(text.to_vec()).unwrap());
            let is_address = value.starts_with('/') || value.contains("url=/");
            if is_address && !["value", "placeholder"].contains(&name.as_str()) {
                found.push((tag, name, value));
            }
        }
    }
    found
}

/// A signed-in person behind https, whose cookie is sent by hand: this connection is plain.
struct Person {
    client: Client,
    cookie: String,
    /// Without the path.
    root: String,
}

impl Person {
    async fn of(app: &TestApp, email: &str) -> Self {
        let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        let fields = [("email", email), ("password", PASSWORD)];
        let response = app.browser().post("/login", &fields).await;
        assert_eq!(header(&response, "location"), "/keepsake/memory");
        let cookie = header(&response, "set-cookie");
        for part in ["__Secure-keepsake=", "; Path=/keepsake", "; Secure", "; HttpOnly"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { client, cookie, root: app.base.strip_suffix(PATH).unwrap().to_owned() }
    }

    async fn get(&self, address: &str) -> Response {
        let request = self.client.get(format!("{}{address}", self.root));
        request.header("cookie", &self.cookie).send().await.unwrap()
    }
}

#[tokio::test]
async fn all_that_pages_lead_to_is_below_the_path_and_there() {
    let filled = Filled::on(start().await).await;
    let person = Person::of(&filled.app, &filled.anna.email).await;
    let forms: Vec<_> = routes().into_iter().filter(|r| r.methods.contains(&"post")).collect();
    let mut to_see: BTreeSet<String> = BTreeSet::new();
    for route in routes().iter().filter(|r| r.is_page) {
        to_see.insert(filled.url(route).strip_prefix(&person.root).unwrap().to_owned());
    }
    to_see.extend(["/keepsake".to_owned(), "/keepsake/nothing-here".to_owned()]);
    let (mut seen, mut pages, mut sent) = (BTreeSet::new(), 0, 0);
    while let Some(address) = to_see.pop_first() {
        // One of those that differ by their query.
        if !seen.insert(address.split('?').next().unwrap().to_owned()) {
            continue;
        }
        for passed_on in PASSED_ON {
            let asked = format!("{passed_on}{}", address.strip_prefix(PATH).unwrap());
            let response = person.get(&asked).await;
            let (status, location) = (response.status().as_u16(), header(&response, "location"));
            assert!(status < 500 && status != 405, "{asked}: {status}");
            assert!(location.is_empty() || is_below(&location), "{asked}: to {location}");
            if !header(&response, "content-type").starts_with("text/html") {
                continue;
            }
            pages += 1;
            let page = response.text().await.unwrap();
            assert!(!page.contains("\"/pkg") && !page.contains("'/pkg"), "{asked}: {page}");
            for (tag, name, value) in addresses(&page) {
                let value = value.rsplit("url=").next().unwrap();
                assert!(is_below(value), "{asked}: <{tag} {name}={value}>");
                let path = value.split(['?', '#']).next().unwrap();
                let own = path.strip_prefix(PATH).unwrap();
                if name == "action" {
                    sent += 1;
                    let is_route = forms.iter().chain(&routes()).any(|route| route.fits(own));
                    assert!(is_route, "{asked}: <{tag} {name}={value}>");
                } else if tag == "a" || tag == "meta" || name == "data-renewed-from" {
                    let is_route = routes().iter().any(|route| route.fits(own));
                    assert!(is_route, "{asked}: <{tag} {name}={value}>");
                    to_see.insert(value.split('#').next().unwrap().to_owned());
                }
            }
        }
    }
    assert!(pages >= 60 && sent >= 200 && seen.len() >= 35, "{pages} {sent} {}", seen.len());
}

#[tokio::test]
async fn who_signs_in_comes_back_below_the_path() {
    let app = start().await;
    let anna = app.user("anna").await;
    let person = Person { cookie: String::new(), ..Person::of(&app, &anna.email).await };
    for passed_on in PASSED_ON {
        let asked = person.get(&format!("{passed_on}/memory?q=tea")).await;
        assert_eq!(header(&asked, "location"), "/keepsake/login?next=%2Fmemory%3Fq%3Dtea");
        let first = person.get(&format!("{passed_on}/")).await;
        assert_eq!(header(&first, "location"), "/keepsake/memory");
        let browser = Browser::at(format!("{}{passed_on}", person.root));
        for (next, comes_to) in [
            ("/memory?q=tea", "/keepsake/memory?q=tea"),
            ("/keepsake/memory?q=tea", "/keepsake/memory?q=tea"),
            ("//evil.example/keepsake", "/keepsake/memory"),
            ("https://evil.example", "/keepsake/memory"),
        ] {
            let fields = [("email", anna.email.as_str()), ("password", PASSWORD), ("next", next)];
            let signed_in = browser.post("/login", &fields).await;
            assert_eq!(header(&signed_in, "location"), comes_to, "{next}");
        }
        let out = browser.post("/logout", &[]).await;
        assert_eq!(header(&out, "location"), "/keepsake/login");
    }
    for outside in ["/keepsakes/memory", "/Keepsake/memory", "/other/keepsake/memory"] {
        assert_eq!(person.get(outside).await.status(), 404, "{outside}");
    }
}

#[tokio::test]
async fn what_programs_are_told_names_the_path() {
    let app = start().await;
    let anna = app.user("anna").await;
    let person = Person::of(&app, &anna.email).await;
    let agent = app.accounts.list_agents(anna.id).await.unwrap()[0].0.id.0;
    let json_at = async |address: String| -> Value {
        let response = person.get(&address).await;
        assert_eq!(response.status(), 200, "{address}");
        response.json().await.unwrap()
    };
    for passed_on in PASSED_ON {
        let document = json_at(format!("{passed_on}/api/v1/openapi.json")).await;
        assert_eq!(document["servers"][0]["url"], PUBLIC);
        let url = format!("{}{passed_on}/api/v1/tools/memory_add", person.root);
        let refused = person.client.post(&url).json(&json!({})).send().await.unwrap();
        let refused = refused.text().await.unwrap();
        assert!(refused.contains(&format!("from {PUBLIC}/agents.")), "{refused}");
        let item = json!({ "type": "fact", "content": "Anna takes her tea without sugar." });
        let added = person.client.post(&url).bearer_auth(&anna.token).json(&item).send().await;
        assert_eq!(added.unwrap().status(), 200);
        let events = person.client.get(format!("{}{passed_on}/api/v1/changes", person.root));
        let events: Value =
            events.bearer_auth(&anna.token).send().await.unwrap().json().await.unwrap();
        let told = events["events"][0]["url"].as_str().unwrap();
        assert!(told.starts_with(&format!("{PUBLIC}/memory/")), "{events}");
        let agents = person.get(&format!("{passed_on}/agents?connect={agent}")).await;
        let lines = agents.text().await.unwrap();
        assert!(lines.contains(&format!("{PUBLIC}/mcp")), "{lines}");
        assert!(lines.contains(&format!("{PUBLIC}/connect.py")), "{lines}");
        assert!(!lines.contains("https://memory.example.com/mcp"), "{lines}");
        let docs = person.get(&format!("{passed_on}/docs")).await.text().await.unwrap();
        assert!(docs.contains(&format!("{PUBLIC}/api/v1/tools/memory_add")));
    }
}
