//! Parses the chat forms: all limits are here, and an invalid value gets one sentence beside its field.

use super::ChatProvider;
use crate::input::Invalid;
use crate::providers::settings::{KeptKey, KeyWish, parse_key, parse_model};
use crate::providers::{EndpointUrl, ProviderType};

/// Bounds of the daily limit. The lower one allows any single call of an extraction or a summary.
pub const CAP_TOKENS_MIN: i64 = 10_000;
pub const CAP_TOKENS_MAX: i64 = 1_000_000_000;

/// The fields of an endpoint form, as posted. It holds a key, so it has no `Debug`.
#[derive(Clone, Copy, Default)]
pub struct ChatForm<'a> {
    pub provider_type: &'a str,
    pub url: &'a str,
    pub model: &'a str,
    pub key: &'a str,
    pub clear_key: bool,
}

/// The parsed form; the key is separate, since it is not sealed yet.
pub(in crate::providers::chat) struct ChatWish {
    /// Without a key.
    pub(in crate::providers::chat) provider: ChatProvider,
    pub(in crate::providers::chat) key: KeyWish,
}

impl ChatWish {
    /// `kept` is the stored provider: its key is kept only if the URL is unchanged.
    pub(in crate::providers::chat) fn parse(
        form: &ChatForm<'_>,
        kept: Option<&ChatProvider>,
    ) -> Result<Self, Invalid> {
        let provider_type = parse_type(form.provider_type)?;
        let url = EndpointUrl::parse("url", form.url)?;
        let model = parse_model(form.model, provider_type, "llama3.2")?;
        let kept = kept.map(|k| KeptKey {
            endpoint: &k.endpoint,
            has_key: k.sealed_key.is_some(),
        });
        Ok(Self {
            key: parse_key(form.key, form.clear_key, &url, kept)?,
            provider: ChatProvider {
                provider_type,
                endpoint: url.as_str().to_owned(),
                model: model.to_owned(),
                sealed_key: None,
            },
        })
    }
}

fn parse_type(text: &str) -> Result<ProviderType, Invalid> {
    ProviderType::parse("provider_type", text)
        .ok()
        .filter(|t| {
            matches!(
                t,
                ProviderType::Openai | ProviderType::Ollama | ProviderType::Llamacpp
            )
        })
        .ok_or_else(|| {
            Invalid::new(
                "provider_type",
                "invalid_provider_type",
                "`provider_type` is not known; give openai, ollama or llamacpp.",
            )
        })
}

/// Digits, optionally grouped by commas.
pub(in crate::providers::chat) fn parse_cap(text: &str) -> Result<i64, Invalid> {
    let digits = text.trim().replace([',', ' '], "");
    let tokens = digits.parse().ok();
    tokens
        .filter(|n| (CAP_TOKENS_MIN..=CAP_TOKENS_MAX).contains(n))
        .ok_or_else(|| {
            Invalid::new(
                "daily_token_cap",
                "out_of_range",
                format!(
                    "`daily_token_cap` is out of range; give {CAP_TOKENS_MIN} to {CAP_TOKENS_MAX} tokens, or leave it empty."
                ),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_a_number_of_tokens_within_bounds() {
        assert_eq!(parse_cap(" 200,000 "), Ok(200_000));
        for refused in [
            "",
            "9999",
            "-1",
            "many",
            "1000000001",
            "99999999999999999999",
        ] {
            assert!(parse_cap(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_key_must_be_given_again_when_the_url_changes() {
        let kept = ChatProvider {
            endpoint: "https://api.example.com/v1".to_owned(),
            sealed_key: Some(vec![1]),
            ..ChatProvider::default()
        };
        let form = ChatForm {
            provider_type: "openai",
            url: "https://api.example.com/v1",
            model: "m",
            ..ChatForm::default()
        };
        let key_of = |form: ChatForm<'_>| ChatWish::parse(&form, Some(&kept)).map(|w| w.key);
        assert!(key_of(form) == Ok(KeyWish::Keep));
        let moved = ChatForm {
            url: "https://evil.example.com/v1",
            ..form
        };
        assert_eq!(key_of(moved).err().map(|e| e.code), Some("key_again"));
    }

    #[test]
    fn what_makes_vectors_alone_is_no_chat_endpoint() {
        for refused in ["builtin", "custom_http", "", "nonsense"] {
            assert!(parse_type(refused).is_err(), "{refused}");
        }
    }
}
