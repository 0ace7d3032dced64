//! Calls a chat model: one client per wire format, with the same HTTP client, policy and limits as embeddings.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;
use url::Url;

use super::message::{ChatRequest, Completion};
use super::report::{self, ChatReport};
use super::{ChatPurpose, TEST_TIMEOUT, anthropic, ollama, openai, refused};
use crate::metrics;
use crate::providers::client::Http;
use crate::providers::dialect::{self, Certainty, DialectKey, DialectUse, Dialects, Served};
use crate::providers::settings::EndpointSettings;
use crate::providers::thinking::Thinking;
use crate::providers::{Endpoint, ProviderError, ProviderType, Tested, address};

/// Calls any chat endpoint. Clones share connections and known dialects.
#[derive(Clone)]
pub struct ChatModel(Arc<SharedChatModel>);

struct SharedChatModel {
    http: Arc<Http>,
    dialects: Arc<Dialects>,
}

fn key(endpoint: &Endpoint) -> DialectKey {
    let Endpoint { provider_type, url, model, .. } = endpoint;
    dialect::key(DialectUse::Chat, *provider_type, url.as_str(), model)
}

impl ChatModel {
    pub(in crate::providers) fn new(http: Arc<Http>, dialects: Arc<Dialects>) -> Self {
        Self(Arc::new(SharedChatModel { http, dialects }))
    }

    /// What was learned of this endpoint, in words.
    pub async fn learned(&self, settings: &EndpointSettings) -> Vec<&'static str> {
        let EndpointSettings { provider_type, url, model, .. } = settings;
        let key = dialect::key(DialectUse::Chat, *provider_type, url, model);
        self.0.dialects.of(key).await.unwrap_or_default().in_words()
    }

    /// One answer. If the server refuses a parameter, the call is retried without it.
    pub async fn complete(
        &self,
        endpoint: &Endpoint,
        request: &ChatRequest<'_>,
    ) -> Result<Completion, ProviderError> {
        self.complete_at(endpoint, request, &mut Vec::new()).await
    }

    /// `asked` gets each address that was asked.
    async fn complete_at(
        &self,
        endpoint: &Endpoint,
        request: &ChatRequest<'_>,
        asked: &mut Vec<Url>,
    ) -> Result<Completion, ProviderError> {
        let provider = endpoint.provider_type.as_str();
        let began = Instant::now();
        let purpose = request.purpose.as_str();
        let span = tracing::error_span!("provider_call", provider, purpose);
        let asking = self.ask(endpoint, request, asked).instrument(span);
        let called = tokio::time::timeout(request.deadline, asking).await;
        let called = called.unwrap_or(Err(ProviderError::TimedOut));
        let failure = called.as_ref().err().map(ProviderError::kind);
        metrics::provider_called(purpose, provider, failure, began.elapsed());
        if let Ok(completion) = &called {
            metrics::tokens_spent(purpose, provider, completion.tokens_in, completion.tokens_out);
        }
        called
    }

    async fn ask(
        &self,
        endpoint: &Endpoint,
        request: &ChatRequest<'_>,
        asked: &mut Vec<Url>,
    ) -> Result<Completion, ProviderError> {
        let SharedChatModel { http, dialects } = &*self.0;
        let (key, places) = (key(endpoint), places(endpoint));
        let mut dialect = dialects.of(key).await.unwrap_or_default();
        let first = Thinking::ways(endpoint).first().copied();
        let known_thinking = dialect.thinking;
        dialect.thinking = known_thinking.or(first).filter(|_| endpoint.is_thinking_off);
        let (mut certainty, mut tried) = (Certainty::Sure, 1);
        loop {
            let at = usize::from(dialect.served == Served::OtherPath).min(places.len() - 1);
            let url = places[at].clone();
            if asked.last() != Some(&url) {
                asked.push(url.clone());
            }
            let said = match endpoint.provider_type {
                ProviderType::Ollama => ollama::ask(http, endpoint, request, dialect, url).await,
                ProviderType::Anthropic => {
                    anthropic::ask(http, endpoint, request, dialect, url).await
                }
                _ => openai::ask(http, endpoint, request, dialect, url).await,
            };
            match said {
                Ok(said) => {
                    let mut learned = dialect;
                    if said.has_reasoned {
                        learned = refused::after_reasoning(dialect, endpoint);
                    }
                    learned.thinking = match endpoint.is_thinking_off {
                        true => learned.thinking.filter(|way| Some(*way) != first),
                        // Another user's switch may be on.
                        false => known_thinking,
                    };
                    dialects.learn(key, learned, certainty).await;
                    let has_schema = request.schema.is_some() && !dialect.no_schema;
                    return Ok(Completion::of(said, request, has_schema));
                }
                Err(refusal) => {
                    let has_other = tried < places.len();
                    let other = refused::after(dialect, &refusal, request, endpoint, has_other);
                    let (other, is_sure) = other.ok_or(refusal.error)?;
                    tried += usize::from(other.served != dialect.served);
                    dialect = other;
                    if is_sure == Certainty::Suspected {
                        certainty = is_sure;
                    }
                }
            }
        }
    }

    /// Sends a tiny prompt of our own, and reports what the endpoint supports. Takes at most
    /// [`TEST_TIMEOUT`].
    pub async fn test(&self, endpoint: &Endpoint) -> Tested<ChatReport> {
        // The server may have changed since it was last refused.
        self.0.dialects.forget(key(endpoint)).await;
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
        let (began, mut asked) = (Instant::now(), Vec::new());
        let completion = self.complete_at(endpoint, &request, &mut asked).await;
        let report = completion.map(|completion| report::of(completion, began.elapsed()));
        let learned = self.0.dialects.of(key(endpoint)).await;
        Tested::of(report, learned.unwrap_or_default(), &asked)
    }
}

/// Where the endpoint may serve chat, the likelier address first.
fn places(endpoint: &Endpoint) -> Vec<Url> {
    match endpoint.provider_type {
        ProviderType::Ollama => vec![address::of_ollama(&endpoint.url, "chat")],
        ProviderType::Anthropic => address::of_operation(&endpoint.url, address::MESSAGES),
        _ => address::of_operation(&endpoint.url, address::CHAT),
    }
}
