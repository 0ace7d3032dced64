//! The addresses of an API's operations below the address that a person gave: `/v1` is added only to an empty
//! path. Where nothing is served there, the other way to complete it is tried, on the same host.

use url::Url;

use super::endpoint::EndpointUrl;

pub(super) const EMBEDDINGS: &str = "embeddings";
pub(super) const CHAT: &str = "chat/completions";
pub(super) const MESSAGES: &str = "messages";
pub(super) const MODELS: &str = "models";

/// The addresses of `operation`, the likelier one first. An address that names the operation is used unchanged.
pub(super) fn of_operation(url: &EndpointUrl, operation: &str) -> Vec<Url> {
    let path = url.path();
    if path.strip_suffix(operation).is_some_and(|before| before.ends_with('/')) {
        return vec![url.with_path(path)];
    }
    let base = base(path);
    let (first, other) = match base.strip_suffix("/v1") {
        Some(before) => (base.to_owned(), before.to_owned()),
        None if base.is_empty() => ("/v1".to_owned(), String::new()),
        None => (base.to_owned(), format!("{base}/v1")),
    };
    [first, other].map(|base| url.with_path(&format!("{base}/{operation}"))).into()
}

/// The path without the operation that it may name.
pub(super) fn base(path: &str) -> &str {
    let named = [EMBEDDINGS, CHAT, MESSAGES, MODELS, "responses"];
    let before = named.iter().find_map(|name| path.strip_suffix(name)?.strip_suffix('/'));
    before.unwrap_or(path)
}

/// Accepts a base address, one that ends in `/api` or `/v1`, and one that names an operation.
pub(super) fn of_ollama(url: &EndpointUrl, operation: &str) -> Url {
    let mut base = base(url.path());
    for end in ["/embed", "/chat", "/api", "/v1"] {
        base = base.strip_suffix(end).unwrap_or(base);
    }
    url.with_path(&format!("{base}/api/{operation}"))
}

/// As a page shows it: without its query, which may hold a key.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_path_is_completed_and_the_other_form_is_known() {
        for (given, first, other) in [
            ("http://a:1", "http://a:1/v1/embeddings", "http://a:1/embeddings"),
            ("http://a:1/", "http://a:1/v1/embeddings", "http://a:1/embeddings"),
            ("http://a/v1/", "http://a/v1/embeddings", "http://a/embeddings"),
            ("http://a/x", "http://a/x/embeddings", "http://a/x/v1/embeddings"),
            (
                "http://a/v1beta/openai",
                "http://a/v1beta/openai/embeddings",
                "http://a/v1beta/openai/v1/embeddings",
            ),
            ("http://a/api/paas/v4", "http://a/api/paas/v4/embeddings", ""),
            ("http://a/api/v3", "http://a/api/v3/embeddings", ""),
            ("http://a/v2", "http://a/v2/embeddings", ""),
            (
                "http://a/openai/deployments/D?api-version=7",
                "http://a/openai/deployments/D/embeddings?api-version=7",
                "",
            ),
            ("http://a/v1/chat/completions", "http://a/v1/embeddings", "http://a/embeddings"),
        ] {
            let url = EndpointUrl::parse("url", given).expect("a url");
            let found: Vec<String> =
                of_operation(&url, EMBEDDINGS).into_iter().map(String::from).collect();
            assert_eq!(found.len(), 2, "{given}");
            assert_eq!(found[0], first, "{given}");
            assert!(other.is_empty() || found[1] == other, "{given}");
        }
        for whole in ["http://a/x/embeddings?k=1", "http://a/embeddings"] {
            let url = EndpointUrl::parse("url", whole).expect("a url");
            let found = of_operation(&url, EMBEDDINGS);
            assert_eq!((found.len(), found[0].as_str()), (1, whole));
            assert!(!shown(&found[0]).contains("k=1"));
        }
    }
}
