//! Ollama's `/api/embed`. By default it silently truncates long texts, so it is asked not to; a single text
//! that is too long is sent again to be truncated, and reported as such.

use serde::Serialize;
use url::Url;

use super::client::{Http, Target};
use super::endpoint::{Endpoint, EndpointUrl};
use super::error::ProviderError;
use super::wire::{self, EndpointRefusal};
use super::{Embedded, address};

#[derive(Serialize)]
struct OllamaRequest<'a> {
    model: &'a str,
    input: &'a [String],
    truncate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u16>,
}

pub(super) async fn embed(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    texts: &[String],
) -> Result<Embedded, EndpointRefusal> {
    let whole = ask(http, endpoint, url.clone(), texts, false).await;
    match (whole, texts.len()) {
        (Err(EndpointRefusal { error: ProviderError::TooLong, .. }), 1) => {
            ask(http, endpoint, url, texts, true).await
        }
        (whole, _) => whole,
    }
}

async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    texts: &[String],
    truncate: bool,
) -> Result<Embedded, EndpointRefusal> {
    let request = OllamaRequest {
        model: &endpoint.model,
        input: texts,
        truncate,
        dimensions: endpoint.dimensions,
    };
    let answer = http.post(Target::of_texts(endpoint, texts.len()), url, &request).await?;
    Ok(Embedded {
        vectors: wire::vectors(&answer, endpoint.dimensions.is_some())?,
        tokens: Vec::new(),
        truncated: vec![truncate; texts.len()],
    })
}

pub(super) fn embed_url(url: &EndpointUrl) -> Url {
    api_url(url, "embed")
}

/// The address of the list of models.
pub(super) fn tags_url(url: &EndpointUrl) -> Url {
    api_url(url, "tags")
}

pub(super) fn chat_url(url: &EndpointUrl) -> Url {
    api_url(url, "chat")
}

/// Accepts a base address, one that ends in `/api` or `/v1`, and one that names an operation.
fn api_url(url: &EndpointUrl, name: &str) -> Url {
    let mut base = address::base(url.path());
    for end in ["/embed", "/chat", "/api", "/v1"] {
        base = base.strip_suffix(end).unwrap_or(base);
    }
    url.with_path(&format!("{base}/api/{name}"))
}
