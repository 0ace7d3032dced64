//! OpenAI's `/v1/chat/completions`, which llama.cpp, vLLM and LM Studio also implement. The schema is sent as
//! `response_format`; llama.cpp compiles it to a grammar.

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::message::{ChatMessage, ChatRequest, target};
use super::wire::{self, ChatAnswer};
use crate::providers::client::Http;
use crate::providers::dialect::Dialect;
use crate::providers::wire::EndpointRefusal;
use crate::providers::{Endpoint, ProviderError};

#[derive(Serialize)]
struct OpenaiChatRequest<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    messages: &'a [ChatMessage],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    /// How the model is asked not to think.
    #[serde(flatten)]
    thinking: Map<String, Value>,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

pub(super) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    request: &ChatRequest<'_>,
    dialect: Dialect,
    url: Url,
) -> Result<ChatAnswer, EndpointRefusal> {
    let limit = |is_said: bool| is_said.then_some(request.max_tokens);
    let schema = request.schema.filter(|_| !dialect.no_schema);
    let body = OpenaiChatRequest {
        model: &endpoint.model,
        messages: &request.messages_in(dialect),
        stream: false,
        max_tokens: limit(!dialect.says_completion_tokens),
        max_completion_tokens: limit(dialect.says_completion_tokens),
        temperature: (!dialect.no_temperature).then_some(request.temperature),
        response_format: schema.map(|schema| ResponseFormat {
            r#type: "json_schema",
            json_schema: JsonSchema { name: "answer", strict: true, schema },
        }),
        thinking: dialect.thinking_parameter(),
    };
    let answer = http.post(target(endpoint, request.max_tokens), url, &body);
    let answer = answer.await.map_err(ProviderError::of_chat)?;
    wire::read(&answer, request.schema)
}
