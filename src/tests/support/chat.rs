//! A chat endpoint as the tests want it: answers each request as a script says, and
//! remembers what it was asked.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::gate::{Gate, Held, until};

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub authorization: Option<String>,
    pub body: Value,
}

pub struct ChatServer {
    server: MockServer,
    asked: Arc<Mutex<Vec<Asked>>>,
    gate: Gate,
}

impl ChatServer {
    /// `answer` gets a request's body and how many came before it.
    pub async fn answering(
        answer: impl Fn(&Value, usize) -> ResponseTemplate + Send + Sync + 'static,
    ) -> Self {
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let server = MockServer::start().await;
        let gate = Gate::default();
        let (seen, passed) = (asked.clone(), gate.clone());
        let respond = move |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let authorization = request.headers.get("authorization");
            let before = {
                let mut seen = seen.lock().unwrap();
                seen.push(Asked {
                    path: request.url.path().to_owned(),
                    authorization: authorization.map(|v| v.to_str().unwrap().to_owned()),
                    body: body.clone(),
                });
                seen.len() - 1
            };
            passed.pass();
            answer(&body, before)
        };
        Mock::given(any()).respond_with(respond).mount(&server).await;
        Self { server, asked, gate }
    }

    /// Says this to everything, in OpenAI's form.
    pub async fn saying(text: &'static str) -> Self {
        Self::answering(move |_, _| said(text)).await
    }

    pub fn url(&self) -> String {
        self.server.uri()
    }

    pub fn host_port(&self) -> String {
        self.server.address().to_string()
    }

    /// Requests come in, and wait for their answers until this is dropped.
    pub fn hold(&self) -> Held {
        self.gate.hold()
    }

    pub async fn until_asked(&self) {
        until("the model is asked", async || !self.asked().is_empty()).await;
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// An answer in OpenAI's form: 40 tokens read, 10 written.
pub fn said(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "model": "scripted-1",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50 },
    }))
}

/// A refusal in OpenAI's form.
pub fn refused(status: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({ "error": { "message": message } }))
}
