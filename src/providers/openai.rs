//! OpenAI's `/v1/embeddings`, which llama.cpp, vLLM, LM Studio and TEI also implement. llama.cpp silently
//! ignores `dimensions`, and reports a text that is too long with status 500; [`super::wire`] handles that.

use serde::Serialize;
use url::Url;

use super::client::{Http, Target};
use super::endpoint::{Endpoint, EndpointUrl};
use super::error::ProviderError;
use super::{Embedded, wire};

#[derive(Serialize)]
struct OpenaiRequest<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u16>,
    encoding_format: &'static str,
}

pub(super) async fn embed(
    http: &Http,
    endpoint: &Endpoint,
    texts: &[String],
) -> Result<Embedded, ProviderError> {
    embed_at(http, endpoint, embeddings_url(&endpoint.url), texts).await
}

pub(super) async fn embed_at(
    http: &Http,
    endpoint: &Endpoint,
    url: Url,
    texts: &[String],
) -> Result<Embedded, ProviderError> {
    let request = OpenaiRequest {
        model: &endpoint.model,
        input: texts,
        dimensions: endpoint.dimensions,
        encoding_format: "float",
    };
    let answer = http.post(Target::of_texts(endpoint, texts.len()), url, &request).await?;
    Ok(Embedded {
        vectors: wire::vectors(&answer, endpoint.dimensions.is_some())?,
        tokens: Vec::new(),
        truncated: vec![false; texts.len()],
    })
}

/// `…/embeddings` unchanged, `…/v1` with `/embeddings`, anything else with `/v1/embeddings`.
fn embeddings_url(url: &EndpointUrl) -> Url {
    let path = url.path();
    if path.ends_with("/embeddings") {
        url.with_path(path)
    } else {
        url.with_path(&format!("{}/embeddings", base_path(path)))
    }
}

/// The address of the list of models, beside the embeddings.
pub(super) fn models_url(url: &EndpointUrl) -> Url {
    let path = url.path();
    let base = path.strip_suffix("/embeddings");
    let base = base.map_or_else(|| base_path(path), str::to_owned);
    url.with_path(&format!("{base}/models"))
}

pub(super) fn base_path(path: &str) -> String {
    if path.ends_with("/v1") { path.to_owned() } else { format!("{path}/v1") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_completed_only_where_it_must_be() {
        let both = |text| {
            let url = EndpointUrl::parse("url", text).expect("a url");
            (embeddings_url(&url).to_string(), models_url(&url).to_string())
        };
        for (given, embeddings, models) in [
            ("http://a:1", "http://a:1/v1/embeddings", "http://a:1/v1/models"),
            ("http://a:1/", "http://a:1/v1/embeddings", "http://a:1/v1/models"),
            ("http://a/v1/", "http://a/v1/embeddings", "http://a/v1/models"),
            ("http://a/x", "http://a/x/v1/embeddings", "http://a/x/v1/models"),
            ("http://a/x/embeddings?k=1", "http://a/x/embeddings?k=1", "http://a/x/models?k=1"),
        ] {
            assert_eq!(both(given), (embeddings.to_owned(), models.to_owned()));
        }
    }
}
