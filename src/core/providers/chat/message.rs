//! A prompt to a chat model, and its answer. Neither enters a log, an error or a metric.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::wire::ChatAnswer;
use super::{CHARS_A_TOKEN, ChatPurpose, TOKEN_BYTES_MAX};
use crate::providers::Endpoint;
use crate::providers::client::{AROUND_BYTES_MAX, Target};
use crate::providers::dialect::Dialect;
use crate::providers::thinking::Thinking;

/// How much longer an answer may be that comes in parts: each token is an event with all that is around it.
const STREAM_TIMES: usize = 8;

/// The HTTP target for an answer of up to `max_tokens` tokens.
pub(super) fn target(endpoint: &Endpoint, max_tokens: u32) -> Target<'_> {
    let tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let answer_bytes = tokens.saturating_mul(TOKEN_BYTES_MAX);
    Target {
        answer_bytes_max: answer_bytes.saturating_add(AROUND_BYTES_MAX),
        stream_bytes_max: answer_bytes
            .saturating_mul(STREAM_TIMES)
            .saturating_add(AROUND_BYTES_MAX),
        ..Target::of_list(endpoint)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    System,
    User,
    Assistant,
}

#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ChatMessage {
    pub role: ChatRole,
    pub content: String,
}

impl ChatMessage {
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: ChatRole::System, content: content.into() }
    }

    pub fn user(content: impl Into<String>) -> Self {
        Self { role: ChatRole::User, content: content.into() }
    }
}

/// Shows its length, not its content.
impl fmt::Debug for ChatMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chars = self.content.chars().count();
        write!(f, "ChatMessage({:?}, {chars} characters)", self.role)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    pub purpose: ChatPurpose,
    pub messages: &'a [ChatMessage],
    /// The JSON schema of the answer, for servers that enforce one. OpenAI requires every property to be
    /// required and `additionalProperties: false`.
    pub schema: Option<&'a Value>,
    /// Limit of the answer.
    pub max_tokens: u32,
    /// 0 to 2
    pub temperature: f32,
    /// For the whole call, including retries.
    pub deadline: Duration,
}

impl ChatRequest<'_> {
    /// Tokens of the prompt, estimated by [`CHARS_A_TOKEN`].
    pub fn estimated_tokens_in(&self) -> u64 {
        let texts = self.messages.iter().map(|m| estimated_tokens(&m.content));
        texts.sum()
    }

    /// The maximum tokens of the call, which are reserved before it.
    pub fn estimated_tokens_max(&self) -> u64 {
        self.estimated_tokens_in() + u64::from(self.max_tokens)
    }

    /// The messages in this dialect: without the system's role, and with the command not to think.
    pub(super) fn messages_in(&self, dialect: Dialect) -> Cow<'_, [ChatMessage]> {
        let has_command = dialect.thinking == Some(Thinking::Command);
        if !dialect.no_system_role && !has_command {
            return Cow::Borrowed(self.messages);
        }
        let mut messages: Vec<ChatMessage> = Vec::with_capacity(self.messages.len());
        for message in self.messages {
            match messages.last_mut() {
                // Of one role after the other: a template without the system's role wants turns.
                Some(last)
                    if dialect.no_system_role
                        && last.role != ChatRole::Assistant
                        && message.role == ChatRole::User =>
                {
                    last.role = ChatRole::User;
                    last.content = format!("{}\n\n{}", last.content, message.content);
                }
                _ => messages.push(message.clone()),
            }
        }
        let mut of_user = messages.iter_mut().filter(|message| message.role != ChatRole::Assistant);
        if let Some(last) = of_user.next_back() {
            if dialect.no_system_role {
                last.role = ChatRole::User;
            }
            if has_command {
                last.content.push_str(" /no_think");
            }
        }
        Cow::Owned(messages)
    }

    /// Bytes of the prompt: where a token is one or two bytes, characters underestimate.
    pub(super) fn bytes(&self) -> usize {
        self.messages.iter().map(|m| m.content.len()).sum()
    }
}

/// Estimates four characters per token.
pub fn estimated_tokens(text: &str) -> u64 {
    let chars = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    chars.div_ceil(CHARS_A_TOKEN)
}

/// False for control characters except newline and tab; the database stores no NUL.
pub fn is_of_text(c: char) -> bool {
    !c.is_control() || matches!(c, '\n' | '\t')
}

/// A model's answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Completion {
    pub text: String,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// The server did not report tokens; estimated at four characters each.
    pub are_tokens_estimated: bool,
    /// The name that the endpoint returns.
    pub model: Option<String>,
    /// It was cut off by `max_tokens`.
    pub is_cut_off: bool,
    /// The server accepted the schema; it may not have followed it.
    pub has_schema: bool,
}

/// Shows lengths, not the content.
impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("chars", &self.text.chars().count())
            .field("tokens_in", &self.tokens_in)
            .field("tokens_out", &self.tokens_out)
            .field("is_cut_off", &self.is_cut_off)
            .field("has_schema", &self.has_schema)
            .finish()
    }
}

impl Completion {
    pub(super) fn of(said: ChatAnswer, request: &ChatRequest<'_>, has_schema: bool) -> Self {
        let counted = said.tokens_in.zip(said.tokens_out);
        let (tokens_in, tokens_out) = counted
            .unwrap_or_else(|| (request.estimated_tokens_in(), estimated_tokens(&said.text)));
        Self {
            text: said.text,
            tokens_in,
            tokens_out,
            are_tokens_estimated: counted.is_none(),
            model: said.model,
            is_cut_off: said.is_cut_off,
            has_schema,
        }
    }
}
