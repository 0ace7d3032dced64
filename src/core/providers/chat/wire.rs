//! Reads the answers of chat endpoints, wherever the text stands in them, and maps their refusals to our errors.
//! Error texts are searched for hints and never repeated.

use serde_json::Value;

use super::said::Said;
use super::stream;
use crate::providers::client::HttpAnswer;
use crate::providers::wire::{self, EndpointRefusal};
use crate::providers::{NotChat, ProviderError, models};

/// How servers say that a model is not a chat model.
const NO_CHAT_MODEL: [&str; 4] = [
    "not a chat model",
    "does not support chat",
    "does not support completions",
    "not supported in the v1/chat/completions",
];

/// How APIs say that an answer was cut off.
const CUT_OFF: [&str; 4] = ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS"];

/// A model's text, and the server's metadata.
pub(super) struct ChatAnswer {
    pub(super) text: String,
    pub(super) tokens_in: Option<u64>,
    pub(super) tokens_out: Option<u64>,
    pub(super) model: Option<String>,
    pub(super) is_cut_off: bool,
    /// It reasoned before it answered.
    pub(super) has_reasoned: bool,
}

/// `schema`: the question asks for JSON by it.
pub(super) fn read(
    answer: &HttpAnswer,
    schema: Option<&Value>,
) -> Result<ChatAnswer, EndpointRefusal> {
    if !(200..300).contains(&answer.status) {
        return Err(EndpointRefusal::of(answer, refusal(answer)));
    }
    if wire::looks_like_html(answer) {
        return Err(ProviderError::NotChat(NotChat::Html).into());
    }
    let body = stream::whole(&answer.body).map_err(ProviderError::NotChat)?;
    let Some(message) = message(&body) else {
        return Err(no_message(answer, &body));
    };
    let choice = &body["choices"][0];
    let ends = [
        &choice["finish_reason"],
        &body["done_reason"],
        &body["stop_reason"],
        &body["candidates"][0]["finishReason"],
        &body["incomplete_details"]["reason"],
    ];
    let is_cut_off = ends.iter().any(|end| end.as_str().is_some_and(|end| CUT_OFF.contains(&end)));
    let said = Said::of(message);
    let count = |names: [&Value; 4]| names.iter().find_map(|count| count.as_u64());
    let (usage, google) = (&body["usage"], &body["usageMetadata"]);
    Ok(ChatAnswer {
        has_reasoned: said.has_reasoned(),
        text: said.text(schema, is_cut_off)?,
        tokens_in: count([
            &usage["prompt_tokens"],
            &usage["input_tokens"],
            &body["prompt_eval_count"],
            &google["promptTokenCount"],
        ]),
        tokens_out: count([
            &usage["completion_tokens"],
            &usage["output_tokens"],
            &body["eval_count"],
            &google["candidatesTokenCount"],
        ]),
        model: body["model"].as_str().and_then(models::fit_to_show),
        is_cut_off,
    })
}

/// The message of the API formats of OpenAI, Ollama, Anthropic, OpenAI's responses and Gemini.
fn message(body: &Value) -> Option<&Value> {
    let choice = &body["choices"][0];
    let found = [&choice["message"], &choice["delta"], &body["message"]];
    if let Some(message) = found.into_iter().find(|message| message.is_object()) {
        return Some(message);
    }
    if choice["text"].is_string() {
        return Some(choice);
    }
    let content = &body["candidates"][0]["content"];
    if content.is_object() {
        return Some(content);
    }
    let has_answer = ["content", "output", "output_text", "response"];
    has_answer.iter().any(|name| body.get(*name).is_some()).then_some(body)
}

fn no_message(answer: &HttpAnswer, body: &Value) -> EndpointRefusal {
    // Some gateways report an upstream failure with status 200.
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let code = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let retry_after = answer.retry_after;
        let status = code.unwrap_or(500);
        return EndpointRefusal::of(answer, ProviderError::Server { status, retry_after });
    }
    ProviderError::NotChat(match body.get("choices").is_some_and(Value::is_array) {
        true => NotChat::NoText,
        false => NotChat::Shape,
    })
    .into()
}

fn refusal(answer: &HttpAnswer) -> ProviderError {
    let hint = wire::hint(answer);
    let is_other_model = NO_CHAT_MODEL.iter().any(|words| hint.contains(words));
    if answer.status >= 400 && is_other_model {
        return ProviderError::NotChat(NotChat::NoChatModel);
    }
    wire::refusal(answer, false).of_chat()
}
