//! What programs are told of a memory: by polling `GET /api/v1/changes`, and by webhooks.

mod changes;
mod deliveries;
mod nightly;
mod page;

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keepsake::providers::settings::EndpointPurpose;
use keepsake::webhooks::{NewWebhook, WebhookSecret};
use serde_json::Value;
use sha2::{Digest, Sha256};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::{Gate, Held, TestApp, TestUser, until};

pub const ALL: &str = "memory.stored memory.changed memory.superseded memory.faded memory.archived memory.restored memory.erased dream.proposed job.failed";

/// What was posted to a webhook's address.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: String,
    pub timestamp: String,
    pub signatures: String,
    pub text: String,
    pub json: Value,
}

impl Received {
    pub fn event_type(&self) -> &str {
        self.json["type"].as_str().unwrap()
    }

    /// By a computation of its own, from what the specification says.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap());
        let signed = format!("{}.{}.{}", self.id, self.timestamp, self.text);
        let tag = hmac_sha256(&key.unwrap(), signed.as_bytes());
        let expected = format!("v1,{}", STANDARD.encode(tag));
        self.signatures.split(' ').any(|one| one == expected)
    }
}

/// RFC 2104, for keys of at most a block.
fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    let pad = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message);
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner.finalize());
    outer.finalize().to_vec()
}

/// An address of a webhook: keeps what it gets, and answers as it is told to.
pub struct Receiver {
    pub server: MockServer,
    state: Arc<ReceiverState>,
}

struct ReceiverState {
    answer: Mutex<ResponseTemplate>,
    received: Mutex<Vec<Received>>,
    gate: Gate,
}

impl Receiver {
    pub async fn start() -> Self {
        let state = Arc::new(ReceiverState {
            answer: Mutex::new(ResponseTemplate::new(200)),
            received: Mutex::default(),
            gate: Gate::default(),
        });
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(Receiving(state.clone())).mount(&server).await;
        Self { server, state }
    }

    pub fn url(&self) -> String {
        format!("{}/hook", self.server.uri())
    }

    async fn allow(&self, app: &TestApp) {
        app.allow_for(&self.server.address().to_string(), EndpointPurpose::Webhooks).await;
    }

    pub fn answer(&self, with: ResponseTemplate) {
        *self.state.answer.lock().unwrap() = with;
    }

    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    pub fn types(&self) -> Vec<String> {
        self.received().iter().map(|one| one.event_type().to_owned()).collect()
    }

    /// Of the memories that it was told of, in order.
    pub fn items(&self) -> Vec<i64> {
        self.received().iter().map(|one| one.json["item"]["id"].as_i64().unwrap()).collect()
    }

    /// Messages come in, and wait for their answers until this is dropped.
    pub fn hold(&self) -> Held {
        self.state.gate.hold()
    }

    pub async fn until_called(&self, times: usize) {
        until("the webhook is called", async || self.received().len() >= times).await;
    }
}

struct Receiving(Arc<ReceiverState>);

impl Respond for Receiving {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let header = |name: &str| {
            let value = request.headers.get(name);
            value.map_or(String::new(), |v| v.to_str().unwrap().to_owned())
        };
        let text = String::from_utf8(request.body.clone()).unwrap();
        self.0.received.lock().unwrap().push(Received {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signatures: header("webhook-signature"),
            json: serde_json::from_str(&text).unwrap(),
            text,
        });
        self.0.gate.pass();
        self.0.answer.lock().unwrap().clone()
    }
}

/// Adds a webhook at an address that an admin has allowed.
pub async fn hook(app: &TestApp, user: &TestUser, at: &Receiver, events: &str) -> WebhookSecret {
    at.allow(app).await;
    let new = NewWebhook::parse(&at.url(), events, false).unwrap();
    app.webhooks.create(user.id, &new).await.unwrap()
}

/// Anna on a server of her own, with a webhook that is told of everything.
async fn with_hook() -> (TestApp, TestUser, Receiver) {
    let (app, anna) = TestApp::start_for("anna").await;
    let receiver = Receiver::start().await;
    hook(&app, &anna, &receiver, ALL).await;
    (app, anna, receiver)
}

/// Those of the user's last webhook: its id, state and position.
async fn last(app: &TestApp, user: &TestUser) -> (i64, String, bool) {
    app.sql("SELECT id, state, failing_since IS NOT NULL FROM webhooks WHERE user_id = $1 ORDER BY id DESC LIMIT 1").bind(user.id.0).row().await
}
