//! Parses the endpoint forms: all limits are here, and an invalid value gets one sentence beside its field.

use std::ops::RangeInclusive;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{EndpointSettings, Pace, SpaceSettings, staged};
use crate::input::{Invalid, check_text, number};
use crate::providers::presets::{PRESETS, Prefixes, prefixes_of};
use crate::providers::{ApiKey, Endpoint, EndpointUrl, MAX_DIMENSIONS, ProviderType, Reach};
use crate::seal::{SealError, Sealer, SecretOwner};

const MODEL_CHARS_MAX: usize = 200;
const PREFIX_CHARS_MAX: usize = 500;
const KEY_CHARS_MAX: usize = 4_000;
const KEY_HEADER_CHARS_MAX: usize = 64;
const DIMENSIONS_MAX: i32 = MAX_DIMENSIONS as i32;

/// The fields of an endpoint form, as posted; chat has the first nine. It holds a key, so it has no `Debug`.
#[derive(Clone, Copy, Default)]
pub struct EndpointForm<'a> {
    /// Use the user's own endpoint.
    pub own_enabled: bool,
    pub provider_type: &'a str,
    pub url: &'a str,
    pub model: &'a str,
    pub key: &'a str,
    pub clear_key: bool,
    /// See [`Endpoint::key_header`].
    pub key_header: &'a str,
    /// Of chat alone.
    pub is_thinking_off: bool,
    /// The key that was typed before a confirmation, sealed ([`ParsedEndpoint::stage`]).
    pub staged: &'a str,
    pub dimensions: &'a str,
    /// One of [`PRESETS`]; empty: by the model's name.
    pub preset: &'a str,
    pub query_prefix: &'a str,
    pub document_prefix: &'a str,
    pub batch_size: &'a str,
    pub concurrency: &'a str,
    pub pause_ms: &'a str,
}

impl EndpointForm<'_> {
    /// False if the own endpoint is neither used nor filled in: the form changes only the switch.
    pub fn has_endpoint(&self) -> bool {
        self.own_enabled || !self.url.trim().is_empty()
    }
}

/// Which endpoint a form sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointKind {
    OwnEmbeddings,
    SystemEmbeddings,
    Chat,
}

impl EndpointKind {
    fn parse_type(self, text: &str) -> Result<ProviderType, Invalid> {
        let known = match self {
            Self::SystemEmbeddings => return Ok(ProviderType::Llamacpp),
            Self::OwnEmbeddings => {
                &[ProviderType::Ollama, ProviderType::Openai, ProviderType::CustomHttp][..]
            }
            Self::Chat => &[
                ProviderType::Openai,
                ProviderType::Ollama,
                ProviderType::Llamacpp,
                ProviderType::Anthropic,
            ],
        };
        let found = known.iter().copied().find(|known| known.as_str() == text);
        found.ok_or_else(|| {
            let known: Vec<&str> = known.iter().map(|known| known.as_str()).collect();
            let known = known.join(", ");
            let sentence = format!("`provider_type` is not known; give one of {known}.");
            Invalid::new("provider_type", "invalid_provider_type", sentence)
        })
    }

    fn example(self) -> &'static str {
        match self {
            Self::OwnEmbeddings | Self::SystemEmbeddings => "nomic-embed-text",
            Self::Chat => "llama3.2",
        }
    }
}

/// The endpoint of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedEndpoint {
    pub url: EndpointUrl,
    /// With the stored key, unless a key was typed or the stored one is to be deleted.
    settings: EndpointSettings,
    typed_key: Option<ApiKey>,
}

impl ParsedEndpoint {
    /// `kept` is the stored endpoint: its key is kept only for the same scheme, host and port.
    pub fn parse(
        form: &EndpointForm<'_>,
        kind: EndpointKind,
        kept: &EndpointSettings,
    ) -> Result<Self, Invalid> {
        let provider_type = kind.parse_type(form.provider_type)?;
        let url = EndpointUrl::parse("url", form.url)?;
        check_text("model", form.model, MODEL_CHARS_MAX)?;
        let model = form.model.trim();
        let needs_model = matches!(
            provider_type,
            ProviderType::Ollama | ProviderType::Openai | ProviderType::Anthropic
        );
        if model.is_empty() && needs_model {
            let example = kind.example();
            return Err(Invalid::new(
                "model",
                "required",
                format!("`model` is empty; give the name the endpoint knows, such as {example}."),
            ));
        }
        let typed_key = parse_key(form.key)?;
        let sealed_key = kept.sealed_key.clone();
        let sealed_key = sealed_key.filter(|_| typed_key.is_none() && !form.clear_key);
        let is_of_host =
            EndpointUrl::parse("url", &kept.url).is_ok_and(|kept| kept.is_beside(&url));
        if sealed_key.is_some() && !is_of_host {
            return Err(Invalid::new(
                "key",
                "key_again",
                "`key` must be given again when the URL changes its host, so that it reaches nobody else; or choose to send none.",
            ));
        }
        Ok(Self {
            settings: EndpointSettings {
                provider_type,
                url: url.as_str().to_owned(),
                model: model.to_owned(),
                sealed_key,
                key_header: parse_key_header(form.key_header)?,
                is_thinking_off: form.is_thinking_off && kind == EndpointKind::Chat,
            },
            url,
            typed_key,
        })
    }

    /// The settings to store.
    pub fn seal(self, sealer: &Sealer, bound: SecretOwner) -> Result<EndpointSettings, SealError> {
        let mut settings = self.settings;
        if let Some(key) = &self.typed_key {
            settings.sealed_key = Some(sealer.seal(bound, key.expose())?);
        }
        Ok(settings)
    }

    /// The endpoint to be called for a test. Nothing is stored.
    pub fn open(
        self,
        sealer: &Sealer,
        bound: SecretOwner,
        reach: Reach,
    ) -> Result<Endpoint, SealError> {
        let mut endpoint = self.settings.open(sealer, bound, self.url, reach)?;
        endpoint.key = self.typed_key.or(endpoint.key);
        Ok(endpoint)
    }

    /// The typed key, sealed to be sent back with a confirmation; empty if none was typed.
    pub fn stage(&self, sealer: &Sealer, bound: SecretOwner) -> Result<String, SealError> {
        Ok(match &self.typed_key {
            Some(key) => URL_SAFE_NO_PAD.encode(sealer.seal(staged(bound), key.expose())?),
            None => String::new(),
        })
    }
}

/// The form's key, or the one that was typed before the confirmation.
pub fn typed_key(
    form: &EndpointForm<'_>,
    sealer: &Sealer,
    bound: SecretOwner,
) -> Result<String, SealError> {
    if form.staged.is_empty() || !form.key.is_empty() {
        return Ok(form.key.to_owned());
    }
    let sealed = URL_SAFE_NO_PAD.decode(form.staged);
    sealer.open(staged(bound), &sealed.map_err(|_| SealError::Damaged)?)
}

/// `None`: none was typed.
fn parse_key(text: &str) -> Result<Option<ApiKey>, Invalid> {
    check_text("key", text, KEY_CHARS_MAX)?;
    let key = text.trim();
    // The characters that a header allows.
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Invalid::new(
            "key",
            "invalid_key",
            "`key` has a space or a character that no key has; paste it again.",
        ));
    }
    Ok((!key.is_empty()).then(|| ApiKey::new(key)))
}

/// Headers that the client sets, or that would change who asks.
const NO_KEY_HEADERS: [&str; 14] = [
    "host",
    "connection",
    "cookie",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "user-agent",
    "forwarded",
    "keep-alive",
    "origin",
    "referer",
    "accept",
    "anthropic-version",
];
const NO_KEY_PREFIXES: [&str; 6] =
    ["accept-", "content-", "proxy-", "sec-", "transfer-", "x-forwarded-"];

/// In lower case; empty: `Authorization: Bearer`.
fn parse_key_header(text: &str) -> Result<String, Invalid> {
    let name = text.trim().to_ascii_lowercase();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let is_taken = NO_KEY_HEADERS.contains(&name.as_str())
        || NO_KEY_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    match name.as_str() {
        "authorization" => Ok(String::new()),
        _ if is_name && !is_taken && name.len() <= KEY_HEADER_CHARS_MAX => Ok(name),
        _ => Err(Invalid::new(
            "key_header",
            "invalid_key_header",
            "`key_header` is no header that carries a key; give one such as api-key or x-api-key, or leave it empty for Authorization: Bearer.",
        )),
    }
}

/// The parsed form of an embedding endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedEmbedding {
    pub endpoint: ParsedEndpoint,
    pub pace: Pace,
    pub query_prefix: String,
    pub document_prefix: String,
    dimensions: Option<i32>,
}

impl ParsedEmbedding {
    /// See [`ParsedEndpoint::parse`].
    pub fn parse(
        form: &EndpointForm<'_>,
        kind: EndpointKind,
        kept: &EndpointSettings,
    ) -> Result<Self, Invalid> {
        let endpoint = ParsedEndpoint::parse(form, kind, kept)?;
        let (query_prefix, document_prefix) = prefixes(&endpoint.settings.model, form)?;
        Ok(Self {
            endpoint,
            pace: Pace {
                batch_size: number_or(32, "batch_size", form.batch_size, 1..=256)?,
                concurrency: number_or(1, "concurrency", form.concurrency, 1..=8)?,
                pause_ms: number_or(0, "pause_ms", form.pause_ms, 0..=60_000)?,
            },
            query_prefix,
            document_prefix,
            dimensions: dimensions(form.dimensions)?,
        })
    }

    /// See [`ParsedEndpoint::seal`].
    pub fn seal(self, sealer: &Sealer, bound: SecretOwner) -> Result<SpaceSettings, SealError> {
        Ok(SpaceSettings {
            endpoint: self.endpoint.seal(sealer, bound)?,
            dimensions: self.dimensions,
            query_prefix: self.query_prefix,
            document_prefix: self.document_prefix,
            system_provider_id: None,
        })
    }

    /// See [`ParsedEndpoint::open`].
    pub fn open(
        self,
        sealer: &Sealer,
        bound: SecretOwner,
        reach: Reach,
    ) -> Result<Endpoint, SealError> {
        Ok(Endpoint {
            dimensions: self.dimensions.and_then(|d| u16::try_from(d).ok()),
            ..self.endpoint.open(sealer, bound, reach)?
        })
    }
}

/// The entered prefixes, or those of the chosen preset, or those known for the model.
fn prefixes(model: &str, form: &EndpointForm<'_>) -> Result<(String, String), Invalid> {
    check_text("query_prefix", form.query_prefix, PREFIX_CHARS_MAX)?;
    check_text("document_prefix", form.document_prefix, PREFIX_CHARS_MAX)?;
    let Prefixes { query, document } = match (form.query_prefix, form.document_prefix, form.preset)
    {
        ("", "", "") => prefixes_of(model),
        ("", "", slug) => {
            let preset = PRESETS.iter().find(|preset| preset.slug == slug);
            preset.ok_or_else(unknown_preset)?.prefixes()
        }
        (query, document, _) => return Ok((query.to_owned(), document.to_owned())),
    };
    Ok((query.to_owned(), document.to_owned()))
}

fn unknown_preset() -> Invalid {
    let slugs = PRESETS.map(|preset| preset.slug).join(", ");
    let sentence = format!("`preset` is not known; give {slugs}, or leave it empty.");
    Invalid::new("preset", "invalid_preset", sentence)
}

fn dimensions(text: &str) -> Result<Option<i32>, Invalid> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let accepted =
        format!("give 1 to {DIMENSIONS_MAX}, or leave it empty to take what the model gives");
    number("dimensions", text, 1..=DIMENSIONS_MAX, accepted).map(Some)
}

fn number_or(
    default: i32,
    field: &'static str,
    text: &str,
    range: RangeInclusive<i32>,
) -> Result<i32, Invalid> {
    if text.trim().is_empty() {
        return Ok(default);
    }
    let accepted = format!("give {} to {}", range.start(), range.end());
    number(field, text, range, accepted)
}

/// Parses `host:port` of a line of the allow-list.
pub fn parse_allowed_endpoint(text: &str) -> Result<(String, u16), Invalid> {
    let refuse = || {
        Invalid::new(
            "endpoint",
            "invalid_endpoint",
            "`endpoint` is not host:port; give one such as ollama.local:11434 or 192.168.1.5:8080.",
        )
    };
    let url =
        EndpointUrl::parse("endpoint", &format!("http://{}", text.trim())).map_err(|_| refuse())?;
    let (host, port) = text.trim().rsplit_once(':').ok_or_else(refuse)?;
    let port: u16 = port.parse().ok().filter(|p| *p > 0).ok_or_else(refuse)?;
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        return Err(refuse());
    }
    Ok((url.host().to_owned(), port))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::providers::presets::preset_of;

    const URL: &str = "https://api.example.com/v1";
    fn filled() -> EndpointForm<'static> {
        let (provider_type, model) = ("openai", "nomic-embed-text");
        EndpointForm { own_enabled: true, provider_type, url: URL, model, ..Default::default() }
    }

    fn parse(form: EndpointForm<'_>) -> Result<ParsedEmbedding, Invalid> {
        let kept = EndpointSettings::default();
        ParsedEmbedding::parse(&form, EndpointKind::OwnEmbeddings, &kept)
    }

    #[test]
    fn prefixes_are_those_the_model_is_known_to_want_unless_given() {
        let parsed = parse(filled()).unwrap();
        assert_eq!(parsed.query_prefix, "search_query: ");
        assert_eq!(parsed.document_prefix, "search_document: ");
        let query_prefix = "q: ";
        let parsed = parse(EndpointForm { query_prefix, ..filled() }).unwrap();
        assert_eq!((parsed.query_prefix.as_str(), parsed.document_prefix.as_str()), ("q: ", ""));
    }

    #[test]
    fn a_preset_is_shown_again_as_it_was_chosen() {
        let shown = |form| {
            let ParsedEmbedding { endpoint, query_prefix, document_prefix, .. } =
                parse(form).unwrap();
            preset_of(&endpoint.settings.model, &query_prefix, &document_prefix)
        };
        for preset in ["e5", "none", ""] {
            assert_eq!(shown(EndpointForm { preset, ..filled() }), Some(preset));
        }
        assert_eq!(shown(EndpointForm { query_prefix: "q: ", ..filled() }), None);
        let refused = parse(EndpointForm { preset: "e6", ..filled() }).unwrap_err();
        assert!(refused.sentence.contains("give minilm, e5, nomic, bge, qwen3, none, or"));
    }

    #[test]
    fn a_key_must_be_given_again_when_scheme_host_or_port_changes() {
        let kept = EndpointSettings {
            url: URL.to_owned(),
            sealed_key: Some(vec![1]),
            ..EndpointSettings::default()
        };
        for kind in [EndpointKind::OwnEmbeddings, EndpointKind::Chat] {
            let keys = |form: EndpointForm<'_>| {
                let parsed = ParsedEndpoint::parse(&form, kind, &kept)?;
                Ok::<_, Invalid>((parsed.settings.sealed_key, parsed.typed_key))
            };
            let elsewhere =
                EndpointForm { url: "https://api.example.com/v2/embeddings", ..filled() };
            for of_host in [filled(), elsewhere] {
                assert_eq!(keys(of_host), Ok((Some(vec![1]), None)));
            }
            let moved = EndpointForm { url: "https://evil.example.com/v1", ..filled() };
            for url in [moved.url, "http://api.example.com/v1", "https://api.example.com:8443/v1"] {
                assert_eq!(keys(EndpointForm { url, ..filled() }).unwrap_err().code, "key_again");
            }
            let typed = keys(EndpointForm { key: "sk-2", ..moved });
            assert_eq!(typed, Ok((None, Some(ApiKey::new("sk-2")))));
            let cleared = keys(EndpointForm { clear_key: true, ..moved });
            assert_eq!(cleared, Ok((None, None)));
        }
    }

    #[test]
    fn each_limit_names_its_field() {
        let long = "x".repeat(501);
        for (field, form) in [
            ("provider_type", EndpointForm { provider_type: "builtin", ..filled() }),
            ("provider_type", EndpointForm { provider_type: "llamacpp", ..filled() }),
            ("url", EndpointForm { url: "localhost", ..filled() }),
            ("model", EndpointForm { model: " ", ..filled() }),
            ("dimensions", EndpointForm { dimensions: "1536", ..filled() }),
            ("dimensions", EndpointForm { dimensions: "many", ..filled() }),
            ("key", EndpointForm { key: "a b", ..filled() }),
            ("key_header", EndpointForm { key_header: "Host", ..filled() }),
            ("key_header", EndpointForm { key_header: "x-forwarded-for", ..filled() }),
            ("key_header", EndpointForm { key_header: "api key", ..filled() }),
            ("query_prefix", EndpointForm { query_prefix: &long, ..filled() }),
            ("batch_size", EndpointForm { batch_size: "0", ..filled() }),
            ("concurrency", EndpointForm { concurrency: "9", ..filled() }),
            ("pause_ms", EndpointForm { pause_ms: "-1", ..filled() }),
        ] {
            assert_eq!(parse(form).unwrap_err().field, field);
        }
    }

    #[test]
    fn what_makes_vectors_alone_is_no_chat_endpoint() {
        for refused in ["builtin", "custom_http", "", "nonsense"] {
            let parsed = EndpointKind::Chat.parse_type(refused);
            let sentence =
                "`provider_type` is not known; give one of openai, ollama, llamacpp, anthropic.";
            assert_eq!(parsed.unwrap_err().sentence, sentence, "{refused}");
        }
    }

    #[test]
    fn a_line_of_the_allow_list_is_a_host_and_a_port() {
        assert_eq!(
            parse_allowed_endpoint(" Ollama.local:11434 "),
            Ok(("ollama.local".into(), 11434))
        );
        assert_eq!(parse_allowed_endpoint("[::1]:8080").map(|e| e.1), Ok(8080));
        for refused in ["", "host", "host:0", "host:99999", "http://host:80", "a@b:80", "host/x:80"]
        {
            assert!(parse_allowed_endpoint(refused).is_err(), "{refused}");
        }
    }
}
