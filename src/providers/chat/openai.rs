//! OpenAI's `/v1/chat/completions`, which llama.cpp, vLLM and LM Studio also implement. The schema is sent as
//! `response_format`; llama.cpp compiles it to a grammar.

use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::dialect::Dialect;
use super::message::{ChatMessage, ChatRequest, target};
use super::wire::{self, ChatAnswer};
use crate::providers::client::{Http, HttpAnswer};
use crate::providers::{Endpoint, EndpointUrl, ProviderError, openai};

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

/// The raw answer, and its parsed content.
pub(super) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    request: &ChatRequest<'_>,
    dialect: Dialect,
) -> Result<(HttpAnswer, Result<ChatAnswer, ProviderError>), ProviderError> {
    let limit = |is_said: bool| is_said.then_some(request.max_tokens);
    let schema = request.schema.filter(|_| dialect.knows_schema);
    let body = OpenaiChatRequest {
        model: &endpoint.model,
        messages: request.messages,
        stream: false,
        max_tokens: limit(!dialect.says_completion_tokens),
        max_completion_tokens: limit(dialect.says_completion_tokens),
        temperature: dialect.knows_temperature.then_some(request.temperature),
        response_format: schema.map(|schema| ResponseFormat {
            r#type: "json_schema",
            json_schema: JsonSchema { name: "answer", strict: true, schema },
        }),
    };
    let answer =
        http.post(target(endpoint, request.max_tokens), completions_url(&endpoint.url), &body);
    let answer = answer.await.map_err(ProviderError::of_chat)?;
    let said = wire::openai(&answer);
    Ok((answer, said))
}

/// `…/chat/completions` unchanged, `…/v1` with `/chat/completions`, anything else with
/// `/v1/chat/completions`.
fn completions_url(url: &EndpointUrl) -> Url {
    let path = url.path();
    if path.ends_with("/chat/completions") {
        url.with_path(path)
    } else {
        url.with_path(&format!("{}/chat/completions", openai::base_path(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_completed_only_where_it_must_be() {
        for (given, completions) in [
            ("http://a:1", "http://a:1/v1/chat/completions"),
            ("http://a/v1/", "http://a/v1/chat/completions"),
            ("http://a/x", "http://a/x/v1/chat/completions"),
            ("http://a/x/chat/completions?k=1", "http://a/x/chat/completions?k=1"),
        ] {
            let url = EndpointUrl::parse("url", given).expect("a url");
            assert_eq!(completions_url(&url).as_str(), completions);
        }
    }
}
