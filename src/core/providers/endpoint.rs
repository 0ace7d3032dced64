//! The address of a provider and what a call needs: its type, a checked URL, a model, a key. A key is only
//! ever sent, never shown: not in `Debug`, errors or log lines.

use std::fmt;

use url::{Host, Url};

use crate::db::labels;
use crate::input::Invalid;
use crate::json::json_labels;

/// Maximum characters of an endpoint's address.
pub const MAX_URL_CHARS: usize = 2_000;

/// How far a call may reach. Link-local and metadata addresses are never allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Public addresses only.
    Public,
    /// Loopback and private networks too: for an admin's endpoint, or one on the allow-list.
    Private,
}

labels! {
    /// The API of a provider (Nova §6.2).
    pub enum ProviderType {
        Llamacpp = "llamacpp",
        Ollama = "ollama",
        Openai = "openai",
        /// Chat only.
        Anthropic = "anthropic",
        CustomHttp = "custom_http",
        Builtin = "builtin",
    }
}

json_labels!(ProviderType: ProviderType::ALL);

impl ProviderType {
    pub fn parse(field: &'static str, text: &str) -> Result<Self, Invalid> {
        Self::from_label(text).ok_or_else(|| {
            let accepted = "choose llamacpp, ollama, openai, anthropic, custom_http or builtin";
            let sentence = format!("`{field}` is no type of provider; {accepted}.");
            Invalid::new(field, "unknown_provider_type", sentence)
        })
    }
}

/// Everything that a call needs.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub provider_type: ProviderType,
    pub url: EndpointUrl,
    pub model: String,
    /// The width to request; the provider may ignore it.
    pub dimensions: Option<u16>,
    pub key: Option<ApiKey>,
    /// The header that carries the key as it is; empty: as the API format has it.
    pub key_header: String,
    /// A chat model is asked not to think.
    pub is_thinking_off: bool,
    pub reach: Reach,
}

impl Endpoint {
    /// A model in our own process. Its address is a placeholder and is never called.
    pub fn builtin(model: &str) -> Self {
        Self {
            provider_type: ProviderType::Builtin,
            url: EndpointUrl(BUILTIN_URL.parse().expect("a constant that parses")),
            model: model.to_owned(),
            dimensions: None,
            key: None,
            key_header: String::new(),
            is_thinking_off: false,
            reach: Reach::Public,
        }
    }
}

impl Endpoint {
    /// Empty: `Authorization: Bearer`.
    pub(super) fn header_of_key(&self) -> &str {
        match (self.key_header.as_str(), self.provider_type) {
            ("", ProviderType::Anthropic) => "x-api-key",
            (named, _) => named,
        }
    }
}

const BUILTIN_URL: &str = "http://builtin.invalid/";

/// A provider's API key. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Only for sealing and sending the key.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// An http or https URL with a host, without a password or a fragment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndpointUrl(Url);

impl EndpointUrl {
    pub fn parse(field: &'static str, text: &str) -> Result<Self, Invalid> {
        let refused = |code, what: &str| {
            let example = "give one such as http://127.0.0.1:8080 or https://api.example.com/v1";
            Invalid::new(field, code, format!("`{field}` {what}; {example}."))
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(refused("required", "is empty"));
        }
        let check_length = |text: &str, of: &str| match text.chars().count() {
            n if n > MAX_URL_CHARS => {
                let what =
                    format!("has {n} characters{of} and at most {MAX_URL_CHARS} are accepted");
                Err(refused("too_long", &what))
            }
            _ => Ok(()),
        };
        check_length(text, "")?;
        let url = Url::parse(text).map_err(|_| refused("invalid_url", "is no address (URL)"))?;
        // The normalised URL is stored and parsed again, and may be longer.
        check_length(url.as_str(), " once it is percent-encoded")?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("invalid_url", "begins with neither http nor https"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(refused("invalid_url", "names no host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let what = "holds a user name or a password, for which there is the key";
            return Err(refused("invalid_url", what));
        }
        if url.fragment().is_some() {
            return Err(refused("invalid_url", "has a part after `#`"));
        }
        Ok(Self(url))
    }

    /// Normalised: lower-case host, no default port.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// A name or an address; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The port, or the scheme's default.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Whether both are of one scheme, host and port.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    pub(super) fn parsed_host(&self) -> Option<Host<&str>> {
        self.0.host()
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The path without trailing slashes.
    pub(super) fn path(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }

    pub(super) fn to_url(&self) -> Url {
        self.0.clone()
    }

    /// The same host and query with another path.
    pub(super) fn with_path(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(path);
        url
    }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
