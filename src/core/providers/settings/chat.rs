//! Chat settings: whose model answers, for which purposes, and how many tokens it may use per day.

use super::{
    Allowances, CAP_TOKENS_MAX, CAP_TOKENS_MIN, DAILY_TOKEN_CAP, Effective, EndpointOwner,
    EndpointSettings,
};
use crate::input::{Invalid, number};

/// A user's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserChatSettings {
    /// False: no model reads anything of this user.
    pub enabled: bool,
    /// Use the user's own endpoint.
    pub own_enabled: bool,
    pub own: EndpointSettings,
    /// `None`: the server's default.
    pub daily_token_cap: Option<i64>,
    /// What the model may be used for.
    pub purposes: Allowances,
    /// A restore has switched it off, because of the own endpoint.
    pub is_paused: bool,
}

impl Default for UserChatSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            own_enabled: false,
            own: EndpointSettings::default(),
            daily_token_cap: None,
            purposes: Allowances::default(),
            is_paused: false,
        }
    }
}

/// An admin's settings for all users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemChatSettings {
    pub endpoint: EndpointSettings,
    /// Per user that it serves.
    pub daily_token_cap: i64,
}

impl UserChatSettings {
    /// Unlike for embeddings, the user's own takes precedence over the system's: a change recomputes nothing,
    /// and a conversation goes where its user has sent it.
    pub fn effective(&self, system: &SystemChatSettings) -> Effective<EndpointSettings> {
        match self {
            user if !user.enabled => Effective::Off,
            user if user.own_enabled => Effective::Own(user.own.clone()),
            _ if system.endpoint.is_set() => Effective::System(system.endpoint.clone()),
            _ => Effective::Nothing,
        }
    }

    /// Tokens per day, even while no endpoint is effective. With the system's endpoint, its limit applies, and
    /// a user may set a lower one; with an own endpoint, the user sets the limit.
    pub fn cap(&self, system: &SystemChatSettings) -> i64 {
        let owner = match self.effective(system).owner() {
            None if system.endpoint.is_set() => EndpointOwner::System,
            owner => owner.unwrap_or(EndpointOwner::User),
        };
        let of_all = system.daily_token_cap;
        match (owner, self.daily_token_cap) {
            (EndpointOwner::User, own) => own.unwrap_or(DAILY_TOKEN_CAP),
            (EndpointOwner::System, own) => own.map_or(of_all, |own| own.min(of_all)),
        }
    }
}

/// Digits, optionally grouped by commas.
pub fn parse_cap(text: &str) -> Result<i64, Invalid> {
    let digits = text.replace([',', ' '], "");
    let accepted = format!("give {CAP_TOKENS_MIN} to {CAP_TOKENS_MAX} tokens, or leave it empty");
    number("daily_token_cap", &digits, CAP_TOKENS_MIN..=CAP_TOKENS_MAX, accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> EndpointSettings {
        EndpointSettings { url: url.to_owned(), ..EndpointSettings::default() }
    }

    fn system(url: &str, daily_token_cap: i64) -> SystemChatSettings {
        SystemChatSettings { endpoint: endpoint(url), daily_token_cap }
    }

    #[test]
    fn ones_own_comes_first_then_the_systems_and_off_is_off() {
        let own = UserChatSettings {
            own_enabled: true,
            own: endpoint("http://own"),
            ..UserChatSettings::default()
        };
        let off = UserChatSettings { enabled: false, ..own.clone() };
        let none = UserChatSettings::default();
        let (some, nothing) = (system("http://system", 1), system("", 1));
        assert_eq!(off.effective(&some), Effective::Off);
        assert_eq!(own.effective(&some), Effective::Own(endpoint("http://own")));
        let of_system = Effective::System(endpoint("http://system"));
        assert_eq!(none.effective(&some), of_system);
        assert_eq!(none.effective(&nothing), Effective::Nothing);
    }

    #[test]
    fn the_systems_cap_binds_those_it_pays_for_and_no_others() {
        let system = system("http://system", 50_000);
        let cap = |own_enabled, daily_token_cap| {
            let user =
                UserChatSettings { own_enabled, daily_token_cap, ..UserChatSettings::default() };
            user.cap(&system)
        };
        assert_eq!(cap(false, None), 50_000);
        assert_eq!(cap(false, Some(9_000)), 9_000);
        assert_eq!(cap(false, Some(900_000)), 50_000);
        assert_eq!(cap(true, None), DAILY_TOKEN_CAP);
        assert_eq!(cap(true, Some(900_000)), 900_000);
    }

    #[test]
    fn a_cap_is_a_number_of_tokens_within_bounds() {
        assert_eq!(parse_cap(" 200,000 "), Ok(200_000));
        for refused in ["", "9999", "-1", "many", "1000000001", "99999999999999999999"] {
            assert!(parse_cap(refused).is_err(), "{refused}");
        }
    }
}
