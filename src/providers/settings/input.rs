//! Parses the endpoint forms: all limits are here, and an invalid value gets one sentence beside its field.

use super::ProviderSettings;
use crate::input::{Invalid, check_text};
use crate::providers::{EndpointUrl, MAX_DIMENSIONS, ProviderType, presets};

const MODEL_CHARS_MAX: usize = 200;
const PREFIX_CHARS_MAX: usize = 500;
const KEY_CHARS_MAX: usize = 4_000;
const DIMENSIONS_MAX: i32 = MAX_DIMENSIONS as i32;

/// The presets of the form, each with a model name that [`presets`] knows.
const PRESETS: [(&str, &str); 6] = [
    ("minilm", "all-minilm-l6-v2"),
    ("e5", "e5-base-v2"),
    ("nomic", "nomic-embed-text"),
    ("bge", "bge-base-en-v1.5"),
    ("qwen3", "qwen3-embedding"),
    ("none", ""),
];

/// How fast pending items are sent (Navi: 8 at a time with pauses of 2 s).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Texts per call, 1 to 256.
    pub batch_size: i32,
    /// Concurrent calls, 1 to 8.
    pub concurrency: i32,
    /// Between two calls, 0 to 60,000 ms.
    pub pause_ms: i32,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            batch_size: 32,
            concurrency: 1,
            pause_ms: 0,
        }
    }
}

/// The fields of an endpoint form, as posted. It holds a key, so it has no `Debug`.
#[derive(Clone, Copy, Default)]
pub struct EndpointForm<'a> {
    pub provider_type: &'a str,
    pub url: &'a str,
    pub model: &'a str,
    pub dimensions: &'a str,
    pub key: &'a str,
    pub clear_key: bool,
    /// One of [`PRESETS`]; empty: by the model's name.
    pub preset: &'a str,
    pub query_prefix: &'a str,
    pub document_prefix: &'a str,
    pub batch_size: &'a str,
    pub concurrency: &'a str,
    pub pause_ms: &'a str,
}

/// What happens to the stored key.
#[derive(Clone, PartialEq, Eq)]
pub enum KeyWish {
    Keep,
    Clear,
    Replace(String),
}

/// The parsed form; the key is separate, since it is not sealed yet.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointWish {
    /// Without a key.
    pub settings: ProviderSettings,
    pub key: KeyWish,
    pub pace: Pace,
}

impl EndpointWish {
    /// `kept` is the stored provider: its key is kept only if the URL is unchanged.
    pub fn parse(
        form: EndpointForm<'_>,
        provider_type: ProviderType,
        kept: Option<&ProviderSettings>,
    ) -> Result<Self, Invalid> {
        let url = EndpointUrl::parse("url", form.url.trim())?;
        let model = parse_model(form.model, provider_type, "nomic-embed-text")?;
        check_text("query_prefix", form.query_prefix, PREFIX_CHARS_MAX)?;
        check_text("document_prefix", form.document_prefix, PREFIX_CHARS_MAX)?;
        let (query_prefix, document_prefix) = prefixes(model, &form)?;
        Ok(Self {
            key: parse_key(
                form.key,
                form.clear_key,
                &url,
                kept.map(|k| KeptKey {
                    endpoint: &k.endpoint,
                    has_key: k.sealed_key.is_some(),
                }),
            )?,
            pace: Pace {
                batch_size: number("batch_size", form.batch_size, 1..=256, 32)?,
                concurrency: number("concurrency", form.concurrency, 1..=8, 1)?,
                pause_ms: number("pause_ms", form.pause_ms, 0..=60_000, 0)?,
            },
            settings: ProviderSettings {
                provider_type,
                endpoint: url.as_str().to_owned(),
                model: model.to_owned(),
                dimensions: dimensions(form.dimensions)?,
                query_prefix,
                document_prefix,
                sealed_key: None,
                system_provider_id: None,
            },
        })
    }
}

impl EndpointWish {
    /// The prefixes of a query and of a document.
    pub fn prefixes(&self) -> (String, String) {
        (
            self.settings.query_prefix.clone(),
            self.settings.document_prefix.clone(),
        )
    }
}

/// Parses a model's name; empty only if the server has only one model.
pub(in crate::providers) fn parse_model<'a>(
    model: &'a str,
    provider_type: ProviderType,
    example: &str,
) -> Result<&'a str, Invalid> {
    check_text("model", model, MODEL_CHARS_MAX)?;
    let model = model.trim();
    let needs_model = matches!(provider_type, ProviderType::Ollama | ProviderType::Openai);
    if model.is_empty() && needs_model {
        return Err(Invalid::new(
            "model",
            "required",
            format!("`model` is empty; give the name the endpoint knows, such as {example}."),
        ));
    }
    Ok(model)
}

/// The entered prefixes, or those of the chosen preset, or those known for the model.
fn prefixes(model: &str, form: &EndpointForm<'_>) -> Result<(String, String), Invalid> {
    if !form.query_prefix.is_empty() || !form.document_prefix.is_empty() {
        return Ok((
            form.query_prefix.to_owned(),
            form.document_prefix.to_owned(),
        ));
    }
    let by_name = match form.preset {
        "" => model,
        slug => PRESETS
            .iter()
            .find(|(known, _)| *known == slug)
            .map(|(_, name)| *name)
            .ok_or_else(|| {
                Invalid::new(
                    "preset",
                    "invalid_preset",
                    "`preset` is not known; give minilm, e5, nomic, bge, qwen3, none, or leave it empty.",
                )
            })?,
    };
    Ok(of_model(by_name))
}

fn of_model(name: &str) -> (String, String) {
    presets::preset_for(name)
        .map(|p| (p.query.to_owned(), p.document.to_owned()))
        .unwrap_or_default()
}

/// The preset that gives these prefixes, or the prefixes themselves if none does.
pub fn preset_of(settings: &ProviderSettings) -> (&'static str, String, String) {
    let prefixes = (
        settings.query_prefix.clone(),
        settings.document_prefix.clone(),
    );
    if of_model(&settings.model) == prefixes {
        return ("", String::new(), String::new());
    }
    // Searched from the end: for models without prefixes, the last preset describes that best.
    let preset = PRESETS
        .iter()
        .rev()
        .find(|(_, name)| of_model(name) == prefixes);
    match preset {
        Some((slug, _)) => (slug, String::new(), String::new()),
        None => ("", prefixes.0, prefixes.1),
    }
}

/// The stored endpoint and key that a form may keep.
pub(in crate::providers) struct KeptKey<'a> {
    pub(in crate::providers) endpoint: &'a str,
    pub(in crate::providers) has_key: bool,
}

/// A stored key is kept only if the URL is unchanged.
pub(in crate::providers) fn parse_key(
    typed: &str,
    clear_key: bool,
    url: &EndpointUrl,
    kept: Option<KeptKey<'_>>,
) -> Result<KeyWish, Invalid> {
    check_text("key", typed, KEY_CHARS_MAX)?;
    let key = typed.trim();
    // The characters that a header allows.
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Invalid::new(
            "key",
            "invalid_key",
            "`key` has a space or a character that no key has; paste it again.",
        ));
    }
    let moved = kept.is_some_and(|k| k.has_key && k.endpoint != url.as_str());
    match key {
        "" if clear_key => Ok(KeyWish::Clear),
        "" if moved => Err(Invalid::new(
            "key",
            "key_again",
            "`key` must be given again when the URL changes, so that it reaches nobody else; or choose to send none.",
        )),
        "" => Ok(KeyWish::Keep),
        key => Ok(KeyWish::Replace(key.to_owned())),
    }
}

fn dimensions(text: &str) -> Result<Option<i32>, Invalid> {
    match text.trim() {
        "" => Ok(None),
        text => match text.parse() {
            Ok(n @ 1..=DIMENSIONS_MAX) => Ok(Some(n)),
            _ => Err(Invalid::new(
                "dimensions",
                "out_of_range",
                format!(
                    "`dimensions` is out of range; give 1 to {DIMENSIONS_MAX}, or leave it empty to take what the model gives."
                ),
            )),
        },
    }
}

fn number(
    field: &'static str,
    text: &str,
    range: std::ops::RangeInclusive<i32>,
    default: i32,
) -> Result<i32, Invalid> {
    match text.trim() {
        "" => Ok(default),
        text => text
            .parse()
            .ok()
            .filter(|n| range.contains(n))
            .ok_or_else(|| {
                Invalid::new(
                    field,
                    "out_of_range",
                    format!(
                        "`{field}` is out of range; give {} to {}.",
                        range.start(),
                        range.end()
                    ),
                )
            }),
    }
}

/// The APIs that a user's own endpoint may have.
pub fn parse_own_type(text: &str) -> Result<ProviderType, Invalid> {
    ProviderType::parse("provider_type", text)
        .ok()
        .filter(|t| !matches!(t, ProviderType::Llamacpp | ProviderType::Builtin))
        .ok_or_else(|| {
            Invalid::new(
                "provider_type",
                "invalid_provider_type",
                "`provider_type` is not known; give ollama, openai or custom_http.",
            )
        })
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
mod tests {
    use super::*;

    const FORM: EndpointForm<'_> = EndpointForm {
        provider_type: "openai",
        url: "https://api.example.com/v1",
        model: "nomic-embed-text",
        dimensions: "",
        key: "",
        clear_key: false,
        preset: "",
        query_prefix: "",
        document_prefix: "",
        batch_size: "",
        concurrency: "",
        pause_ms: "",
    };

    fn parse(
        form: EndpointForm<'_>,
        kept: Option<&ProviderSettings>,
    ) -> Result<EndpointWish, Invalid> {
        EndpointWish::parse(form, ProviderType::Openai, kept)
    }

    #[test]
    fn prefixes_are_those_the_model_is_known_to_want_unless_given() {
        let wish = parse(FORM, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(wish.settings.query_prefix, "search_query: ");
        assert_eq!(wish.settings.document_prefix, "search_document: ");
        let own = EndpointForm {
            query_prefix: "q: ",
            ..FORM
        };
        let wish = parse(own, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (
                wish.settings.query_prefix.as_str(),
                wish.settings.document_prefix.as_str()
            ),
            ("q: ", "")
        );
    }

    #[test]
    fn a_preset_is_shown_again_as_it_was_chosen() {
        for (preset, query) in [("e5", "query: "), ("none", ""), ("", "search_query: ")] {
            let wish =
                parse(EndpointForm { preset, ..FORM }, None).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(wish.settings.query_prefix, query, "{preset}");
            assert_eq!(
                preset_of(&wish.settings),
                (preset, String::new(), String::new())
            );
        }
        let own = EndpointForm {
            query_prefix: "q: ",
            ..FORM
        };
        let wish = parse(own, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            preset_of(&wish.settings),
            ("", "q: ".to_owned(), String::new())
        );
    }

    #[test]
    fn a_key_must_be_given_again_when_the_url_changes() {
        let kept = ProviderSettings {
            endpoint: "https://api.example.com/v1".into(),
            sealed_key: Some(vec![1]),
            ..ProviderSettings::builtin()
        };
        let key_of = |form| parse(form, Some(&kept)).map(|w| w.key);
        assert!(key_of(FORM) == Ok(KeyWish::Keep));
        let moved = EndpointForm {
            url: "https://evil.example.com/v1",
            ..FORM
        };
        assert_eq!(key_of(moved).err().map(|e| e.code), Some("key_again"));
        assert!(
            key_of(EndpointForm {
                key: "sk-2",
                ..moved
            }) == Ok(KeyWish::Replace("sk-2".into()))
        );
        assert!(
            key_of(EndpointForm {
                clear_key: true,
                ..moved
            }) == Ok(KeyWish::Clear)
        );
    }

    #[test]
    fn each_limit_names_its_field() {
        let long = "x".repeat(501);
        for (field, form) in [
            (
                "url",
                EndpointForm {
                    url: "localhost",
                    ..FORM
                },
            ),
            ("model", EndpointForm { model: " ", ..FORM }),
            (
                "dimensions",
                EndpointForm {
                    dimensions: "1536",
                    ..FORM
                },
            ),
            (
                "dimensions",
                EndpointForm {
                    dimensions: "many",
                    ..FORM
                },
            ),
            ("key", EndpointForm { key: "a b", ..FORM }),
            (
                "query_prefix",
                EndpointForm {
                    query_prefix: &long,
                    ..FORM
                },
            ),
            (
                "batch_size",
                EndpointForm {
                    batch_size: "0",
                    ..FORM
                },
            ),
            (
                "concurrency",
                EndpointForm {
                    concurrency: "9",
                    ..FORM
                },
            ),
            (
                "pause_ms",
                EndpointForm {
                    pause_ms: "-1",
                    ..FORM
                },
            ),
        ] {
            assert_eq!(
                parse(form, None)
                    .err()
                    .map(|e| e.field.into_owned())
                    .as_deref(),
                Some(field)
            );
        }
    }

    #[test]
    fn a_line_of_the_allow_list_is_a_host_and_a_port() {
        assert_eq!(
            parse_allowed_endpoint(" Ollama.local:11434 "),
            Ok(("ollama.local".into(), 11434))
        );
        assert_eq!(parse_allowed_endpoint("[::1]:8080").map(|e| e.1), Ok(8080));
        for refused in [
            "",
            "host",
            "host:0",
            "host:99999",
            "http://host:80",
            "a@b:80",
            "host/x:80",
        ] {
            assert!(parse_allowed_endpoint(refused).is_err(), "{refused}");
        }
    }
}
