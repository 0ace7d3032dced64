//! OpenAI's `/v1/embeddings`, which llama.cpp, vLLM, LM Studio and TEI also implement. llama.cpp silently
//! ignores `dimensions`, and reports a text that is too long with status 500; [`super::wire`] handles that.

use serde::Serialize;
use url::Url;

use super::Embedded;
use super::client::{Http, Target};
use super::dialect::Dialect;
use super::endpoint::Endpoint;
use super::wire::{self, EndpointRefusal};

#[derive(Serialize)]
struct OpenaiRequest<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding_format: Option<&'static str>,
}

pub(super) async fn embed(
    http: &Http,
    endpoint: &Endpoint,
    dialect: Dialect,
    url: Url,
    texts: &[String],
) -> Result<Embedded, EndpointRefusal> {
    let request = OpenaiRequest {
        model: &endpoint.model,
        input: texts,
        dimensions: endpoint.dimensions,
        encoding_format: (!dialect.no_encoding_format).then_some("float"),
    };
    let answer = http.post(Target::of_texts(endpoint, texts.len()), url, &request).await?;
    Ok(Embedded {
        vectors: wire::vectors(&answer, endpoint.dimensions.is_some())?,
        tokens: Vec::new(),
        truncated: vec![false; texts.len()],
    })
}
