//! Parses the answers of chat endpoints, and maps their refusals to our errors. Error texts are searched for
//! hints and never repeated.

use std::fmt;

use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::providers::client::HttpAnswer;
use crate::providers::{NotChat, ProviderError, models, wire};

/// How servers say that a model is not a chat model.
const NO_CHAT_MODEL: [&str; 4] = [
    "not a chat model",
    "does not support chat",
    "does not support completions",
    "not supported in the v1/chat/completions",
];

/// A model's text, and the server's metadata.
pub(super) struct ChatAnswer {
    pub(super) text: String,
    pub(super) tokens_in: Option<u64>,
    pub(super) tokens_out: Option<u64>,
    pub(super) model: Option<String>,
    pub(super) is_cut_off: bool,
}

#[derive(Deserialize)]
struct OpenaiAnswer {
    model: Option<String>,
    choices: Vec<AnswerChoice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct AnswerChoice {
    message: AnswerMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    content: Option<Content>,
}

/// A text, or a list of its parts.
struct Content(String);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or parts of one")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<ContentPart>()? {
            text.push_str(&part.text.unwrap_or_default());
        }
        Ok(Content(text))
    }
}

#[derive(Deserialize)]
struct ContentPart {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    model: Option<String>,
    message: AnswerMessage,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
}

/// Some gateways report an upstream failure with status 200.
#[derive(Deserialize)]
struct RefusalBody<'a> {
    #[serde(borrow)]
    error: &'a RawValue,
}

#[derive(Deserialize)]
struct FailureCode {
    code: u16,
}

pub(super) fn openai(answer: &HttpAnswer) -> Result<ChatAnswer, ProviderError> {
    let body: OpenaiAnswer = body(answer)?;
    let choice = body.choices.into_iter().next();
    let choice = choice.ok_or(ProviderError::NotChat(NotChat::NoText))?;
    let is_cut_off = choice.finish_reason.as_deref() == Some("length");
    let usage = body.usage;
    Ok(ChatAnswer {
        text: text(choice.message, is_cut_off)?,
        tokens_in: usage.as_ref().and_then(|u| u.prompt_tokens),
        tokens_out: usage.as_ref().and_then(|u| u.completion_tokens),
        model: body.model.and_then(|name| models::fit_to_show(&name)),
        is_cut_off,
    })
}

pub(super) fn ollama(answer: &HttpAnswer) -> Result<ChatAnswer, ProviderError> {
    let body: OllamaAnswer = body(answer)?;
    let is_cut_off = body.done_reason.as_deref() == Some("length");
    Ok(ChatAnswer {
        text: text(body.message, is_cut_off)?,
        tokens_in: body.prompt_eval_count,
        tokens_out: body.eval_count,
        model: body.model.and_then(|name| models::fit_to_show(&name)),
        is_cut_off,
    })
}

/// A reasoning model may use up its tokens before it answers.
fn text(message: AnswerMessage, is_cut_off: bool) -> Result<String, ProviderError> {
    match message.content {
        Some(Content(text)) => Ok(text),
        None if is_cut_off => Ok(String::new()),
        None => Err(ProviderError::NotChat(NotChat::NoText)),
    }
}

fn body<T: DeserializeOwned>(answer: &HttpAnswer) -> Result<T, ProviderError> {
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer));
    }
    if wire::looks_like_html(answer) {
        return Err(ProviderError::NotChat(NotChat::Html));
    }
    serde_json::from_slice(&answer.body).map_err(|error| {
        if let Ok(RefusalBody { error }) = serde_json::from_slice(&answer.body) {
            let code: Option<FailureCode> = serde_json::from_str(error.get()).ok();
            return ProviderError::Server {
                status: code.map_or(500, |FailureCode { code }| code),
                retry_after: answer.retry_after,
            };
        }
        ProviderError::NotChat(match error.is_eof() {
            true => NotChat::HalfABody,
            false => NotChat::Shape,
        })
    })
}

fn refusal(answer: &HttpAnswer) -> ProviderError {
    let hint = wire::hint(answer);
    let is_other_model = NO_CHAT_MODEL.iter().any(|words| hint.contains(words));
    if answer.status >= 400 && is_other_model {
        return ProviderError::NotChat(NotChat::NoChatModel);
    }
    wire::refusal(answer, false).of_chat()
}
