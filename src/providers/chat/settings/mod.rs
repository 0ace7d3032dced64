//! Chat settings of users and admins: whose model answers, and how many tokens it may use per day. Keys are
//! stored sealed, and leave in clear only towards an endpoint.

mod input;
pub mod store;

pub use input::{CAP_TOKENS_MAX, CAP_TOKENS_MIN, ChatForm};
pub(super) use input::{ChatWish, parse_cap};

use super::{Allowances, DAILY_TOKEN_CAP};
use crate::db::UserId;
use crate::providers::ProviderType;
use crate::seal::Bound;

/// A stored chat endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatProvider {
    /// `Openai`, `Ollama` or `Llamacpp`.
    pub provider_type: ProviderType,
    /// Empty: none is set.
    pub endpoint: String,
    pub model: String,
    pub sealed_key: Option<Vec<u8>>,
}

impl Default for ChatProvider {
    fn default() -> Self {
        Self {
            provider_type: ProviderType::Openai,
            endpoint: String::new(),
            model: String::new(),
            sealed_key: None,
        }
    }
}

/// A user's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatSettings {
    /// False: no model reads anything of this user.
    pub enabled: bool,
    /// Use the user's own endpoint.
    pub own_enabled: bool,
    pub own: ChatProvider,
    /// `None`: the server's default.
    pub daily_token_cap: Option<i64>,
    /// What the model may be used for.
    pub purposes: Allowances,
}

impl Default for ChatSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            own_enabled: false,
            own: ChatProvider::default(),
            daily_token_cap: None,
            purposes: Allowances::default(),
        }
    }
}

/// An admin's settings for all users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemChat {
    pub provider: ChatProvider,
    /// Per user that it serves.
    pub daily_token_cap: i64,
}

/// Whose endpoint it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Own,
    System,
}

/// A user's effective provider, by configuration. Unlike for embeddings, the user's own takes precedence over
/// the system's: a change recomputes nothing, and a conversation goes where its user has sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effective {
    /// Switched off by the user.
    Off,
    Own(ChatProvider),
    System(ChatProvider),
    /// Nothing is configured.
    Nothing,
}

impl Effective {
    pub fn of(user: &ChatSettings, system: &SystemChat) -> Self {
        match user {
            user if !user.enabled => Self::Off,
            user if user.own_enabled => Self::Own(user.own.clone()),
            _ if !system.provider.endpoint.is_empty() => Self::System(system.provider.clone()),
            _ => Self::Nothing,
        }
    }

    pub fn provider(&self) -> Option<(Who, &ChatProvider)> {
        match self {
            Self::Own(provider) => Some((Who::Own, provider)),
            Self::System(provider) => Some((Who::System, provider)),
            Self::Off | Self::Nothing => None,
        }
    }

    /// Whose limits apply, even while no provider is effective.
    pub(super) fn would_be(&self, system: &SystemChat) -> Who {
        match self.provider() {
            Some((who, _)) => who,
            None if system.provider.endpoint.is_empty() => Who::Own,
            None => Who::System,
        }
    }
}

/// Tokens per day. With the system's endpoint, its limit applies, and a user may set a lower one; with an own
/// endpoint, the user sets the limit.
pub fn cap(user: &ChatSettings, system: &SystemChat, who: Who) -> i64 {
    match who {
        Who::Own => user.daily_token_cap.unwrap_or(DAILY_TOKEN_CAP),
        Who::System => {
            let of_all = system.daily_token_cap;
            user.daily_token_cap.map_or(of_all, |own| own.min(of_all))
        }
    }
}

/// Binds a user's own key to its row.
pub fn own_key(user: UserId) -> Bound {
    Bound {
        user_id: user.0,
        column: "chat_settings.sealed_key",
    }
}

/// Binds the system's key to its row.
pub const SYSTEM_KEY: Bound = Bound {
    user_id: 0,
    column: "system_chat_provider.sealed_key",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(endpoint: &str) -> ChatProvider {
        ChatProvider {
            endpoint: endpoint.to_owned(),
            ..ChatProvider::default()
        }
    }

    fn system(endpoint: &str, daily_token_cap: i64) -> SystemChat {
        SystemChat {
            provider: provider(endpoint),
            daily_token_cap,
        }
    }

    #[test]
    fn ones_own_comes_first_then_the_systems_and_off_is_off() {
        let own = ChatSettings {
            own_enabled: true,
            own: provider("http://own"),
            ..ChatSettings::default()
        };
        let off = ChatSettings {
            enabled: false,
            ..own.clone()
        };
        let none = ChatSettings::default();
        let (some, nothing) = (system("http://system", 1), system("", 1));
        assert_eq!(Effective::of(&off, &some), Effective::Off);
        assert_eq!(
            Effective::of(&own, &some),
            Effective::Own(provider("http://own"))
        );
        assert_eq!(
            Effective::of(&none, &some),
            Effective::System(provider("http://system"))
        );
        assert_eq!(Effective::of(&none, &nothing), Effective::Nothing);
    }

    #[test]
    fn the_systems_cap_binds_those_it_pays_for_and_no_others() {
        let with = |daily_token_cap| ChatSettings {
            daily_token_cap,
            ..ChatSettings::default()
        };
        let system = system("http://system", 50_000);
        assert_eq!(cap(&with(None), &system, Who::System), 50_000);
        assert_eq!(cap(&with(Some(9_000)), &system, Who::System), 9_000);
        assert_eq!(cap(&with(Some(900_000)), &system, Who::System), 50_000);
        assert_eq!(cap(&with(None), &system, Who::Own), DAILY_TOKEN_CAP);
        assert_eq!(cap(&with(Some(900_000)), &system, Who::Own), 900_000);
    }
}
