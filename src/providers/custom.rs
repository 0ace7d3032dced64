//! An endpoint with an unknown API: tries OpenAI's, TEI's and llama.cpp's API in turn, and remembers the one
//! that worked. An error that every API would give (a wrong key, an unreachable host) ends the trial.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use serde::Serialize;
use url::Url;

use super::client::{Http, Target};
use super::endpoint::{Endpoint, EndpointUrl};
use super::error::{NotEmbeddings, ProviderError};
use super::{Embedded, openai, wire};

/// Maximum remembered addresses.
const MAX_KNOWN: NonZeroUsize = NonZeroUsize::new(1_000).expect("is not zero");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyForm {
    Openai,
    Tei,
    Llamacpp,
}

/// The API that worked, keyed by a hash of the address, so that an erased account leaves no address here.
pub(super) struct KnownForms {
    forms: Mutex<LruCache<u64, BodyForm>>,
    hasher: RandomState,
}

impl Default for KnownForms {
    fn default() -> Self {
        Self { forms: Mutex::new(LruCache::new(MAX_KNOWN)), hasher: RandomState::new() }
    }
}

impl KnownForms {
    fn of(&self, url: &EndpointUrl) -> Option<BodyForm> {
        self.lock().get(&self.key(url)).copied()
    }

    fn key(&self, url: &EndpointUrl) -> u64 {
        self.hasher.hash_one(url)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LruCache<u64, BodyForm>> {
        self.forms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn embed(
    http: &Http,
    forms: &KnownForms,
    endpoint: &Endpoint,
    texts: &[String],
) -> Result<Embedded, ProviderError> {
    if let Some(form) = forms.of(&endpoint.url) {
        let answer = form.embed(http, endpoint, texts).await;
        if !matches!(answer, Err(ProviderError::NotEmbeddings(_))) {
            return answer;
        }
        // Another server may run there now.
        forms.lock().pop(&forms.key(&endpoint.url));
    }
    let mut first = None;
    for form in BodyForm::by_likelihood(endpoint.url.path()) {
        match form.embed(http, endpoint, texts).await {
            Ok(embedded) => {
                forms.lock().put(forms.key(&endpoint.url), form);
                return Ok(embedded);
            }
            Err(error @ ProviderError::NotEmbeddings(_)) => {
                first.get_or_insert(error);
            }
            // Until an API has worked, the text cannot be blamed.
            Err(ProviderError::BadInput) => {
                first.get_or_insert(ProviderError::NotEmbeddings(NotEmbeddings::Shape));
            }
            Err(error) => return Err(error),
        }
    }
    Err(first.unwrap_or(ProviderError::NotEmbeddings(NotEmbeddings::Shape)))
}

impl BodyForm {
    fn by_likelihood(path: &str) -> [Self; 3] {
        if path.ends_with("/embed") {
            [Self::Tei, Self::Openai, Self::Llamacpp]
        } else if path.ends_with("/embedding") {
            [Self::Llamacpp, Self::Openai, Self::Tei]
        } else {
            [Self::Openai, Self::Tei, Self::Llamacpp]
        }
    }

    /// A path that names embeddings is used unchanged.
    fn url(self, url: &EndpointUrl) -> Url {
        let path = url.path();
        let named = ["/embed", "/embedding", "/embeddings"];
        if named.iter().any(|name| path.ends_with(name)) {
            return url.with_path(path);
        }
        let own = match self {
            Self::Openai if path.ends_with("/v1") => "/embeddings",
            Self::Openai => "/v1/embeddings",
            Self::Tei => "/embed",
            Self::Llamacpp => "/embedding",
        };
        url.with_path(&format!("{path}{own}"))
    }

    async fn embed(
        self,
        http: &Http,
        endpoint: &Endpoint,
        texts: &[String],
    ) -> Result<Embedded, ProviderError> {
        let url = self.url(&endpoint.url);
        match self {
            Self::Openai => openai::embed_at(http, endpoint, url, texts).await,
            Self::Tei => embed_tei(http, endpoint, url, texts).await,
            Self::Llamacpp => {
                let request = LlamacppRequest { content: texts };
                ask(http, endpoint, url, &request, texts.len(), false).await
            }
        }
    }
}

#[derive(Serialize)]
struct TeiRequest<'a> {
    inputs: &'a [String],
    normalize: bool,
    truncate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u16>,
}

#[derive(Serialize)]
struct LlamacppRequest<'a> {
    content: &'a [String],
}

/// As for Ollama, a single text that is too long is truncated, and reported as such.
async fn embed_tei(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    texts: &[String],
) -> Result<Embedded, ProviderError> {
    let request = |truncate| TeiRequest {
        inputs: texts,
        normalize: true,
        truncate,
        dimensions: endpoint.dimensions,
    };
    let whole = ask(http, endpoint, url.clone(), &request(false), texts.len(), false).await;
    match (whole, texts.len()) {
        (Err(ProviderError::TooLong), 1) => ask(http, endpoint, url, &request(true), 1, true).await,
        (whole, _) => whole,
    }
}

async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    request: &impl Serialize,
    count: usize,
    truncated: bool,
) -> Result<Embedded, ProviderError> {
    let answer = http.post(Target::of_texts(endpoint, count), url, request).await?;
    let vectors = wire::vectors(&answer, endpoint.dimensions.is_some())?;
    if vectors.len() != count {
        // Another API may work better: old servers embed only one text of many.
        let flaw = NotEmbeddings::WrongCount { sent: count, got: vectors.len() };
        return Err(ProviderError::NotEmbeddings(flaw));
    }
    Ok(Embedded { tokens: Vec::new(), vectors, truncated: vec![truncated; count] })
}
