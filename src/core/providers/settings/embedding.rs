//! Embedding settings: what determines the vectors of a space, whose provider makes them, and how fast.

use super::{Effective, EndpointSettings};
use crate::providers::builtin::BuiltinModel;
use crate::providers::{Endpoint, EndpointUrl, ProviderType, Reach};
use crate::seal::{SealError, Sealer, SecretOwner};

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
        Self { batch_size: 32, concurrency: 1, pause_ms: 0 }
    }
}

/// The configuration of a space: everything that determines its vectors, and the sealed key that belongs to
/// it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceSettings {
    /// The key is that of a user's own endpoint.
    pub endpoint: EndpointSettings,
    /// The width to request; `None`: the provider's default.
    pub dimensions: Option<i32>,
    pub query_prefix: String,
    pub document_prefix: String,
    /// For the system's endpoint: the key is stored there.
    pub system_provider_id: Option<i64>,
}

impl SpaceSettings {
    pub fn builtin(model: BuiltinModel) -> Self {
        let [query_prefix, document_prefix] = model.prefixes().map(str::to_owned);
        Self {
            endpoint: EndpointSettings {
                provider_type: ProviderType::Builtin,
                model: model.name().to_owned(),
                ..EndpointSettings::default()
            },
            query_prefix,
            document_prefix,
            ..Self::default()
        }
    }

    pub fn is_builtin(&self) -> bool {
        self.endpoint.provider_type == ProviderType::Builtin
    }

    pub fn builtin_model(&self) -> Option<BuiltinModel> {
        self.is_builtin().then(|| BuiltinModel::of_name(&self.endpoint.model))?
    }

    /// Whether relevance was fitted for, and measured with, the cosines of this model.
    pub fn has_fitted_scale(&self) -> bool {
        self.builtin_model().is_some()
    }

    /// Whether vectors of both are comparable. Ignores the query prefix, which changes no stored vector.
    pub fn makes_the_vectors_of(&self, other: &Self) -> bool {
        let (one, two) = (&self.endpoint, &other.endpoint);
        (one.provider_type, &one.url, &one.model) == (two.provider_type, &two.url, &two.model)
            && self.dimensions == other.dimensions
            && self.document_prefix == other.document_prefix
    }

    /// Identifies settings whose rebuild was cancelled.
    pub fn fingerprint(&self) -> String {
        format!(
            "{}|{}|{}|{}|{}",
            self.endpoint.provider_type.as_str(),
            self.endpoint.url,
            self.endpoint.model,
            self.dimensions.unwrap_or(0),
            self.document_prefix
        )
    }

    /// See [`EndpointSettings::open`].
    pub fn open(
        &self,
        sealer: &Sealer,
        bound: SecretOwner,
        url: EndpointUrl,
        reach: Reach,
    ) -> Result<Endpoint, SealError> {
        Ok(Endpoint {
            dimensions: self.dimensions.and_then(|d| u16::try_from(d).ok()),
            ..self.endpoint.open(sealer, bound, url, reach)?
        })
    }
}

/// A user's confirmed settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEmbeddingSettings {
    /// False: full text only.
    pub enabled: bool,
    /// Use the user's own endpoint.
    pub own_enabled: bool,
    pub own: SpaceSettings,
    pub pace: Pace,
    /// The fingerprint of the settings whose rebuild the user cancelled.
    pub declined: Option<String>,
    /// A restore has switched them off, because of the own endpoint.
    pub is_paused: bool,
}

impl Default for UserEmbeddingSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            own_enabled: false,
            own: SpaceSettings::default(),
            pace: Pace::default(),
            declined: None,
            is_paused: false,
        }
    }
}

impl UserEmbeddingSettings {
    /// The system's provider takes precedence over the user's own, and both over the builtin model.
    pub fn effective(&self, system: &SystemEmbeddingSettings) -> Effective<SpaceSettings> {
        match &system.provider {
            _ if !self.enabled => Effective::Off,
            Some(provider) => Effective::System(provider.clone()),
            None if self.own_enabled => Effective::Own(self.own.clone()),
            None if system.builtin_enabled => {
                Effective::System(SpaceSettings::builtin(system.builtin_model))
            }
            None => Effective::Nothing,
        }
    }

    /// The effective settings, unless the user cancelled the rebuild to them.
    pub fn awaited<'a>(
        &self,
        effective: &'a Effective<SpaceSettings>,
    ) -> Option<&'a SpaceSettings> {
        let settings = effective.settings()?;
        (self.declined.as_deref() != Some(&settings.fingerprint())).then_some(settings)
    }
}

/// An admin's confirmed settings for all users.
#[derive(Clone, Debug)]
pub struct SystemEmbeddingSettings {
    pub builtin_enabled: bool,
    /// Whose vectors are wanted. Where its files are missing, they wait.
    pub builtin_model: BuiltinModel,
    /// Searches compare texts token by token, if the model provides token vectors.
    pub late_interaction: bool,
    pub pace: Pace,
    /// The system's llama.cpp, if it is in force.
    pub provider: Option<SpaceSettings>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(provider: Option<SpaceSettings>) -> SystemEmbeddingSettings {
        SystemEmbeddingSettings {
            builtin_enabled: true,
            builtin_model: BuiltinModel::English,
            late_interaction: true,
            pace: Pace::default(),
            provider,
        }
    }

    #[test]
    fn the_effective_provider_is_the_first_that_is_configured() {
        let llamacpp = SpaceSettings { query_prefix: "query: ".into(), ..SpaceSettings::default() };
        let user = UserEmbeddingSettings::default();
        let own = UserEmbeddingSettings { own_enabled: true, ..user.clone() };
        let off = UserEmbeddingSettings { enabled: false, ..own.clone() };
        let (with, without) = (system(Some(llamacpp.clone())), system(None));
        assert_eq!(off.effective(&with), Effective::Off);
        assert_eq!(own.effective(&with), Effective::System(llamacpp));
        let own_settings = Effective::Own(own.own.clone());
        assert_eq!(own.effective(&without), own_settings);
        let builtin = Effective::System(SpaceSettings::builtin(BuiltinModel::English));
        assert_eq!(user.effective(&without), builtin);
        let switched_off = SystemEmbeddingSettings { builtin_enabled: false, ..without };
        assert_eq!(user.effective(&switched_off), Effective::Nothing);
    }

    #[test]
    fn a_key_or_a_query_prefix_keeps_the_space_and_the_rest_does_not() {
        let old = SpaceSettings::default();
        let changed = |change: fn(&mut SpaceSettings)| {
            let mut other = SpaceSettings::default();
            change(&mut other);
            other
        };
        for same in [
            changed(|s| s.endpoint.sealed_key = Some(vec![1])),
            changed(|s| s.query_prefix = "query: ".into()),
        ] {
            assert!(same.makes_the_vectors_of(&old), "{same:?}");
        }
        for other in [
            changed(|s| s.endpoint.url = "http://localhost:8081/v1".into()),
            changed(|s| s.endpoint.model = "other".into()),
            changed(|s| s.endpoint.provider_type = ProviderType::Ollama),
            changed(|s| s.dimensions = Some(256)),
            changed(|s| s.document_prefix = "passage: ".into()),
        ] {
            assert!(!other.makes_the_vectors_of(&old), "{other:?}");
        }
    }
}
