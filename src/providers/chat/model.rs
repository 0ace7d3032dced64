//! A question to a chat model and its answer: one client per wire format over
//! the same HTTP, policy and bounds as embeddings have. What is asked and what is
//! answered is never written to a log, an error or a figure.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use tracing::Instrument;

use super::dialect::Dialects;
use super::purpose::ChatPurpose;
use super::report::{self, ChatReport};
use super::wire::Said;
use super::{CHARS_A_TOKEN, TEST_TIMEOUT, TOKEN_BYTES_MAX, ollama, openai};
use crate::metrics;
use crate::providers::client::{AROUND_BYTES_MAX, Http, Target};
use crate::providers::{EndpointUrl, ProviderError, ProviderType, Reach, SecretKey};

/// All that a call needs.
#[derive(Clone, Debug)]
pub struct ChatEndpoint {
    /// `Ollama`, or one that speaks OpenAI's form.
    pub provider_type: ProviderType,
    pub url: EndpointUrl,
    /// Empty where the server has but one.
    pub model: String,
    pub key: Option<SecretKey>,
    pub reach: Reach,
}

impl ChatEndpoint {
    /// For an answer of so many tokens.
    pub(super) fn target(&self, max_tokens: u32) -> Target<'_> {
        let tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
        let answer_bytes = tokens.saturating_mul(TOKEN_BYTES_MAX);
        Target {
            url: &self.url,
            key: self.key.as_ref(),
            reach: self.reach,
            answer_bytes_max: answer_bytes.saturating_add(AROUND_BYTES_MAX),
        }
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
        Self {
            role: ChatRole::System,
            content: content.into(),
        }
    }

    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: ChatRole::User,
            content: content.into(),
        }
    }
}

/// Shows how long it is, and nothing of what it says.
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
    /// What the answer is to be, where the server can hold a model to it. OpenAI wants
    /// every property required and `additionalProperties: false`.
    pub schema: Option<&'a Value>,
    /// Of the answer.
    pub max_tokens: u32,
    /// 0 to 2
    pub temperature: f32,
    /// For the whole call, however often it has to be put anew.
    pub deadline: Duration,
}

impl ChatRequest<'_> {
    /// Of what is asked, at [`CHARS_A_TOKEN`].
    pub fn estimated_tokens_in(&self) -> u64 {
        let texts = self.messages.iter().map(|m| estimated_tokens(&m.content));
        texts.sum()
    }

    /// As many as the call can come to: what is reserved before it.
    pub fn estimated_tokens_max(&self) -> u64 {
        self.estimated_tokens_in() + u64::from(self.max_tokens)
    }

    /// Of what is asked: where a token is a byte or two, characters say too little.
    pub(super) fn bytes(&self) -> usize {
        self.messages.iter().map(|m| m.content.len()).sum()
    }
}

/// Four characters count as one.
pub fn estimated_tokens(text: &str) -> u64 {
    let chars = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    chars.div_ceil(CHARS_A_TOKEN)
}

/// What a model said.
#[derive(Clone, PartialEq, Eq)]
pub struct Completion {
    pub text: String,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// The server did not say; four characters count as a token.
    pub are_tokens_estimated: bool,
    /// As the endpoint calls it.
    pub model: Option<String>,
    /// `max_tokens` ended it.
    pub is_cut_off: bool,
    /// The server took the schema that was asked for; whether it kept to it, the text shows.
    pub has_schema: bool,
}

/// Shows how much was said, and nothing of it.
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
    fn of(said: Said, request: &ChatRequest<'_>, has_schema: bool) -> Self {
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

/// Calls any chat endpoint. Clones share connections and what was learned of endpoints.
#[derive(Clone)]
pub struct ChatModel(Arc<Shared>);

struct Shared {
    http: Arc<Http>,
    dialects: Dialects,
}

impl ChatModel {
    pub(in crate::providers) fn new(http: Arc<Http>) -> Self {
        Self(Arc::new(Shared {
            http,
            dialects: Dialects::default(),
        }))
    }

    /// One answer. A server that refuses the schema is asked again without.
    pub async fn complete(
        &self,
        endpoint: &ChatEndpoint,
        request: &ChatRequest<'_>,
    ) -> Result<Completion, ProviderError> {
        let provider = endpoint.provider_type.as_str();
        let began = Instant::now();
        let purpose = request.purpose.as_str();
        let span = tracing::error_span!("provider_call", provider, purpose);
        let asked = self.ask(endpoint, request).instrument(span);
        let called = tokio::time::timeout(request.deadline, asked).await;
        let called = called.unwrap_or(Err(ProviderError::TimedOut));
        let failure = called.as_ref().err().map(ProviderError::kind);
        metrics::provider_called(purpose, provider, failure, began.elapsed());
        if let Ok(completion) = &called {
            metrics::tokens_spent(
                purpose,
                provider,
                completion.tokens_in,
                completion.tokens_out,
            );
        }
        called
    }

    async fn ask(
        &self,
        endpoint: &ChatEndpoint,
        request: &ChatRequest<'_>,
    ) -> Result<Completion, ProviderError> {
        let Shared { http, dialects } = &*self.0;
        let mut dialect = dialects.of(endpoint);
        loop {
            let (answer, said) = match endpoint.provider_type {
                ProviderType::Ollama => ollama::ask(http, endpoint, request, dialect).await?,
                _ => openai::ask(http, endpoint, request, dialect).await?,
            };
            match said {
                Ok(said) => {
                    dialects.learn(endpoint, dialect);
                    let has_schema = request.schema.is_some() && dialect.knows_schema;
                    return Ok(Completion::of(said, request, has_schema));
                }
                Err(error) => {
                    let other = dialect.after(&error, &answer, request);
                    dialect = other.ok_or(error)?;
                }
            }
        }
    }

    /// Asks a tiny question of our own, and says what the endpoint is like. Takes at
    /// most [`TEST_TIMEOUT`].
    pub async fn test(&self, endpoint: &ChatEndpoint) -> Result<ChatReport, ProviderError> {
        // What it refused once it may take by now.
        self.0.dialects.forget(endpoint);
        let schema = report::schema();
        let messages = report::question();
        let request = ChatRequest {
            purpose: ChatPurpose::Facts,
            messages: &messages,
            schema: Some(&schema),
            max_tokens: report::TOKENS_MAX,
            temperature: 0.0,
            deadline: TEST_TIMEOUT,
        };
        let began = Instant::now();
        let completion = self.complete(endpoint, &request).await?;
        Ok(report::of(completion, began.elapsed()))
    }
}
