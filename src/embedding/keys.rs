//! Handling of provider keys: from a form, sealed and staged until a change is confirmed, sealed in the database, opened for
//! a test. The plaintext goes only to the endpoint.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{EmbeddingError, Embeddings};
use crate::providers::settings::{EndpointForm, EndpointWish, KeyWish, ProviderSettings};
use crate::providers::{Endpoint, EndpointUrl, ProviderType, Reach, SecretKey};
use crate::seal::{Bound, SealError};

/// What a key is sealed for: its database column, and its staged form.
pub(super) struct KeyBounds {
    pub kept: Bound,
    pub staged: Bound,
}

impl Embeddings {
    /// Parses the form. A staged key counts as typed again.
    pub(super) fn parse_endpoint(
        &self,
        form: EndpointForm<'_>,
        staged: &str,
        bounds: &KeyBounds,
        provider_type: ProviderType,
        kept: Option<&ProviderSettings>,
    ) -> Result<EndpointWish, EmbeddingError> {
        let unstaged = match (form.key, staged) {
            ("", staged) if !staged.is_empty() => {
                let sealed = URL_SAFE_NO_PAD
                    .decode(staged)
                    .map_err(|_| SealError::Damaged)?;
                self.0.sealer.open(bounds.staged, &sealed)?
            }
            (typed, _) => typed.to_owned(),
        };
        let key = unstaged.as_str();
        let form = EndpointForm { key, ..form };
        Ok(EndpointWish::parse(form, provider_type, kept)?)
    }

    /// Seals the key for the database and for staging; the latter is empty if none was typed.
    pub(super) fn seal_wish(
        &self,
        wish: KeyWish,
        bounds: &KeyBounds,
        kept: Option<&ProviderSettings>,
    ) -> Result<(Option<Vec<u8>>, String), EmbeddingError> {
        Ok(match wish {
            KeyWish::Keep => (kept.and_then(|k| k.sealed_key.clone()), String::new()),
            KeyWish::Clear => (None, String::new()),
            KeyWish::Replace(key) => (
                Some(self.0.sealer.seal(bounds.kept, &key)?),
                URL_SAFE_NO_PAD.encode(self.0.sealer.seal(bounds.staged, &key)?),
            ),
        })
    }

    /// The endpoint that *Test* calls. Stores nothing.
    pub(super) fn endpoint_to_test(
        &self,
        wish: EndpointWish,
        bounds: &KeyBounds,
        kept: Option<&ProviderSettings>,
        url: EndpointUrl,
        reach: Reach,
    ) -> Result<Endpoint, EmbeddingError> {
        let key = match wish.key {
            KeyWish::Replace(key) => Some(key),
            KeyWish::Clear => None,
            KeyWish::Keep => kept
                .and_then(|k| k.sealed_key.as_ref())
                .map(|sealed| self.0.sealer.open(bounds.kept, sealed))
                .transpose()?,
        };
        Ok(endpoint(&wish.settings, url, key, reach))
    }
}

pub(super) fn endpoint(
    settings: &ProviderSettings,
    url: EndpointUrl,
    key: Option<String>,
    reach: Reach,
) -> Endpoint {
    Endpoint {
        provider_type: settings.provider_type,
        url,
        model: settings.model.clone(),
        dimensions: settings.dimensions.and_then(|d| u16::try_from(d).ok()),
        key: key.map(SecretKey::new),
        reach,
    }
}
