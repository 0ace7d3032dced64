//! What a person decides about one memory on its page, and takes back.

mod browser;
mod conflict;
mod contained;
mod decisions;
mod deletion;
mod fading;
mod learned;
mod proposed;

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::pages::assert_has;
use crate::support::{Browser, Provider, TestApp, TestUser, ids};

/// Anna, with vectors, signed in.
pub struct Place {
    pub app: TestApp,
    pub anna: TestUser,
    pub browser: Browser,
    _provider: Provider,
}

impl Place {
    pub async fn start() -> Self {
        let (app, anna) = TestApp::start_for("anna").await;
        let provider = Provider::start().await;
        app.use_provider(&anna, &provider, "model").await;
        // There is always something to be found.
        anna.add("Berta lives in Bern.").await;
        let browser = app.signed_in(&anna).await;
        Self { app, anna, browser, _provider: provider }
    }

    /// With a vector.
    pub async fn add(&self, input: Value) -> i64 {
        let added = self.anna.call("memory_add", input).await;
        self.app.drain(&self.anna).await;
        added["id"].as_i64().unwrap()
    }

    pub async fn fact(&self, content: &str) -> i64 {
        self.add(json!({ "type": "fact", "content": content })).await
    }

    pub async fn post(&self, id: i64, fields: &[(&str, &str)]) -> Response {
        self.browser.post(&format!("/memory/{id}"), fields).await
    }

    pub async fn page(&self, id: i64) -> String {
        self.browser.look(&format!("/memory/{id}")).await
    }

    /// Each of these stands on its page.
    pub async fn tells(&self, id: i64, parts: &[&str]) {
        assert_has(&self.page(id).await, parts);
    }

    /// A form of its page that is answered with this status. Gives the page.
    pub async fn answers(&self, status: u16, id: i64, fields: &[(&str, &str)]) -> String {
        self.browser.answers(status, &format!("/memory/{id}"), fields).await
    }

    pub async fn status(&self, id: i64) -> Value {
        self.row(id).await["status"].clone()
    }

    /// A decision that is taken: it leads back to the page.
    pub async fn decide(&self, id: i64, action: &str) {
        self.sent(id, &[("action", action)]).await;
    }

    pub async fn sent(&self, id: i64, fields: &[(&str, &str)]) {
        let response = self.post(id, fields).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{fields:?}");
        assert_eq!(response.headers()["location"], format!("/memory/{id}"));
    }

    /// The event that the page offers to undo.
    pub async fn offered(&self, id: i64) -> String {
        let page = self.page(id).await;
        let field = page.split("<input ").find(|field| field.contains("name=\"event\""));
        let value = field.and_then(|field| field.split("value=\"").nth(1));
        let value = value.unwrap_or_else(|| panic!("Undo is not offered: {page}"));
        value.split('"').next().unwrap().to_owned()
    }

    pub async fn undo(&self, id: i64) {
        let event = self.offered(id).await;
        self.sent(id, &[("action", "undo"), ("event", &event)]).await;
    }

    /// All of the item that a decision may change, as it is kept.
    pub async fn row(&self, id: i64) -> Value {
        self.app.sql("SELECT jsonb_build_object('status', status, 'confidence', confidence, 'protected', protected, 'locked', locked,
                    'verified', last_verified_at, 'expires', expires_at, 'superseded_by', superseded_by,
                    'delete_at', delete_at,
                    'live_until', CASE WHEN status = 'active' THEN live_until ELSE '-infinity' END)
             FROM memory_items i WHERE id = $1").bind(id).value().await
    }

    /// Of its history, oldest first: what happened, and whether an agent did it.
    pub async fn events(&self, id: i64) -> Vec<(String, bool)> {
        self.app.sql("SELECT event, agent_id IS NOT NULL FROM memory_item_events WHERE item_id = $1 ORDER BY id").bind(id).rows().await
    }

    /// Whether agents find it by a word of it, and by meaning alone.
    pub async fn is_found(&self, id: i64, word: &str) -> (bool, bool) {
        let by_words = self.anna.find(word).await.contains(&id);
        // No word of it is in any item.
        let input = json!({ "query": "zzzz", "limit": 50 });
        let answer = self.anna.call("memory_search", input).await;
        assert_eq!(answer["mode"], "hybrid");
        (by_words, ids(&answer).contains(&id))
    }
}
