//! The requests of the embedding APIs: OpenAI's `/v1/embeddings`, which llama.cpp, vLLM, LM Studio and TEI also implement,
//! Ollama's `/api/embed`, and TEI's `/embed` and llama.cpp's `/embedding`, which are not OpenAI's. llama.cpp silently ignores
//! `dimensions`, and reports a text that is too long with status 500; [`super::wire`] handles that.

use serde_json::json;
use url::Url;

use super::Embedded;
use super::client::{Http, Target};
use super::dialect::{Dialect, Served};
use super::endpoint::{Endpoint, ProviderType};
use super::error::{NotEmbeddings, ProviderError};
use super::wire::{self, EndpointRefusal};

/// The last part of the path of TEI's own API, and of llama.cpp's.
pub(super) const TEI: &str = "embed";
pub(super) const LLAMACPP: &str = "embedding";

/// Ollama truncates long texts by default, silently, so Ollama and TEI are asked not to. A single text that is too long is
/// sent again to be truncated, and reported as such.
pub(super) async fn embed(
    http: &Http,
    endpoint: &Endpoint,
    dialect: Dialect,
    url: Url,
    texts: &[String],
) -> Result<Embedded, EndpointRefusal> {
    let is_ollama = endpoint.provider_type == ProviderType::Ollama;
    let can_truncate = (is_ollama || dialect.served == Served::Tei) && texts.len() == 1;
    let whole = ask(http, endpoint, dialect, url.clone(), texts, false).await;
    match whole {
        Err(EndpointRefusal { error: ProviderError::TooLong, .. }) if can_truncate => {
            ask(http, endpoint, dialect, url, texts, true).await
        }
        whole => whole,
    }
}

async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    dialect: Dialect,
    url: Url,
    texts: &[String],
    truncate: bool,
) -> Result<Embedded, EndpointRefusal> {
    let Endpoint { provider_type, model, dimensions, .. } = endpoint;
    let mut body = match dialect.served {
        Served::Tei => json!({ "inputs": texts, "normalize": true, "truncate": truncate }),
        Served::Llamacpp => json!({ "content": texts }),
        _ if *provider_type == ProviderType::Ollama => {
            json!({ "model": model, "input": texts, "truncate": truncate })
        }
        _ => {
            let mut body = json!({ "input": texts });
            if !model.is_empty() {
                body["model"] = json!(model);
            }
            if !dialect.no_encoding_format {
                body["encoding_format"] = json!("float");
            }
            body
        }
    };
    if let Some(width) = dimensions.filter(|_| dialect.served != Served::Llamacpp) {
        body["dimensions"] = json!(width);
    }
    let answer = http.post(Target::of_texts(endpoint, texts.len()), url, &body).await?;
    let vectors = wire::vectors(&answer, dimensions.is_some())?;
    let (sent, got) = (texts.len(), vectors.len());
    if matches!(dialect.served, Served::Tei | Served::Llamacpp) && got != sent {
        // Another API may work better: old servers embed only one text of many.
        let flaw = NotEmbeddings::WrongCount { sent, got };
        return Err(ProviderError::NotEmbeddings(flaw).into());
    }
    Ok(Embedded { tokens: Vec::new(), vectors, truncated: vec![truncate; sent] })
}
