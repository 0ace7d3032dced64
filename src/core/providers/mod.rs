//! Embedding and chat providers: one client per wire format, the model in our own process, and the policy of
//! which addresses may be called. Texts, keys and answers never enter a log or an error.

mod address;
pub mod builtin;
mod builtin_model;
pub mod chat;
mod check;
mod client;
mod dialect;
mod embeddings;
mod endpoint;
mod error;
mod formats;
mod models;
mod outbound;
mod policy;
pub mod presets;
mod report;
mod retry_after;
pub mod settings;
mod thinking;
pub mod vendors;
mod wire;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use endpoint::{ApiKey, Endpoint, EndpointUrl, MAX_URL_CHARS, ProviderType, Reach};
pub use error::{BuiltinFlaw, NotChat, NotEmbeddings, ProviderError, Unreachable, WrongVector};
pub use outbound::{DELIVERY_TIMEOUT, Outbound};
pub use policy::{NameLookup, SystemNames};
pub use report::{EmbeddingReport, Tested};
pub use retry_after::parse as parse_retry_after;

use tracing::Instrument;
use url::Url;

use self::builtin::{BuiltinModel, BuiltinModels};
use crate::clock::SharedClock;
use crate::db::Db;
use crate::metrics;
use client::Http;
use dialect::Dialects;

/// Maximum width of a vector; wider ones are refused.
pub const MAX_DIMENSIONS: usize = 1_024;

/// An endpoint that does not accept a connection within this time is unreachable.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Deadline of *Test* for all its calls.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The vectors of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// In the order of the texts; finite, and all of the same width.
    pub vectors: Vec<Vec<f32>>,
    /// Builtin model only: the concatenated token vectors of each text; otherwise empty.
    pub tokens: Vec<Vec<f32>>,
    /// Whether a text was truncated, if known.
    pub truncated: Vec<bool>,
}

/// Parses any endpoint's answer; sends nothing. For fuzzing.
pub fn read_answer(
    status: u16,
    body: Vec<u8>,
    asked_dimensions: bool,
) -> Result<Vec<Vec<f32>>, ProviderError> {
    let answer = client::HttpAnswer { status, retry_after: None, is_html: false, body };
    wire::vectors(&answer, asked_dimensions).map_err(|refusal| refusal.error)
}

/// Calls any endpoint. Clones share connections and the builtin model.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<SharedEmbedder>,
}

/// The purpose of a call in metrics.
const EMBEDDING: &str = "embedding";
const EVALUATION: &str = "evaluation";

/// Who needs a query's vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryPriority {
    /// A search waits: the builtin model serves it before documents.
    Search,
    /// A job: served after the queries of searches.
    Job,
    /// As a job's, and counted separately. Its failures do not open the circuit breaker, so searches are not
    /// affected.
    Evaluation,
}

/// What texts are embedded for.
#[derive(Clone, Copy)]
enum Purpose {
    Query(QueryPriority),
    Document,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Query(QueryPriority::Evaluation) => EVALUATION,
            Self::Query(_) | Self::Document => EMBEDDING,
        }
    }
}

struct SharedEmbedder {
    http: Arc<Http>,
    builtin: Option<BuiltinModels>,
    dialects: Arc<Dialects>,
}

impl Embedder {
    /// `builtin`: `None` if it is switched off. `names`: [`SystemNames`], except in tests.
    pub fn new(
        builtin: Option<BuiltinModels>,
        names: Arc<dyn NameLookup>,
        clock: SharedClock,
    ) -> Self {
        Self {
            shared: Arc::new(SharedEmbedder {
                http: Arc::new(Http::new(&names, clock.clone())),
                builtin,
                dialects: Arc::new(Dialects::new(clock)),
            }),
        }
    }

    /// Keeps what is learned of endpoints in the database, for all clones.
    pub fn keep_in(&self, db: Db) {
        self.shared.dialects.keep_in(db);
    }

    /// What was learned of this endpoint of embeddings, in words.
    pub async fn learned(&self, settings: &settings::EndpointSettings) -> Vec<&'static str> {
        let settings::EndpointSettings { provider_type, url, model, .. } = settings;
        let key = dialect::key(dialect::DialectUse::Embeddings, *provider_type, url, model);
        self.shared.dialects.of(key).await.unwrap_or_default().in_words()
    }

    /// The caller of chat models, with the same connections and policy.
    pub fn chat_model(&self) -> chat::ChatModel {
        chat::ChatModel::new(self.shared.http.clone(), self.shared.dialects.clone())
    }

    /// What sends requests that are no provider's, with the same connections and policy.
    pub fn outbound(&self) -> Outbound {
        Outbound::new(self.shared.http.clone())
    }

    /// Whether it runs builtin models, if their files exist.
    pub fn runs_builtin(&self) -> bool {
        self.shared.builtin.is_some()
    }

    /// Whether the files of this builtin model exist. Checked each time, so that a model can be fetched without a restart.
    pub fn has(&self, model: BuiltinModel) -> bool {
        self.shared.builtin.as_ref().is_some_and(|models| models.has(model))
    }

    /// Whether it was called, and so is loaded or loading.
    pub fn is_builtin_loaded(&self, model: BuiltinModel) -> bool {
        self.shared.builtin.as_ref().is_some_and(|models| models.is_loaded(model))
    }

    /// Returns vectors in the order of `texts`. `deadline` limits the whole network call; the builtin model
    /// has none. Without texts there is no call.
    pub async fn embed(
        &self,
        endpoint: &Endpoint,
        texts: &[String],
        deadline: Duration,
    ) -> Result<Embedded, ProviderError> {
        self.embed_as(Purpose::Document, endpoint, texts, deadline, &mut Vec::new()).await
    }

    /// Like [`Self::embed`], for a query. If a search waits, the deadline also limits the builtin model.
    pub async fn embed_query(
        &self,
        asked_for: QueryPriority,
        endpoint: &Endpoint,
        query: String,
        deadline: Duration,
    ) -> Result<Embedded, ProviderError> {
        let purpose = Purpose::Query(asked_for);
        self.embed_as(purpose, endpoint, &[query], deadline, &mut Vec::new()).await
    }

    async fn embed_as(
        &self,
        purpose: Purpose,
        endpoint: &Endpoint,
        texts: &[String],
        deadline: Duration,
        asked: &mut Vec<Url>,
    ) -> Result<Embedded, ProviderError> {
        if texts.is_empty() {
            return Ok(Embedded { vectors: Vec::new(), tokens: Vec::new(), truncated: Vec::new() });
        }
        let provider = endpoint.provider_type.as_str();
        let began = Instant::now();
        let called = self
            .embed_within(purpose, endpoint, texts, deadline, asked)
            .instrument(tracing::error_span!("provider_call", provider, texts = texts.len()))
            .await;
        let failure = called.as_ref().err().map(ProviderError::kind);
        metrics::provider_called(purpose.as_str(), provider, failure, began.elapsed());
        if failure.is_none() {
            metrics::texts_embedded(purpose.as_str(), provider, texts.len());
        }
        called
    }

    async fn embed_within(
        &self,
        purpose: Purpose,
        endpoint: &Endpoint,
        texts: &[String],
        deadline: Duration,
        asked: &mut Vec<Url>,
    ) -> Result<Embedded, ProviderError> {
        let asking = self.ask(purpose, endpoint, texts, asked);
        let late = match (endpoint.provider_type, purpose) {
            (ProviderType::Builtin, Purpose::Query(QueryPriority::Search)) => {
                Some(ProviderError::Busy)
            }
            // It runs in this process: there is no connection to lose, so it may finish.
            (ProviderType::Builtin, _) => None,
            _ => Some(ProviderError::TimedOut),
        };
        let embedded = match late {
            Some(late) => {
                let answer = tokio::time::timeout(deadline, asking).await;
                answer.map_err(|_| late)??
            }
            None => asking.await?,
        };
        // The builtin model answers zeros for a text that it does not know, and these concern that text alone.
        if endpoint.provider_type != ProviderType::Builtin {
            check::vectors(&embedded.vectors, texts.len())?;
        }
        Ok(embedded)
    }

    async fn ask(
        &self,
        purpose: Purpose,
        endpoint: &Endpoint,
        texts: &[String],
        asked: &mut Vec<Url>,
    ) -> Result<Embedded, ProviderError> {
        let SharedEmbedder { http, dialects, .. } = &*self.shared;
        match endpoint.provider_type {
            ProviderType::Builtin => {
                let off = ProviderError::BuiltinMissing(BuiltinFlaw::Off);
                let models = self.shared.builtin.as_ref().ok_or(off)?;
                let model = BuiltinModel::of_name(&endpoint.model).unwrap_or_default();
                match purpose {
                    Purpose::Query(QueryPriority::Search) => models.embed_query(model, texts).await,
                    Purpose::Query(_) => models.look_up(model, texts).await,
                    Purpose::Document => models.embed(model, texts).await,
                }
            }
            _ => embeddings::embed(http, dialects, endpoint, texts, asked).await,
        }
    }

    /// Embeds three short texts of our own, together and separately, and reports what the endpoint supports.
    /// Takes at most [`TEST_TIMEOUT`].
    pub async fn test(
        &self,
        endpoint: &Endpoint,
        query_prefix: &str,
        document_prefix: &str,
    ) -> Tested<EmbeddingReport> {
        // The server may have changed since it was last refused.
        self.shared.dialects.forget(embeddings::key(endpoint)).await;
        let mut asked = Vec::new();
        let report = self.report(endpoint, query_prefix, document_prefix, &mut asked).await;
        let learned = self.shared.dialects.of(embeddings::key(endpoint)).await;
        Tested::of(report, learned.unwrap_or_default(), &asked)
    }

    async fn report(
        &self,
        endpoint: &Endpoint,
        query_prefix: &str,
        document_prefix: &str,
        asked: &mut Vec<Url>,
    ) -> Result<EmbeddingReport, ProviderError> {
        let began = Instant::now();
        let left = || TEST_TIMEOUT.saturating_sub(began.elapsed());
        let texts = report::texts(query_prefix, document_prefix);
        let document = Purpose::Document;
        let together = self.embed_as(document, endpoint, &texts, left(), asked).await?;
        let latency = began.elapsed();
        let mut apart = Vec::with_capacity(texts.len());
        for text in &texts {
            let alone = std::slice::from_ref(text);
            let alone = self.embed_as(document, endpoint, alone, left(), asked).await?;
            apart.extend(alone.vectors);
        }
        let model = models::found(&self.shared.http, endpoint);
        let model = tokio::time::timeout(left(), model).await;
        Ok(report::compare(&together, &apart, endpoint.dimensions, latency, model.ok().flatten()))
    }
}
