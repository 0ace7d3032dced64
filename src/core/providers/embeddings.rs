//! Asks an endpoint for vectors in the dialect that is known of it. Where nothing is served at an address, or
//! the API is unknown, the others are tried in turn, all on the same host, and the one that worked is learned.
//! An error that each would give (a wrong key, an unreachable host) ends the trial.

use url::Url;

use super::client::Http;
use super::dialect::{self, Certainty, DialectKey, DialectUse, Dialects, Served};
use super::endpoint::{Endpoint, ProviderType};
use super::error::{NotEmbeddings, ProviderError};
use super::wire::EndpointRefusal;
use super::{Embedded, address, formats};

pub(super) fn key(endpoint: &Endpoint) -> DialectKey {
    let Endpoint { provider_type, url, model, .. } = endpoint;
    dialect::key(DialectUse::Embeddings, *provider_type, url.as_str(), model)
}

/// `asked` gets each address that was asked.
pub(super) async fn embed(
    http: &Http,
    dialects: &Dialects,
    endpoint: &Endpoint,
    texts: &[String],
    asked: &mut Vec<Url>,
) -> Result<Embedded, ProviderError> {
    let key = key(endpoint);
    let known = dialects.of(key).await;
    let mut dialect = known.unwrap_or_default();
    let mut left = places(endpoint);
    // The known one first; the first of the list if it is none of them.
    let at = left.iter().position(|(served, _)| *served == dialect.served).unwrap_or_default();
    let (mut served, mut url) = left.remove(at);
    let mut first = None;
    loop {
        dialect.served = served;
        if asked.last() != Some(&url) {
            asked.push(url.clone());
        }
        let refusal = match formats::embed(http, endpoint, dialect, url.clone(), texts).await {
            Ok(embedded) => {
                dialects.learn(key, dialect, Certainty::Sure).await;
                return Ok(embedded);
            }
            Err(refusal) => refusal,
        };
        if !dialect.no_encoding_format && refuses_encoding_format(&refusal) {
            dialect.no_encoding_format = true;
            continue;
        }
        let error = match refusal.error {
            // Until an API has worked, the text cannot be blamed.
            ProviderError::BadInput if is_api_unknown(endpoint) && known.is_none() => {
                ProviderError::NotEmbeddings(NotEmbeddings::Shape)
            }
            error => error,
        };
        let may_be_elsewhere = match error {
            ProviderError::NotEmbeddings(NotEmbeddings::NothingThere | NotEmbeddings::Html) => true,
            ProviderError::NotEmbeddings(_) => is_api_unknown(endpoint),
            _ => false,
        };
        if !may_be_elsewhere {
            return Err(error);
        }
        let first = first.get_or_insert(error);
        if left.is_empty() {
            return Err(first.clone());
        }
        (served, url) = left.remove(0);
    }
}

/// Whether the API itself is unknown.
fn is_api_unknown(endpoint: &Endpoint) -> bool {
    endpoint.provider_type == ProviderType::CustomHttp
}

fn refuses_encoding_format(refusal: &EndpointRefusal) -> bool {
    refusal.may_be_of_a_parameter()
        && (refusal.says(&["encoding_format"]) || refusal.says(UNKNOWN_PARAMETER))
}

/// How servers say that they know no such parameter, without its name.
const UNKNOWN_PARAMETER: &[&str] = &[
    "extra inputs",
    "extra fields",
    "unexpected keyword",
    "unknown field",
    "unrecognized request argument",
];

/// Where the endpoint may serve embeddings, the likeliest first.
fn places(endpoint: &Endpoint) -> Vec<(Served, Url)> {
    let url = &endpoint.url;
    if endpoint.provider_type == ProviderType::Ollama {
        return vec![(Served::Usual, address::of_ollama(url, "embed"))];
    }
    let openai = address::of_operation(url, address::EMBEDDINGS).into_iter();
    let mut places: Vec<_> = [Served::Usual, Served::OtherPath].into_iter().zip(openai).collect();
    if endpoint.provider_type != ProviderType::CustomHttp {
        return places;
    }
    let path = url.path();
    let own = [(Served::Tei, formats::TEI), (Served::Llamacpp, formats::LLAMACPP)];
    let names = |name: &str| path.rsplit('/').next() == Some(name);
    let named = own.iter().any(|(_, name)| names(name)) || names(address::EMBEDDINGS);
    let base = address::base(path);
    let own = own.map(|(served, name)| {
        // A path that names embeddings is used unchanged.
        let at = if named { path.to_owned() } else { format!("{base}/{name}") };
        (served, url.with_path(&at))
    });
    if named {
        places = vec![(Served::Usual, url.with_path(path))];
    }
    places.extend(own);
    // What the path names comes first.
    places.sort_by_key(|(served, _)| match served {
        Served::Tei => !names(formats::TEI),
        Served::Llamacpp => !names(formats::LLAMACPP),
        Served::Usual | Served::OtherPath => true,
    });
    places
}
