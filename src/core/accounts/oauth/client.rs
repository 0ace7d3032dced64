//! A client: what it says of itself, in a registration (RFC 7591) or in a document at the address that is its id (CIMD).
//! Nothing of it is verified, but that a document stands where its id says.

use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Deserialize;
use url::{Host, Url};

use super::redirect::RedirectUri;
use crate::accounts::model::is_invisible;

pub const CLIENT_NAME_CHARS_MAX: usize = 80;
pub const REDIRECTS_MAX: usize = 10;
pub const CLIENT_ID_CHARS_MAX: usize = 500;

const REGISTERED_PREFIX: &str = "ksc_";
const ID_BYTES: usize = 16;

/// Of a registration, or a URL: the address of the client's document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct ClientId(String);

impl ClientId {
    pub(super) fn generate() -> Result<Self, rand::rand_core::OsError> {
        let mut random = [0_u8; ID_BYTES];
        OsRng.try_fill_bytes(&mut random)?;
        let hex: String = random.iter().map(|b| format!("{b:02x}")).collect();
        Ok(Self(format!("{REGISTERED_PREFIX}{hex}")))
    }

    /// `None` if no client can have it.
    pub fn parse(text: &str) -> Option<Self> {
        let is_text =
            text.len() <= CLIENT_ID_CHARS_MAX && text.bytes().all(|b| b.is_ascii_graphic());
        (is_text && !text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address of its document, if it is one: https with a path and nothing else. `allows_loopback`: on a server that is
    /// itself served by plain http on a loopback address, http on such an address too.
    pub fn document_url(&self, allows_loopback: bool) -> Option<Url> {
        let url = Url::parse(&self.0).ok()?;
        let is_plain = url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
            && url.query().is_none()
            && url.path() != "/"
            // Normalised, so that no client has two ids.
            && url.as_str() == self.0;
        let is_allowed = match (url.scheme(), url.host()) {
            ("https", Some(_)) => true,
            ("http", Some(Host::Ipv4(ip))) => allows_loopback && ip.is_loopback(),
            ("http", Some(Host::Ipv6(ip))) => allows_loopback && ip.is_loopback(),
            _ => false,
        };
        (is_plain && is_allowed).then_some(url)
    }
}

/// Why metadata was refused, in the words of RFC 7591.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataRefusal {
    RedirectUri(&'static str),
    Metadata(&'static str),
    /// It cannot do without authenticating itself.
    Authentication,
}

impl MetadataRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            Self::RedirectUri(_) => "invalid_redirect_uri",
            Self::Metadata(_) | Self::Authentication => "invalid_client_metadata",
        }
    }

    pub fn sentence(&self) -> &'static str {
        match self {
            Self::RedirectUri(sentence) | Self::Metadata(sentence) => sentence,
            Self::Authentication => {
                "The program wants to authenticate itself with a key or secret. Here programs have none: they use PKCE, which its description must allow (`token_endpoint_auth_methods_supported` with \"none\")."
            }
        }
    }
}

/// What is used of a client's metadata; the rest is ignored.
#[derive(Clone, Debug)]
pub struct ClientMetadata {
    pub name: Option<String>,
    pub redirect_uris: Vec<RedirectUri>,
}

#[derive(Deserialize)]
struct RawMetadata {
    client_id: Option<String>,
    client_name: Option<String>,
    redirect_uris: Option<Vec<String>>,
    token_endpoint_auth_method: Option<String>,
    /// Those that it can use, of which the server's are to be taken (ChatGPT).
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

impl ClientMetadata {
    /// Of a registration. A client that asks to authenticate with a secret is answered that it has none (RFC 7591 lets a
    /// server replace what was asked for).
    pub fn of_registration(body: &[u8]) -> Result<Self, MetadataRefusal> {
        RawMetadata::parse(body)?.checked()
    }

    /// Of a document, which must name the address that it stands at.
    pub fn of_document(id: &ClientId, body: &[u8]) -> Result<Self, MetadataRefusal> {
        let raw = RawMetadata::parse(body)?;
        if raw.client_id.as_deref() != Some(id.as_str()) {
            let sentence = "`client_id` in the document is not the document's own address";
            return Err(MetadataRefusal::Metadata(sentence));
        }
        let one = raw.token_endpoint_auth_method.iter();
        let mut methods = one.chain(raw.token_endpoint_auth_methods_supported.iter().flatten());
        if methods.clone().next().is_some() && !methods.any(|method| method == "none") {
            return Err(MetadataRefusal::Authentication);
        }
        raw.checked()
    }
}

impl RawMetadata {
    fn parse(body: &[u8]) -> Result<Self, MetadataRefusal> {
        serde_json::from_slice(body).map_err(|_| {
            MetadataRefusal::Metadata(
                "the metadata must be a JSON object with `redirect_uris`, a list of texts",
            )
        })
    }

    fn checked(self) -> Result<ClientMetadata, MetadataRefusal> {
        let lacks = |list: &Option<Vec<String>>, word: &str| {
            list.as_ref().is_some_and(|list| !list.iter().any(|one| one == word))
        };
        if lacks(&self.grant_types, "authorization_code") {
            let sentence = "`grant_types` must include \"authorization_code\"";
            return Err(MetadataRefusal::Metadata(sentence));
        }
        if lacks(&self.response_types, "code") {
            let sentence = "`response_types` must include \"code\"";
            return Err(MetadataRefusal::Metadata(sentence));
        }
        let given = self.redirect_uris.unwrap_or_default();
        if given.is_empty() || given.len() > REDIRECTS_MAX {
            let sentence = "`redirect_uris` must list 1 to 10 addresses";
            return Err(MetadataRefusal::RedirectUri(sentence));
        }
        let parsed = given.iter().map(|uri| RedirectUri::parse(uri));
        Ok(ClientMetadata {
            name: self.client_name.as_deref().and_then(clean_name),
            redirect_uris: parsed
                .collect::<Result<_, _>>()
                .map_err(MetadataRefusal::RedirectUri)?,
        })
    }
}

/// One line without characters that cannot be seen, cut to the limit; `None` if nothing is left.
fn clean_name(name: &str) -> Option<String> {
    let seen = name.chars().filter(|c| !is_invisible(*c));
    let seen: String = seen.map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = words.chars().take(CLIENT_NAME_CHARS_MAX).collect();
    (!name.is_empty()).then_some(name)
}

/// A client whose metadata was accepted.
#[derive(Clone, Debug)]
pub struct OauthClient {
    pub id: ClientId,
    /// As it calls itself, or the host that its codes go to.
    pub name: String,
    pub redirect_uris: Vec<RedirectUri>,
    /// The host of its document, which is therefore its own; `None`: it registered itself, and may be anybody.
    pub document_host: Option<String>,
}

impl OauthClient {
    pub(super) fn registered(id: ClientId, metadata: ClientMetadata) -> Self {
        Self::of(id, metadata, None)
    }

    pub fn of_document(id: ClientId, host: String, metadata: ClientMetadata) -> Self {
        Self::of(id, metadata, Some(host))
    }

    fn of(id: ClientId, metadata: ClientMetadata, document_host: Option<String>) -> Self {
        let first = metadata.redirect_uris.first().map(RedirectUri::shown);
        Self {
            id,
            name: metadata.name.or(first).unwrap_or_default(),
            redirect_uris: metadata.redirect_uris,
            document_host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_id_only_if_it_could_not_be_written_otherwise() {
        let url = |text: &str, local| ClientId::parse(text).and_then(|id| id.document_url(local));
        assert!(url("https://app.example/oauth/client.json", false).is_some());
        assert!(url("http://127.0.0.1:8080/client.json", true).is_some());
        for refused in [
            "ksc_0123",
            "https://app.example",
            "https://app.example/",
            "https://app.example/a?b",
            "https://app.example/a#b",
            "https://user@app.example/a",
            "https://APP.example/a",
            "https://app.example/a/../b",
            "https://app.example:443/a",
            "http://app.example/a",
            "http://127.0.0.1:8080/client.json",
            "ftp://app.example/a",
        ] {
            assert!(url(refused, false).is_none(), "{refused}");
        }
        assert!(url("http://localhost/a", true).is_none());
        assert!(url("http://10.0.0.1/a", true).is_none());
    }

    #[test]
    fn metadata_is_taken_in_bounds() {
        let of = |body: &str| ClientMetadata::of_registration(body.as_bytes());
        let long = "n".repeat(CLIENT_NAME_CHARS_MAX + 5);
        let named = format!(
            r#"{{"redirect_uris":["https://a.example/cb"],"client_name":"a\u0000\u202e b {long}","jwks":{{}},"token_endpoint_auth_method":"client_secret_basic"}}"#
        );
        let name = of(&named).expect("accepted").name.expect("a name");
        assert_eq!(name.chars().count(), CLIENT_NAME_CHARS_MAX);
        assert!(name.starts_with("a b n"), "{name}");
        let uris = ["\"https://a.example/cb\""; REDIRECTS_MAX + 1].join(",");
        for refused in [
            "",
            "[]",
            "{}",
            r#"{"redirect_uris":[]}"#,
            r#"{"redirect_uris":"https://a.example/cb"}"#,
            r#"{"redirect_uris":["http://a.example/cb"]}"#,
            r#"{"redirect_uris":["https://a.example/cb"],"grant_types":["client_credentials"]}"#,
            r#"{"redirect_uris":["https://a.example/cb"],"response_types":["token"]}"#,
            &format!(r#"{{"redirect_uris":[{uris}]}}"#),
        ] {
            assert!(of(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_document_names_its_own_address_and_has_no_secret() {
        let id = ClientId::parse("https://app.example/client.json").expect("an id");
        let of = |body: &str| ClientMetadata::of_document(&id, body.as_bytes());
        let uris = r#""redirect_uris":["https://app.example/cb"]"#;
        assert!(
            of(&format!(r#"{{"client_id":"https://app.example/client.json",{uris}}}"#)).is_ok()
        );
        for refused in [
            format!("{{{uris}}}"),
            format!(r#"{{"client_id":"https://evil.example/client.json",{uris}}}"#),
            format!(
                r#"{{"client_id":"https://app.example/client.json","token_endpoint_auth_method":"client_secret_post",{uris}}}"#
            ),
        ] {
            assert!(of(&refused).is_err(), "{refused}");
        }
        // As ChatGPT's description has it.
        let methods = |able: &str| {
            of(&format!(
                r#"{{"client_id":"https://app.example/client.json","token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":[{able}],{uris}}}"#
            ))
        };
        assert!(methods(r#""none","private_key_jwt""#).is_ok());
        let refused = methods(r#""private_key_jwt""#).map(|_| ());
        assert_eq!(refused, Err(MetadataRefusal::Authentication));
    }
}
