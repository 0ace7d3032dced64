//! Endpoints of embeddings and chat, as pages show them. No key comes in here, and none goes out.

use crate::view::{EffectiveProvider, EndpointView, PresetView};

use crate::providers::presets::{PRESETS, preset_of};
use crate::providers::settings::{EndpointKind, EndpointSettings, Pace, SpaceSettings};
use crate::providers::vendors::offering;
use crate::providers::{EndpointUrl, ProviderType};

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
        ..EndpointView::default()
    }
}

pub(crate) fn chat_endpoint_view(settings: &EndpointSettings) -> EndpointView {
    let mut view = endpoint_view(settings, EndpointKind::Chat);
    let value = if settings.is_thinking_off { "1" } else { "" };
    view.values.push(("thinking_off", value.to_owned()));
    view
}

/// A user's own endpoint, with the switch that uses it.
pub(crate) fn own(mut view: EndpointView, is_enabled: bool) -> EndpointView {
    let value = if is_enabled { "1" } else { "" };
    view.values.push(("own_enabled", value.to_owned()));
    view
}

pub(crate) fn embedding_endpoint_view(
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
    let presets = PRESETS.iter().map(|preset| PresetView {
        slug: preset.slug,
        name: preset.name,
        query_prefix: preset.prefixes().query,
        document_prefix: preset.prefixes().document,
    });
    EndpointView { presets: presets.collect(), ..view }
}

/// The API of a chat endpoint's host for embeddings, and its base address.
pub(crate) fn embeddings_beside(chat: &EndpointSettings) -> Option<EndpointSettings> {
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
pub(crate) fn paused_reason(own: &EndpointSettings, what: &str) -> Option<String> {
    let host = host_port(&own.url);
    (!host.is_empty()).then(|| {
        format!(
            "A backup was restored, and you may have removed your endpoint {host} since it was made: nothing is sent there until you switch {what} on again."
        )
    })
}

/// `settings`: of the endpoint that serves, if any.
pub(crate) fn effective_view(
    (name, reason): (&str, &str),
    settings: Option<&EndpointSettings>,
) -> EffectiveProvider {
    EffectiveProvider {
        name: name.to_owned(),
        reason: reason.to_owned(),
        model: settings.map(model_name),
        endpoint: settings.map(|settings| host_port(&settings.url)).filter(|host| !host.is_empty()),
        dimensions: None,
        learned: String::new(),
    }
}

pub(crate) fn model_name(settings: &EndpointSettings) -> String {
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
