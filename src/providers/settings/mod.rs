//! Embedding settings of users and admins: whose provider embeds whose texts, and how fast. Read at each use;
//! keys are stored sealed, and leave in clear only towards a provider.

mod input;
pub mod store;

pub use input::{
    EndpointForm, EndpointWish, KeyWish, Pace, parse_allowed_endpoint, parse_own_type, preset_of,
};
pub(super) use input::{KeptKey, parse_key, parse_model};

use sqlx::PgConnection;

use super::{EndpointUrl, ProviderType, Reach, builtin};
use crate::db::UserId;
use crate::seal::Bound;

/// The configuration of a space: everything that determines its vectors, and the sealed key that belongs to
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSettings {
    pub provider_type: ProviderType,
    /// Empty for the builtin model.
    pub endpoint: String,
    pub model: String,
    /// The width to request; `None`: the provider's default.
    pub dimensions: Option<i32>,
    pub query_prefix: String,
    pub document_prefix: String,
    /// For the user's own endpoint.
    pub sealed_key: Option<Vec<u8>>,
    /// For the system's endpoint: the key is stored there.
    pub system_provider_id: Option<i64>,
}

impl ProviderSettings {
    pub fn builtin() -> Self {
        Self {
            provider_type: ProviderType::Builtin,
            endpoint: String::new(),
            model: builtin::MODEL_NAME.to_owned(),
            dimensions: None,
            query_prefix: String::new(),
            document_prefix: String::new(),
            sealed_key: None,
            system_provider_id: None,
        }
    }

    /// Whether vectors of both are comparable. Ignores the query prefix, which changes no stored vector.
    pub fn makes_the_vectors_of(&self, other: &Self) -> bool {
        let identity = |s: &Self| {
            (
                s.provider_type,
                s.endpoint.clone(),
                s.model.clone(),
                s.dimensions,
                s.document_prefix.clone(),
            )
        };
        identity(self) == identity(other)
    }

    /// Identifies settings whose rebuild was cancelled.
    pub fn fingerprint(&self) -> String {
        format!(
            "{}|{}|{}|{}|{}",
            self.provider_type.as_str(),
            self.endpoint,
            self.model,
            self.dimensions.unwrap_or(0),
            self.document_prefix
        )
    }
}

/// A user's confirmed settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSettings {
    /// False: full text only.
    pub enabled: bool,
    /// Use the user's own endpoint.
    pub own_enabled: bool,
    pub own: ProviderSettings,
    pub pace: Pace,
    /// The fingerprint of the settings whose rebuild the user cancelled.
    pub declined: Option<String>,
}

impl UserSettings {
    /// The effective settings, unless the user cancelled the rebuild to them.
    pub fn awaited<'a>(&self, effective: &'a Effective) -> Option<&'a ProviderSettings> {
        let settings = effective.settings()?;
        (self.declined.as_deref() != Some(&settings.fingerprint())).then_some(settings)
    }
}

impl Default for UserSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            own_enabled: false,
            own: ProviderSettings {
                provider_type: ProviderType::Openai,
                model: String::new(),
                ..ProviderSettings::builtin()
            },
            pace: Pace::default(),
            declined: None,
        }
    }
}

/// An admin's confirmed settings for all users.
#[derive(Clone, Debug)]
pub struct SystemSettings {
    pub builtin_enabled: bool,
    /// Searches compare texts token by token, if the model provides token vectors.
    pub late_interaction: bool,
    pub pace: Pace,
    /// The system's llama.cpp, if it is in force.
    pub provider: Option<ProviderSettings>,
}

/// A user's effective provider, which depends on the configuration, never on its health: an outage must not
/// start a rebuild (DESIGN §5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effective {
    /// Switched off by the user.
    Off,
    System(ProviderSettings),
    Own(ProviderSettings),
    Builtin(ProviderSettings),
    /// Nothing is configured: full text only.
    Nothing,
}

impl Effective {
    pub fn of(user: &UserSettings, system: &SystemSettings, has_builtin: bool) -> Self {
        match &system.provider {
            _ if !user.enabled => Self::Off,
            Some(provider) => Self::System(provider.clone()),
            None if user.own_enabled => Self::Own(user.own.clone()),
            None if has_builtin && system.builtin_enabled => {
                Self::Builtin(ProviderSettings::builtin())
            }
            None => Self::Nothing,
        }
    }

    pub fn settings(&self) -> Option<&ProviderSettings> {
        match self {
            Self::System(s) | Self::Own(s) | Self::Builtin(s) => Some(s),
            Self::Off | Self::Nothing => None,
        }
    }
}

/// Binds a user's own key to its row.
pub fn own_key(user: UserId) -> Bound {
    Bound {
        user_id: user.0,
        column: "embedding_settings.sealed_key",
    }
}

/// Binds a key between Save and Confirm to its user.
pub fn staged_key(user: UserId) -> Bound {
    Bound {
        user_id: user.0,
        column: "staged key",
    }
}

/// Binds the system's keys to their rows.
pub const SYSTEM_KEY: Bound = Bound {
    user_id: 0,
    column: "system_providers.sealed_key",
};

/// A user's settings, or the defaults.
pub async fn of_user(conn: &mut PgConnection, user: UserId) -> Result<UserSettings, sqlx::Error> {
    Ok(store::find_user_settings(conn, user)
        .await?
        .unwrap_or_default())
}

/// How far a user's own endpoint may reach.
pub async fn reach(
    conn: &mut PgConnection,
    user: UserId,
    url: &EndpointUrl,
) -> Result<Reach, sqlx::Error> {
    let may = store::may_reach_private(conn, user, url.host(), url.port()).await?;
    Ok(if may { Reach::Private } else { Reach::Public })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(provider: Option<ProviderSettings>) -> SystemSettings {
        SystemSettings {
            builtin_enabled: true,
            late_interaction: true,
            pace: Pace::default(),
            provider,
        }
    }

    #[test]
    fn the_effective_provider_is_the_first_that_is_configured() {
        let llamacpp = ProviderSettings {
            provider_type: ProviderType::Llamacpp,
            ..ProviderSettings::builtin()
        };
        let user = UserSettings::default();
        let own = UserSettings {
            own_enabled: true,
            ..UserSettings::default()
        };
        let off = UserSettings {
            enabled: false,
            ..own.clone()
        };
        let with = system(Some(llamacpp.clone()));
        assert_eq!(Effective::of(&off, &with, true), Effective::Off);
        assert_eq!(
            Effective::of(&own, &with, true),
            Effective::System(llamacpp)
        );
        assert_eq!(
            Effective::of(&own, &system(None), true),
            Effective::Own(own.own.clone())
        );
        assert!(matches!(
            Effective::of(&user, &system(None), true),
            Effective::Builtin(_)
        ));
        assert_eq!(
            Effective::of(&user, &system(None), false),
            Effective::Nothing
        );
        let switched_off = SystemSettings {
            builtin_enabled: false,
            ..system(None)
        };
        assert_eq!(
            Effective::of(&user, &switched_off, true),
            Effective::Nothing
        );
    }

    #[test]
    fn a_key_or_a_query_prefix_keeps_the_space_and_the_rest_does_not() {
        let old = ProviderSettings {
            provider_type: ProviderType::Openai,
            endpoint: "http://localhost:8080/v1".into(),
            ..ProviderSettings::builtin()
        };
        let same = ProviderSettings {
            sealed_key: Some(vec![1]),
            query_prefix: "query: ".into(),
            ..old.clone()
        };
        assert!(same.makes_the_vectors_of(&old));
        for other in [
            ProviderSettings {
                endpoint: "http://localhost:8081/v1".into(),
                ..old.clone()
            },
            ProviderSettings {
                model: "other".into(),
                ..old.clone()
            },
            ProviderSettings {
                dimensions: Some(256),
                ..old.clone()
            },
            ProviderSettings {
                document_prefix: "passage: ".into(),
                ..old.clone()
            },
            ProviderSettings {
                provider_type: ProviderType::Ollama,
                ..old.clone()
            },
        ] {
            assert!(!other.makes_the_vectors_of(&old), "{other:?}");
        }
    }
}
