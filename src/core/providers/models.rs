//! The model that an endpoint says it serves. It is shown after a test, and nothing else uses it; an endpoint
//! that does not say is not an error.

use serde::Deserialize;

use super::client::{Http, HttpAnswer, Target};
use super::endpoint::{Endpoint, ProviderType};
use super::{address, ollama};

/// Longer names are not shown.
const MAX_NAME_CHARS: usize = 200;

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

#[derive(Deserialize)]
struct TeiInfo {
    model_id: String,
}

#[derive(Deserialize)]
struct OllamaTags {
    models: Vec<OllamaModel>,
}

#[derive(Deserialize)]
struct OllamaModel {
    name: String,
}

pub(super) async fn found(http: &Http, endpoint: &Endpoint) -> Option<String> {
    let name = match endpoint.provider_type {
        ProviderType::Builtin => Some(endpoint.model.clone()),
        ProviderType::Ollama => {
            let url = ollama::tags_url(&endpoint.url);
            let tags: OllamaTags = parse(&http.get(Target::of_list(endpoint), url).await.ok()?)?;
            let names = tags.models.into_iter().map(|model| model.name);
            chosen(names.collect(), &endpoint.model)
        }
        ProviderType::Openai | ProviderType::Llamacpp | ProviderType::Anthropic => {
            listed(http, endpoint).await
        }
        ProviderType::CustomHttp => match tei(http, endpoint).await {
            None => listed(http, endpoint).await,
            name => name,
        },
    };
    name.and_then(|name| fit_to_show(&name))
}

/// A name from an endpoint, safe to show.
pub(super) fn fit_to_show(name: &str) -> Option<String> {
    let name = without_folders(name);
    let is_fit = !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS;
    is_fit.then_some(name)
}

/// llama.cpp returns the path of the model file, whose folders are private.
fn without_folders(name: &str) -> String {
    let is_path = name.starts_with('/') || name.contains('\\') || name.ends_with(".gguf");
    let file = name.rsplit(['/', '\\']).next().filter(|_| is_path);
    file.unwrap_or(name).to_owned()
}

async fn listed(http: &Http, endpoint: &Endpoint) -> Option<String> {
    let url = address::of_operation(&endpoint.url, address::MODELS).swap_remove(0);
    let listed: ModelList = parse(&http.get(Target::of_list(endpoint), url).await.ok()?)?;
    let names = listed.data.into_iter().map(|model| model.id);
    chosen(names.collect(), &endpoint.model)
}

async fn tei(http: &Http, endpoint: &Endpoint) -> Option<String> {
    let url = endpoint.url.with_path("/info");
    let info: TeiInfo = parse(&http.get(Target::of_list(endpoint), url).await.ok()?)?;
    Some(info.model_id)
}

/// The requested model, or the only one.
fn chosen(names: Vec<String>, asked: &str) -> Option<String> {
    let is_asked = |name: &&String| *name == asked || name.strip_suffix(":latest") == Some(asked);
    match names.as_slice() {
        [only] => Some(only.clone()),
        many => many.iter().find(is_asked).cloned(),
    }
}

fn parse<T: for<'de> Deserialize<'de>>(answer: &HttpAnswer) -> Option<T> {
    let body = (answer.status == 200).then_some(&answer.body)?;
    serde_json::from_slice(body).ok()
}
