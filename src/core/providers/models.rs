//! The model that an endpoint says it serves. It is shown after a test, and nothing else uses it; an endpoint
//! that does not say is not an error.

use serde_json::Value;
use url::Url;

use super::address;
use super::client::{Http, Target};
use super::endpoint::{Endpoint, ProviderType};

/// Longer names are not shown.
const MAX_NAME_CHARS: usize = 200;

pub(super) async fn found(http: &Http, endpoint: &Endpoint) -> Option<String> {
    let name = match endpoint.provider_type {
        ProviderType::Builtin => Some(endpoint.model.clone()),
        ProviderType::Ollama => {
            let url = address::of_ollama(&endpoint.url, "tags");
            let tags = get(http, endpoint, url).await?;
            chosen(&tags["models"], "name", &endpoint.model)
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
    let listed = get(http, endpoint, url).await?;
    chosen(&listed["data"], "id", &endpoint.model)
}

async fn tei(http: &Http, endpoint: &Endpoint) -> Option<String> {
    let url = endpoint.url.with_path("/info");
    let info = get(http, endpoint, url).await?;
    info["model_id"].as_str().map(str::to_owned)
}

/// The requested model of the list, or the only one.
fn chosen(list: &Value, name: &str, asked: &str) -> Option<String> {
    let names = list.as_array()?.iter().map(|model| model[name].as_str());
    let names: Vec<&str> = names.collect::<Option<_>>()?;
    let is_asked = |name: &&&str| **name == asked || name.strip_suffix(":latest") == Some(asked);
    let found = match names.as_slice() {
        [only] => Some(only),
        many => many.iter().find(is_asked),
    };
    found.map(|name| (*name).to_owned())
}

async fn get(http: &Http, endpoint: &Endpoint, url: Url) -> Option<Value> {
    let answer = http.get(Target::of_list(endpoint), url).await.ok()?;
    serde_json::from_slice((answer.status == 200).then_some(&answer.body)?).ok()
}
