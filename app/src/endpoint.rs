//! The endpoints of embeddings and chat, as their forms start. A key is never among it: only that there is one.

use crate::providers::presets::preset_of;
use crate::providers::settings::{EndpointKind, EndpointSettings, Pace, SpaceSettings};
use crate::providers::vendors::offering;
use crate::providers::{EndpointUrl, ProviderType};

/// A saved endpoint, as its form starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointView {
    /// By the names of the form's fields; the key has none here.
    pub values: Vec<(&'static str, String)>,
    pub has_key: bool,
    /// The form starts with the host of the chat model; nothing is saved.
    pub is_from_chat: bool,
    /// Providers to start from, slug and name.
    pub vendors: Vec<(&'static str, &'static str)>,
}

impl EndpointView {
    pub fn has(&self, field: &str) -> bool {
        self.values.iter().any(|(name, _)| *name == field)
    }
}

fn endpoint_view(settings: &EndpointSettings, kind: EndpointKind) -> EndpointView {
    EndpointView {
        vendors: offering(kind).map(|vendor| (vendor.slug, vendor.name)).collect(),
        values: vec![
            ("provider_type", settings.provider_type.as_str().to_owned()),
            ("url", settings.url.clone()),
            ("model", settings.model.clone()),
            ("key_header", settings.key_header.clone()),
        ],
        has_key: settings.sealed_key.is_some(),
        is_from_chat: false,
    }
}

pub fn chat_endpoint_view(settings: &EndpointSettings) -> EndpointView {
    let mut view = endpoint_view(settings, EndpointKind::Chat);
    let value = if settings.is_thinking_off { "1" } else { "" };
    view.values.push(("thinking_off", value.to_owned()));
    view
}

/// A user's own endpoint, with the switch that uses it.
pub fn own(mut view: EndpointView, is_enabled: bool) -> EndpointView {
    let value = if is_enabled { "1" } else { "" };
    view.values.push(("own_enabled", value.to_owned()));
    view
}

pub fn embedding_endpoint_view(
    settings: &SpaceSettings,
    pace: Pace,
    kind: EndpointKind,
) -> EndpointView {
    let (query, document) = (&settings.query_prefix, &settings.document_prefix);
    let preset = preset_of(&settings.endpoint.model, query, document);
    let typed = |prefix: &str| preset.map_or(prefix.to_owned(), |_| String::new());
    let number = |n: i32| n.to_string();
    let mut view = endpoint_view(&settings.endpoint, kind);
    view.values.extend([
        ("dimensions", settings.dimensions.map_or(String::new(), number)),
        ("preset", preset.unwrap_or_default().to_owned()),
        ("query_prefix", typed(query)),
        ("document_prefix", typed(document)),
        ("batch_size", number(pace.batch_size)),
        ("concurrency", number(pace.concurrency)),
        ("pause_ms", number(pace.pause_ms)),
    ]);
    view
}

/// The API of a chat endpoint's host for embeddings, and its base address.
pub fn embeddings_beside(chat: &EndpointSettings) -> Option<EndpointSettings> {
    let url = chat.url.trim_end_matches('/');
    let url = url.strip_suffix("/chat/completions").unwrap_or(url);
    let url = url.strip_suffix("/api/chat").unwrap_or(url);
    let may_embed = !url.is_empty() && chat.provider_type != ProviderType::Anthropic;
    may_embed.then(|| EndpointSettings {
        provider_type: match chat.provider_type {
            ProviderType::Ollama => ProviderType::Ollama,
            _ => ProviderType::Openai,
        },
        url: url.to_owned(),
        key_header: chat.key_header.clone(),
        ..EndpointSettings::default()
    })
}

/// What a page says of an own endpoint that a restore has paused.
pub fn paused_reason(own: &EndpointSettings, what: &str) -> Option<String> {
    let host = host_port(&own.url);
    (!host.is_empty()).then(|| {
        format!(
            "A backup was restored, and you may have removed your endpoint {host} since it was made: nothing is sent there until you switch {what} on again."
        )
    })
}

pub fn model_name(settings: &EndpointSettings) -> String {
    match settings.model.as_str() {
        "" => "the endpoint's default".to_owned(),
        model => model.to_owned(),
    }
}

/// Empty without a URL.
pub fn host_port(url: &str) -> String {
    EndpointUrl::parse("url", url)
        .map_or(String::new(), |url| format!("{}:{}", url.host(), url.port()))
}
