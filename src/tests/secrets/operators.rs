//! An operator chooses what happens to its users' secrets; nobody else's token does.

use keepsake::accounts::Scope;
use keepsake::redaction::SecretPolicy;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::incoming::secret;
use crate::support::TestApp;

const PATH: &str = "/api/v1/settings/secrets";

/// Calls with a token, for a user of its operator.
struct Caller<'a> {
    app: &'a TestApp,
    token: &'a str,
    user: Option<&'a str>,
}

impl Caller<'_> {
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("{}{path}", self.app.base);
        let mut request = Client::new().request(method, url).bearer_auth(self.token);
        if let Some(user) = self.user {
            request = request.header("keepsake-user", user);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn policy(&self) -> Value {
        let (status, answer) = self.ask(Method::GET, PATH, None).await;
        assert_eq!(status, 200, "{answer}");
        answer["policy"].clone()
    }

    async fn choose(&self, policy: &str) -> (u16, Value) {
        let body = json!({ "policy": policy });
        self.ask(Method::PUT, PATH, Some(body)).await
    }

    async fn add(&self) -> (u16, Value) {
        let body = json!({ "type": "fact", "content": format!("The token is {}.", secret()) });
        self.ask(Method::POST, "/api/v1/tools/memory_add", Some(body)).await
    }
}

const USERS: &str = "users WHERE operator_id IS NOT NULL";

#[tokio::test]
async fn an_operator_chooses_for_each_of_its_users_and_no_agent_loosens_what_its_person_chose() {
    let (app, anna) = TestApp::start_for("anna").await;
    let redactor = app.embeddings.redactor();
    redactor.save(anna.id, SecretPolicy::Mask).await.unwrap();
    let token = app.token(anna.id, "agent", &Scope::ALL, None).await;
    let agent = Caller { app: &app, token: &token, user: None };
    let (status, refused) = agent.choose("warn").await;
    assert_eq!((status, &refused["code"]), (403, &json!("operators_only")));
    assert_eq!(agent.policy().await, "mask");
    // A service token that may only read.
    let reads = app.service_token("reader", &[Scope::MemoryRead]).await;
    let reads = Caller { token: &reads, user: Some("customer-1"), ..agent };
    assert_eq!(reads.policy().await, "warn");
    let (status, refused) = reads.choose("mask").await;
    assert_eq!((status, &refused["code"]), (403, &json!("missing_scope")));
    assert_eq!(app.count(USERS).await, 0);

    let bot = app.service_token("bot", &Scope::ALL).await;
    let of = |user| Caller { app: &app, token: &bot, user: Some(user) };
    let (one, two) = (of("customer-1"), of("customer-2"));
    // Looking makes nobody; choosing does, before the first text.
    assert_eq!(one.policy().await, "warn");
    assert_eq!(app.count(USERS).await, 0);
    let (status, answer) = one.choose("mask").await;
    assert_eq!((status, answer), (200, json!({ "policy": "mask" })));
    assert_eq!((one.policy().await, app.count(USERS).await), (json!("mask"), 1));
    let (status, added) = one.add().await;
    assert_eq!((status, &added["warnings"][0]["removed"]), (200, &json!(true)));
    let (status, added) = two.add().await;
    assert_eq!((status, &added["warnings"][0]["removed"]), (200, &json!(false)), "the default");
    one.choose("refuse").await;
    let (status, refused) = one.add().await;
    assert_eq!((status, &refused["code"]), (422, &json!("secret_found")));
    assert_eq!(two.policy().await, "warn");
    // The same name at another operator is another user.
    let rival = app.service_token("rival", &Scope::ALL).await;
    let rival = Caller { token: &rival, ..of("customer-1") };
    assert_eq!(rival.policy().await, "warn");

    let (status, refused) = one.choose("shred").await;
    assert_eq!((status, &refused["code"]), (422, &json!("invalid_policy")));
    let body = json!({ "policy": "warn", "users": "all" });
    assert_eq!(one.ask(Method::PUT, PATH, Some(body)).await.0, 422);
    assert_eq!(one.policy().await, "refuse");
}
