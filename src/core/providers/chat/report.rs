//! The report of *Test* for a chat endpoint, which is sent one tiny prompt whose answer should follow a
//! schema. User content is never sent.

use std::time::Duration;

use serde_json::{Value, json};

use super::message::{ChatMessage, Completion};

/// Enough for the answer, and fast on a slow machine.
pub(super) const TOKENS_MAX: u32 = 64;

/// What an endpoint supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatReport {
    /// The model name that the endpoint returns.
    pub model: Option<String>,
    pub latency: Duration,
    /// The answer is JSON that follows the schema.
    pub is_schema_honoured: bool,
    /// It was cut off by the token limit; it may be a reasoning model.
    pub is_cut_off: bool,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub are_tokens_estimated: bool,
}

pub(super) fn question() -> [ChatMessage; 2] {
    [
        ChatMessage::system("Answer with one JSON object, {\"city\": \"…\"}, and nothing else."),
        ChatMessage::user("Which city is the capital of France?"),
    ]
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false
    })
}

pub(super) fn of(completion: Completion, latency: Duration) -> ChatReport {
    let said: Option<Value> = serde_json::from_str(&completion.text).ok();
    ChatReport {
        is_schema_honoured: completion.has_schema && said.is_some_and(|v| v["city"].is_string()),
        model: completion.model,
        latency,
        is_cut_off: completion.is_cut_off,
        tokens_in: completion.tokens_in,
        tokens_out: completion.tokens_out,
        are_tokens_estimated: completion.are_tokens_estimated,
    }
}
