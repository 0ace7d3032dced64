//! Anthropic's `/v1/messages`. The system's message is a parameter, and a schema is that of a tool that has to be
//! used. It thinks only when it is asked to.

use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use super::message::{ChatMessage, ChatRequest, ChatRole, target};
use super::wire::{self, ChatAnswer};
use crate::providers::client::{Http, Target};
use crate::providers::dialect::Dialect;
use crate::providers::wire::EndpointRefusal;
use crate::providers::{Endpoint, ProviderError};

const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
const TOOL: &str = "answer";
/// What it accepts.
const TEMPERATURE_MAX: f32 = 1.0;

#[derive(Serialize)]
struct MessagesRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    system: String,
    messages: Vec<&'a ChatMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

pub(super) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    request: &ChatRequest<'_>,
    dialect: Dialect,
    url: Url,
) -> Result<ChatAnswer, EndpointRefusal> {
    let all = request.messages_in(dialect);
    let (system, messages): (Vec<_>, Vec<_>) =
        all.iter().partition(|message| message.role == ChatRole::System);
    let system: Vec<&str> = system.into_iter().map(|message| message.content.as_str()).collect();
    let schema = request.schema.filter(|_| !dialect.no_schema);
    let temperature = request.temperature.min(TEMPERATURE_MAX);
    let body = MessagesRequest {
        model: &endpoint.model,
        max_tokens: request.max_tokens,
        system: system.join("\n\n"),
        messages,
        temperature: (!dialect.no_temperature).then_some(temperature),
        tools: schema.map(|schema| json!([{ "name": TOOL, "input_schema": schema }])),
        tool_choice: schema.map(|_| json!({ "type": "tool", "name": TOOL })),
    };
    let target = Target { version: Some(VERSION), ..target(endpoint, request.max_tokens) };
    let answer = http.post(target, url, &body).await.map_err(ProviderError::of_chat)?;
    wire::read(&answer, request.schema)
}
