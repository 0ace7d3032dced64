//! The embedding APIs of TEI (`/embed`) and llama.cpp (`/embedding`), which are not OpenAI's.

use serde::Serialize;
use url::Url;

use super::Embedded;
use super::client::{Http, Target};
use super::endpoint::Endpoint;
use super::error::{NotEmbeddings, ProviderError};
use super::wire::{self, EndpointRefusal};

pub(super) const TEI: &str = "embed";
pub(super) const LLAMACPP: &str = "embedding";

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
pub(super) async fn tei(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    texts: &[String],
) -> Result<Embedded, EndpointRefusal> {
    let request = |truncate| TeiRequest {
        inputs: texts,
        normalize: true,
        truncate,
        dimensions: endpoint.dimensions,
    };
    let whole = ask(http, endpoint, url.clone(), &request(false), texts.len(), false).await;
    match (whole, texts.len()) {
        (Err(EndpointRefusal { error: ProviderError::TooLong, .. }), 1) => {
            ask(http, endpoint, url, &request(true), 1, true).await
        }
        (whole, _) => whole,
    }
}

pub(super) async fn llamacpp(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    texts: &[String],
) -> Result<Embedded, EndpointRefusal> {
    ask(http, endpoint, url, &LlamacppRequest { content: texts }, texts.len(), false).await
}

async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    request: &impl Serialize,
    count: usize,
    truncated: bool,
) -> Result<Embedded, EndpointRefusal> {
    let answer = http.post(Target::of_texts(endpoint, count), url, request).await?;
    let vectors = wire::vectors(&answer, endpoint.dimensions.is_some())?;
    if vectors.len() != count {
        // Another API may work better: old servers embed only one text of many.
        let flaw = NotEmbeddings::WrongCount { sent: count, got: vectors.len() };
        return Err(ProviderError::NotEmbeddings(flaw).into());
    }
    Ok(Embedded { tokens: Vec::new(), vectors, truncated: vec![truncated; count] })
}
