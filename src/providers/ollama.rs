//! Ollama's `/api/embed`. By default it silently truncates long texts, so it is asked not to; a single text
//! that is too long is sent again to be truncated, and reported as such.

use serde::Serialize;
use url::Url;

use super::client::{Http, Target};
use super::endpoint::{Endpoint, EndpointUrl};
use super::error::ProviderError;
use super::{Embedded, wire};

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
    texts: &[String],
) -> Result<Embedded, ProviderError> {
    let whole = ask(http, endpoint, texts, false).await;
    match (whole, texts.len()) {
        (Err(ProviderError::TooLong), 1) => ask(http, endpoint, texts, true).await,
        (whole, _) => whole,
    }
}

async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    texts: &[String],
    truncate: bool,
) -> Result<Embedded, ProviderError> {
    let request = OllamaRequest {
        model: &endpoint.model,
        input: texts,
        truncate,
        dimensions: endpoint.dimensions,
    };
    let answer = http
        .post(Target::of_texts(endpoint, texts.len()), embed_url(&endpoint.url), &request)
        .await?;
    Ok(Embedded {
        vectors: wire::vectors(&answer, endpoint.dimensions.is_some())?,
        tokens: Vec::new(),
        truncated: vec![truncate; texts.len()],
    })
}

fn embed_url(url: &EndpointUrl) -> Url {
    api_url(url, "embed")
}

/// The address of the list of models.
pub(super) fn tags_url(url: &EndpointUrl) -> Url {
    api_url(url, "tags")
}

/// Accepts a base address, one that ends in `/api`, or one that ends in `/api/embed`.
fn api_url(url: &EndpointUrl, name: &str) -> Url {
    let path = url.path();
    let base = path.strip_suffix("/embed").unwrap_or(path);
    let base = base.strip_suffix("/api").unwrap_or(base);
    url.with_path(&format!("{base}/api/{name}"))
}
