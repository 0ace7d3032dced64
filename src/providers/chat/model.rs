//! Calls a chat model: one client per wire format, with the same HTTP client, policy and limits as embeddings.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;

use super::dialect::Dialects;
use super::message::{ChatRequest, Completion};
use super::report::{self, ChatReport};
use super::{ChatPurpose, TEST_TIMEOUT, ollama, openai};
use crate::metrics;
use crate::providers::client::Http;
use crate::providers::{Endpoint, ProviderError, ProviderType};

/// Calls any chat endpoint. Clones share connections and known dialects.
#[derive(Clone)]
pub struct ChatModel(Arc<SharedChatModel>);

struct SharedChatModel {
    http: Arc<Http>,
    dialects: Dialects,
}

impl ChatModel {
    pub(in crate::providers) fn new(http: Arc<Http>) -> Self {
        Self(Arc::new(SharedChatModel { http, dialects: Dialects::default() }))
    }

    /// One answer. If the server refuses a parameter, the call is retried without it.
    pub async fn complete(
        &self,
        endpoint: &Endpoint,
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
            metrics::tokens_spent(purpose, provider, completion.tokens_in, completion.tokens_out);
        }
        called
    }

    async fn ask(
        &self,
        endpoint: &Endpoint,
        request: &ChatRequest<'_>,
    ) -> Result<Completion, ProviderError> {
        let SharedChatModel { http, dialects } = &*self.0;
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

    /// Sends a tiny prompt of our own, and reports what the endpoint supports. Takes at most
    /// [`TEST_TIMEOUT`].
    pub async fn test(&self, endpoint: &Endpoint) -> Result<ChatReport, ProviderError> {
        // The server may have changed since it was last refused.
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
