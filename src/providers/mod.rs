//! What turns text into vectors, and what answers in words: one client per wire
//! format, the model in our own process, and the policy of what may be called. It
//! never writes a text, a key or an answer to a log or an error.

pub mod builtin;
pub mod chat;
mod check;
mod client;
mod custom;
mod endpoint;
mod error;
mod models;
mod ollama;
mod openai;
mod policy;
pub mod presets;
mod report;
mod retry_after;
pub mod settings;
mod wire;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use endpoint::{Endpoint, EndpointUrl, MAX_URL_CHARS, ProviderType, SecretKey};
pub use error::{BuiltinFlaw, NotChat, NotEmbeddings, ProviderError, Unreachable, WrongVector};
pub use policy::{NameLookup, Reach, SystemNames};
pub use report::TestReport;
pub use retry_after::parse as parse_retry_after;

use tracing::Instrument;

use crate::clock::SharedClock;
use crate::metrics;
use client::Http;
use custom::KnownForms;

/// Vectors wider than this are refused; they are kept this wide.
pub const MAX_DIMENSIONS: usize = 1_024;

/// A connection comes about within this, or the endpoint counts as unreachable.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// *Test* has this long for all its calls.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The vectors of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// In the order of the texts, each of the provider's own width and finite.
    pub vectors: Vec<Vec<f32>>,
    /// Of the builtin model: of each text the vectors of its tokens, one after another; otherwise empty.
    pub tokens: Vec<Vec<f32>>,
    /// Whether only the beginning of a text went into its vector, as far as is known.
    pub truncated: Vec<bool>,
}

/// What any endpoint's answer is read as, whatever it is; sends nothing.
pub fn read_answer(
    status: u16,
    body: Vec<u8>,
    asked_dimensions: bool,
) -> Result<Vec<Vec<f32>>, ProviderError> {
    let answer = client::Answer {
        status,
        retry_after: None,
        is_html: false,
        body,
    };
    wire::vectors(&answer, asked_dimensions)
}

/// Calls any endpoint. Clones share connections and the builtin model.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<Shared>,
}

/// What a call was for, as figures name it.
const EMBEDDING: &str = "embedding";
const EVALUATION: &str = "evaluation";

/// Who wants a query's vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedFor {
    /// Somebody waits: the builtin model answers before the texts of memories.
    Search,
    /// Nobody waits: after the queries of searches.
    Job,
    /// Nor here: in its turn among the texts of memories. Counted under its own name; and what fails is no reason to leave the endpoint
    /// alone: searches notice nothing of it.
    Evaluation,
}

/// What texts are embedded for.
#[derive(Clone, Copy)]
enum Purpose {
    Query(AskedFor),
    Document,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Query(AskedFor::Evaluation) => EVALUATION,
            Self::Query(_) | Self::Document => EMBEDDING,
        }
    }
}

struct Shared {
    http: Arc<Http>,
    builtin: Option<builtin::Model>,
    forms: KnownForms,
}

impl Embedder {
    /// `builtin`: none when it is switched off. `names`: [`SystemNames`], but for tests.
    pub fn new(
        builtin: Option<builtin::Model>,
        names: Arc<dyn NameLookup>,
        clock: SharedClock,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                http: Arc::new(Http::new(&names, clock)),
                builtin,
                forms: KnownForms::default(),
            }),
        }
    }

    /// What calls chat models, on the same connections and by the same policy.
    pub fn chat_model(&self) -> chat::ChatModel {
        chat::ChatModel::new(self.shared.http.clone())
    }

    /// Whether the builtin model is allowed and its files are there. It looks
    /// each time, so that a model fetched later serves without a restart.
    pub fn has_builtin(&self) -> bool {
        let builtin = self.shared.builtin.as_ref();
        builtin.is_some_and(builtin::Model::is_present)
    }

    /// Whether it was called, and so is in memory or on its way there.
    pub fn is_builtin_loaded(&self) -> bool {
        let builtin = self.shared.builtin.as_ref();
        builtin.is_some_and(builtin::Model::is_loaded)
    }

    /// Vectors in the order of `texts`. `deadline` is for the whole call over the network; the
    /// builtin model takes its time. No texts, no call.
    pub async fn embed(
        &self,
        endpoint: &Endpoint,
        texts: &[String],
        deadline: Duration,
    ) -> Result<Embedded, ProviderError> {
        self.embed_as(Purpose::Document, endpoint, texts, deadline)
            .await
    }

    /// The same for a query. Where somebody waits, the builtin model has the deadline too.
    pub async fn embed_query(
        &self,
        asked_for: AskedFor,
        endpoint: &Endpoint,
        query: String,
        deadline: Duration,
    ) -> Result<Embedded, ProviderError> {
        self.embed_as(Purpose::Query(asked_for), endpoint, &[query], deadline)
            .await
    }

    async fn embed_as(
        &self,
        purpose: Purpose,
        endpoint: &Endpoint,
        texts: &[String],
        deadline: Duration,
    ) -> Result<Embedded, ProviderError> {
        if texts.is_empty() {
            return Ok(Embedded {
                vectors: Vec::new(),
                tokens: Vec::new(),
                truncated: Vec::new(),
            });
        }
        let provider = endpoint.provider_type.as_str();
        let began = Instant::now();
        let called = self
            .embed_within(purpose, endpoint, texts, deadline)
            .instrument(tracing::error_span!(
                "provider_call",
                provider,
                texts = texts.len()
            ))
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
    ) -> Result<Embedded, ProviderError> {
        let asking = self.ask(purpose, endpoint, texts);
        let late = match (endpoint.provider_type, purpose) {
            (ProviderType::Builtin, Purpose::Query(AskedFor::Search)) => Some(ProviderError::Busy),
            // A part of this server: it has no connection to lose, and ends what it has begun.
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
        check::vectors(&embedded.vectors, texts.len())?;
        Ok(embedded)
    }

    async fn ask(
        &self,
        purpose: Purpose,
        endpoint: &Endpoint,
        texts: &[String],
    ) -> Result<Embedded, ProviderError> {
        let http = &*self.shared.http;
        match endpoint.provider_type {
            ProviderType::Openai | ProviderType::Llamacpp => {
                openai::embed(http, endpoint, texts).await
            }
            ProviderType::Ollama => ollama::embed(http, endpoint, texts).await,
            ProviderType::CustomHttp => {
                custom::embed(http, &self.shared.forms, endpoint, texts).await
            }
            ProviderType::Builtin => match (&self.shared.builtin, purpose) {
                (Some(model), Purpose::Query(AskedFor::Search)) => model.embed_query(texts).await,
                (Some(model), Purpose::Query(AskedFor::Job)) => model.look_up(texts).await,
                (Some(model), _) => model.embed(texts).await,
                (None, _) => Err(ProviderError::BuiltinMissing(BuiltinFlaw::Off)),
            },
        }
    }

    /// Embeds three short texts of our own, together and apart, and says what
    /// the endpoint is like (DESIGN §5). Takes at most [`TEST_TIMEOUT`].
    pub async fn test(
        &self,
        endpoint: &Endpoint,
        query_prefix: &str,
        document_prefix: &str,
    ) -> Result<TestReport, ProviderError> {
        let began = Instant::now();
        let left = || TEST_TIMEOUT.saturating_sub(began.elapsed());
        let texts = report::texts(query_prefix, document_prefix);
        let together = self.embed(endpoint, &texts, left()).await?;
        let latency = began.elapsed();
        let mut apart = Vec::with_capacity(texts.len());
        for text in &texts {
            let alone = self.embed(endpoint, std::slice::from_ref(text), left());
            apart.extend(alone.await?.vectors);
        }
        let model = models::found(&self.shared.http, endpoint);
        let model = tokio::time::timeout(left(), model).await;
        Ok(report::compare(
            &together,
            &apart,
            endpoint.dimensions,
            latency,
            model.ok().flatten(),
        ))
    }
}
