//! A provider's key on its way: typed, put aside sealed while a change waits to
//! be confirmed, kept sealed, opened for a test. In clear it goes nowhere but to
//! the endpoint.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{EmbeddingError, Embeddings};
use crate::providers::settings::{EndpointForm, EndpointWish, KeyWish, ProviderSettings};
use crate::providers::{Endpoint, EndpointUrl, ProviderType, Reach, SecretKey};
use crate::seal::{Bound, SealError};

/// What keys are sealed for: the column that keeps them, and the way there.
pub(super) struct KeyBounds {
    pub kept: Bound,
    pub staged: Bound,
}

impl Embeddings {
    /// The form, parsed. A key that was put aside counts as typed again.
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

    /// The key as it is to be kept, and put aside for the confirmation; the
    /// latter is empty where none was typed.
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

    /// What *Test* calls: nothing of it is kept.
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
