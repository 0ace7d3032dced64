//! OAuth for remote MCP clients, step by step as a client and a browser take it. The official clients' own flows are in
//! end2end/mcp.

mod browsers;
mod documents;
mod flow;
mod hostile;
mod https;
mod limits;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use crate::mcp::Mcp;
use crate::support::{Browser, TestApp, TestUser};

/// The public URL of tests.
const ISSUER: &str = "http://127.0.0.1:3000";
const RESOURCE: &str = "http://127.0.0.1:3000/mcp";
pub const CALLBACK: &str = "https://claude.ai/api/mcp/auth_callback";
pub const VERIFIER: &str = "a-verifier-of-43-characters-or-more-0123456789";

pub fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// A client that registered itself, and the person who connects it.
struct Connecting<'a> {
    app: &'a TestApp,
    browser: Browser,
    client: String,
}

impl<'a> Connecting<'a> {
    async fn start(app: &'a TestApp, user: &TestUser) -> Self {
        let body = json!({ "redirect_uris": [CALLBACK], "client_name": "Claude" });
        Self::of(app, app.signed_in(user).await, &body).await
    }

    /// A client that registers itself so.
    async fn of(app: &'a TestApp, browser: Browser, body: &Value) -> Self {
        let (status, registered) = register(app, body).await;
        assert_eq!(status, 201, "{registered}");
        Self { app, browser, client: text(&registered, "client_id") }
    }

    /// The parameters of a request, with some changed, or left out where empty.
    fn path(&self, changed: &[(&str, &str)]) -> String {
        let challenge = challenge_of(VERIFIER);
        let mut params = vec![
            ("response_type", "code"),
            ("client_id", &self.client),
            ("redirect_uri", CALLBACK),
            ("scope", "memory:read memory:write"),
            ("state", "st4te"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", RESOURCE),
        ];
        params.retain(|(name, _)| !changed.iter().any(|(other, _)| name == other));
        params.extend(changed.iter().filter(|(_, value)| !value.is_empty()));
        let query =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(params).finish();
        format!("/oauth/authorize?{query}")
    }

    /// Presses *Allow*, and gives what comes back to the client.
    async fn allow(&self, path: &str, agent: &[(&str, &str)]) -> Response {
        let mut fields =
            vec![("action", "allow"), ("scope", "memory:read"), ("scope", "memory:write")];
        fields.extend(agent);
        self.browser.post(path, &fields).await
    }

    /// The code of a new agent of this name.
    async fn code(&self, name: &str) -> String {
        self.code_at(CALLBACK, &[("agent", "new"), ("name", name)]).await
    }

    async fn code_at(&self, callback: &str, agent: &[(&str, &str)]) -> String {
        let response = self.allow(&self.path(&[("redirect_uri", callback)]), agent).await;
        answer_of(&response, callback)["code"].clone()
    }

    async fn redeem(&self, code: &str, changed: &[(&str, &str)]) -> (u16, Value) {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", self.client.as_str()),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
            ("resource", RESOURCE),
        ];
        fields.retain(|(name, _)| !changed.iter().any(|(other, _)| name == other));
        fields.extend(changed.iter().filter(|(_, value)| !value.is_empty()));
        post(self.app, "/oauth/token", &fields).await
    }

    async fn refresh(&self, token: &str) -> (u16, Value) {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", self.client.as_str()),
        ];
        post(self.app, "/oauth/token", &fields).await
    }

    /// A new agent's tokens.
    async fn connect(&self, name: &str) -> Value {
        let code = self.code(name).await;
        let (status, tokens) = self.redeem(&code, &[]).await;
        assert_eq!(status, 200, "{tokens}");
        tokens
    }
}

/// The address of a request of a new client of this name, as its person's browser opens it.
pub async fn asking(app: &TestApp, client_name: &str) -> String {
    let body = json!({ "redirect_uris": [CALLBACK], "client_name": client_name });
    Connecting::of(app, app.browser(), &body).await.path(&[])
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name}: {value}")).to_owned()
}

fn is_invalid_grant((status, said): (u16, Value)) {
    assert_eq!((status, &said["error"]), (400, &json!("invalid_grant")), "{said}");
}

/// Whether the access token is good for MCP, which answers 401 otherwise.
async fn opens(app: &TestApp, tokens: &Value) -> bool {
    let mcp = Mcp::with_token(app, &text(tokens, "access_token"));
    let (status, _) = mcp.ask("tools/list", json!({})).await;
    assert!([200, 401].contains(&status), "{status}");
    status == 200
}

async fn register(app: &TestApp, body: &Value) -> (u16, Value) {
    let response = Client::new().post(format!("{}/oauth/register", app.base)).json(body);
    let response = response.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn post(app: &TestApp, path: &str, fields: &[(&str, &str)]) -> (u16, Value) {
    let response = Client::new().post(format!("{}{path}", app.base)).form(fields);
    let response = response.send().await.unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    let status = response.status().as_u16();
    let body = response.text().await.unwrap();
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// What a redirect to the client's callback says.
fn answer_of(response: &Response, callback: &str) -> std::collections::BTreeMap<String, String> {
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    let location = response.headers()["location"].to_str().unwrap();
    assert!(location.starts_with(callback), "{location}");
    let answer: std::collections::BTreeMap<_, _> =
        Url::parse(location).unwrap().query_pairs().into_owned().collect();
    assert_eq!(answer["iss"], ISSUER);
    answer
}
