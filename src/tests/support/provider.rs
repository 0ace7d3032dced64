//! An embeddings endpoint as the tests want it: speaks OpenAI's form, gives
//! similar texts similar vectors, each model its own, and fails in the way it is
//! told to.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::gate::{Gate, Held, until};

/// Of its vectors, where it is not told otherwise.
pub const WIDTH: usize = 64;

#[derive(Clone, Default)]
pub struct Behaviour {
    /// Answers this to everything.
    pub status: Option<u16>,
    pub retry_after: Option<&'static str>,
    /// Answers 500 to a call that holds this.
    pub poison: Option<&'static str>,
    /// Answers 500 to a call with a text of more characters.
    pub chars_max: Option<usize>,
    pub delay: Duration,
    /// The key it wants.
    pub key: Option<&'static str>,
    pub width: usize,
    /// Texts with this word get twice the width.
    pub wide: Option<&'static str>,
}

pub struct Provider {
    pub server: MockServer,
    state: Arc<State>,
}

struct State {
    behaviour: Mutex<Behaviour>,
    /// The texts of each call.
    calls: Mutex<Vec<Vec<String>>>,
    gate: Gate,
}

impl Provider {
    pub async fn start() -> Self {
        let state = Arc::new(State {
            behaviour: Mutex::new(Behaviour { width: WIDTH, ..Behaviour::default() }),
            calls: Mutex::new(Vec::new()),
            gate: Gate::default(),
        });
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(Answering(state.clone())).mount(&server).await;
        Self { server, state }
    }

    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.state.behaviour.lock().unwrap());
    }

    pub fn url(&self) -> String {
        format!("{}/v1", self.server.uri())
    }

    pub fn host_port(&self) -> String {
        self.server.address().to_string()
    }

    /// The texts that were sent so far, less the probe's.
    pub fn texts(&self) -> Vec<String> {
        self.state.calls.lock().unwrap().concat()
    }

    pub fn call_sizes(&self) -> Vec<usize> {
        let calls = self.state.calls.lock().unwrap();
        calls.iter().map(Vec::len).collect()
    }

    /// Calls come in, and wait for their answers until this is dropped.
    pub fn hold(&self) -> Held {
        self.state.gate.hold()
    }

    pub async fn until_called(&self) {
        until("the provider is called", async || !self.call_sizes().is_empty()).await;
    }

    pub fn forget_calls(&self) {
        self.state.calls.lock().unwrap().clear();
    }
}

struct Answering(Arc<State>);

impl Respond for Answering {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let behaviour = self.0.behaviour.lock().unwrap().clone();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let texts: Vec<String> = body["input"]
            .as_array()
            .map(|all| all.iter().map(|t| t.as_str().unwrap().to_owned()).collect())
            .unwrap_or_default();
        self.0.calls.lock().unwrap().push(texts.clone());
        self.0.gate.pass();
        if let Some(key) = behaviour.key {
            let sent = request.headers.get("authorization").map(|v| v.to_str().unwrap());
            if sent != Some(format!("Bearer {key}").as_str()) {
                return ResponseTemplate::new(401)
                    .set_body_json(json!({ "error": { "message": "bad key" } }));
            }
        }
        let is_poisoned = behaviour.poison.is_some_and(|p| texts.iter().any(|t| t.contains(p)));
        let is_long =
            behaviour.chars_max.is_some_and(|max| texts.iter().any(|t| t.chars().count() > max));
        let status = behaviour.status.or((is_poisoned || is_long).then_some(500));
        if let Some(status) = status {
            let mut answer = ResponseTemplate::new(status).set_body_json(json!({ "error": "no" }));
            if let Some(after) = behaviour.retry_after {
                answer = answer.insert_header("retry-after", after);
            }
            return answer.set_delay(behaviour.delay);
        }
        let model = body["model"].as_str().unwrap_or_default();
        let data: Vec<Value> = texts
            .iter()
            .map(|text| {
                let is_wide = behaviour.wide.is_some_and(|word| text.contains(word));
                let width = behaviour.width * (1 + usize::from(is_wide));
                vector_of(model, text, width)
            })
            .enumerate()
            .map(|(index, vector)| json!({ "index": index, "embedding": vector }))
            .collect();
        ResponseTemplate::new(200)
            .set_body_json(json!({ "object": "list", "model": body["model"], "data": data }))
            .set_delay(behaviour.delay)
    }
}

/// Each word adds to one place, and place and weight are the model's: texts that
/// share words are near each other, how near differs by model, and vectors of two
/// models say nothing to each other.
pub fn vector_of(model: &str, text: &str, width: usize) -> Vec<f32> {
    let mut vector = vec![0.01; width];
    for word in text.to_lowercase().split_whitespace() {
        let mut hasher = DefaultHasher::new();
        (model, word).hash(&mut hasher);
        let hash = hasher.finish() as usize;
        vector[hash % width] += 1.0 + (hash / width % 8) as f32 / 4.0;
    }
    vector
}
