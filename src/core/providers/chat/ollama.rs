//! Ollama's `/api/chat`. By default it reads only a few thousand tokens and silently drops the beginning, so
//! the context size is set explicitly: to one of a few sizes, since it reloads the model for each.

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::message::{ChatMessage, ChatRequest, target};
use super::wire::{self, ChatAnswer};
use crate::providers::client::Http;
use crate::providers::dialect::Dialect;
use crate::providers::wire::EndpointRefusal;
use crate::providers::{Endpoint, ProviderError};

/// Minimum and maximum tokens of prompt and answer together.
const CONTEXT_MIN: u64 = 4_096;
const CONTEXT_MAX: u64 = 131_072;
/// Lower bound of bytes per token, in any script.
const BYTES_A_TOKEN: u64 = 3;
/// Tokens of the template around the messages.
const TEMPLATE_TOKENS: u64 = 256;

#[derive(Serialize)]
struct OllamaChatRequest<'a> {
    model: &'a str,
    messages: &'a [ChatMessage],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a Value>,
    options: Options,
    /// How the model is asked not to think.
    #[serde(flatten)]
    thinking: Map<String, Value>,
}

#[derive(Serialize)]
struct Options {
    num_predict: u32,
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

pub(super) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    request: &ChatRequest<'_>,
    dialect: Dialect,
    url: Url,
) -> Result<ChatAnswer, EndpointRefusal> {
    let body = OllamaChatRequest {
        model: &endpoint.model,
        messages: &request.messages_in(dialect),
        stream: false,
        format: request.schema.filter(|_| !dialect.no_schema),
        options: Options {
            num_predict: request.max_tokens,
            num_ctx: context(request.bytes(), request.max_tokens),
            temperature: (!dialect.no_temperature).then_some(request.temperature),
        },
        thinking: dialect.thinking_parameter(),
    };
    let answer = http.post(target(endpoint, request.max_tokens), url, &body);
    let answer = answer.await.map_err(ProviderError::of_chat)?;
    wire::read(&answer, request.schema)
}

fn context(bytes: usize, max_tokens: u32) -> u64 {
    let asked = u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_A_TOKEN;
    let needed = asked + u64::from(max_tokens) + TEMPLATE_TOKENS;
    needed.next_power_of_two().clamp(CONTEXT_MIN, CONTEXT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_read_fits_and_few_sizes_are_asked_for() {
        assert_eq!(context(0, 100), 4_096);
        assert_eq!(context(12_000, 1_000), 8_192);
        assert_eq!(context(15_000, 1_000), 8_192);
        assert_eq!(context(usize::MAX / 8, 1_000), CONTEXT_MAX);
    }
}
