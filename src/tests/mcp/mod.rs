//! The tools through `/mcp`, and through `keepsake mcp` in front of it. Clients
//! that nobody here wrote are in end2end/mcp.

mod bad_input;
mod bridge;
mod connector;
mod crowd;
mod tokens;
mod tools;
mod vanish;

use keepsake::accounts::{AgentName, Scope, TokenWish, ToolProfile};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser};

pub const CURRENT: &str = "2026-07-28";

/// A client of MCP, of the current version: each request says all by itself.
#[derive(Clone)]
pub struct Mcp {
    pub url: String,
    pub token: String,
    pub client: Client,
}

impl Mcp {
    pub fn of(app: &TestApp, user: &TestUser) -> Self {
        Self::with_token(app, &user.token)
    }

    pub fn with_token(app: &TestApp, token: &str) -> Self {
        Self { url: format!("{}/mcp", app.base), token: token.to_owned(), client: Client::new() }
    }

    /// Of a member on the shared server.
    async fn shared() -> Self {
        let (app, anna) = TestApp::with_user().await;
        Self::of(app, &anna)
    }

    /// Of an agent that is named as its profile.
    async fn of_profile(
        app: &TestApp,
        user: &TestUser,
        scopes: &[Scope],
        profile: ToolProfile,
    ) -> Self {
        let scopes = scopes.iter().copied().collect();
        let wish = TokenWish { scopes, lifetime: None, profile: Some(profile) };
        let name = AgentName::parse(profile.as_str()).unwrap();
        let token = app.accounts.create_token_by_name(user.id, &name, &wish);
        Self::with_token(app, &token.await.unwrap().reveal())
    }

    /// The tools that it is listed.
    async fn tools(&self) -> Vec<Value> {
        let (status, listed) = self.ask("tools/list", json!({})).await;
        assert_eq!(status, 200, "{listed}");
        listed["result"]["tools"].as_array().unwrap().clone()
    }

    /// With the headers of every message.
    pub fn post(&self) -> RequestBuilder {
        self.client
            .post(&self.url)
            .bearer_auth(&self.token)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
    }

    /// The HTTP status and the JSON-RPC message that came back.
    pub async fn ask(&self, method: &str, params: Value) -> (u16, Value) {
        let mut request =
            self.post().header("mcp-protocol-version", CURRENT).header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            request = request.header("mcp-name", name);
        }
        let response = request.json(&message(method, params)).send().await.unwrap();
        let status = response.status().as_u16();
        assert_eq!(response.headers()["content-type"], "application/json");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        (status, answer)
    }

    /// A tool's result, whether it went well or not.
    pub async fn result(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let (status, answer) = self.ask("tools/call", params).await;
        assert_eq!(status, 200, "{tool}: {answer}");
        assert!(answer["result"].is_object(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        text
    }
}

/// A request of the current version, with the metadata that it asks for.
pub fn message(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}
