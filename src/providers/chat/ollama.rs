//! Ollama's `/api/chat`. By default it reads only a few thousand tokens and silently drops the beginning, so
//! the context size is set explicitly: to one of a few sizes, since it reloads the model for each.

use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::dialect::Dialect;
use super::message::{ChatMessage, ChatRequest, target};
use super::wire::{self, ChatAnswer};
use crate::providers::client::{Http, HttpAnswer};
use crate::providers::{Endpoint, EndpointUrl, ProviderError};

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
}

#[derive(Serialize)]
struct Options {
    num_predict: u32,
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

/// The raw answer, and its parsed content.
pub(super) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    request: &ChatRequest<'_>,
    dialect: Dialect,
) -> Result<(HttpAnswer, Result<ChatAnswer, ProviderError>), ProviderError> {
    let body = OllamaChatRequest {
        model: &endpoint.model,
        messages: request.messages,
        stream: false,
        format: request.schema.filter(|_| dialect.knows_schema),
        options: Options {
            num_predict: request.max_tokens,
            num_ctx: context(request.bytes(), request.max_tokens),
            temperature: dialect.knows_temperature.then_some(request.temperature),
        },
    };
    let answer = http.post(target(endpoint, request.max_tokens), chat_url(&endpoint.url), &body);
    let answer = answer.await.map_err(ProviderError::of_chat)?;
    let said = wire::ollama(&answer);
    Ok((answer, said))
}

fn context(bytes: usize, max_tokens: u32) -> u64 {
    let asked = u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_A_TOKEN;
    let needed = asked + u64::from(max_tokens) + TEMPLATE_TOKENS;
    needed.next_power_of_two().clamp(CONTEXT_MIN, CONTEXT_MAX)
}

/// Accepts a base address, one that ends in `/api`, or one that ends in `/api/chat`.
fn chat_url(url: &EndpointUrl) -> Url {
    let path = url.path();
    let base = path.strip_suffix("/chat").unwrap_or(path);
    let base = base.strip_suffix("/api").unwrap_or(base);
    url.with_path(&format!("{base}/api/chat"))
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
