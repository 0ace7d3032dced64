//! What a token may do and for whom, and why one is rejected.

use time::{Duration, OffsetDateTime};

use crate::accounts::agent_settings::MemoryScope;
use crate::accounts::model::{
    AgentId, ExternalId, OperatorId, Scope, Scopes, TokenId, ToolProfile, UserId, Viewer,
};
use crate::db::actor::Actor;

/// Minimum time between two updates of a token's last use.
const LAST_USE_RESOLUTION: Duration = Duration::minutes(1);

/// Whom a token was made for. Each kind has a table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenHolder {
    Agent(UserId, AgentId),
    /// Holds service tokens.
    Operator(OperatorId),
}

/// Options of a new token.
pub struct TokenWish {
    pub scopes: Scopes,
    pub lifetime: Option<Duration>,
    /// New tool profile of its holder; `None`: unchanged.
    pub profile: Option<ToolProfile>,
}

/// What a token may do, and for whom.
#[derive(Clone, Debug)]
pub struct AgentAccess {
    /// Checked again by every transaction of the call.
    pub actor: Actor,
    pub token_owner: TokenOwner,
    pub acting_for: ActingFor,
    pub scopes: Scopes,
    /// It acts for the user whose memory is the operator's global pool.
    pub is_for_pool: bool,
    /// Set if memory is switched off: then nothing may be read or written.
    pub memory_off: Option<MemoryOff>,
    /// Whether the user stores search queries in the activity.
    pub keeps_queries: bool,
    /// What the agent sees of its user's memory: for what is cached, since transactions read it themselves.
    pub memory_scope: MemoryScope,
    /// Which tools are listed.
    pub profile: ToolProfile,
    /// The only address that it opens, if OAuth issued it; `None`: every interface.
    pub resource: Option<String>,
}

impl AgentAccess {
    /// Whether the token has this scope and, to write the global pool, the one for that. `Err`: the scope that it lacks.
    pub fn require(&self, scope: Scope) -> Result<(), Scope> {
        let of_pool = (self.is_for_pool && scope != Scope::MemoryRead).then_some(Scope::PoolWrite);
        let lacking = [scope].into_iter().chain(of_pool).find(|one| !self.scopes.contains(one));
        lacking.map_or(Ok(()), Err)
    }
}

/// The owner of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenOwner {
    User(UserId),
    /// For any of its users.
    Operator(OperatorId),
}

#[derive(Clone, Debug)]
pub enum ActingFor {
    User(Viewer),
    NewUser(NewUser),
}

/// An operator's user that does not exist yet. The first call that reads or writes its memory creates it
/// (`Accounts::make_user`); a look-up does not.
#[derive(Clone, Debug)]
pub struct NewUser {
    pub(in crate::accounts) operator_id: OperatorId,
    pub(in crate::accounts) external_id: ExternalId,
    pub(in crate::accounts) users_count: i32,
    pub(in crate::accounts) users_max: i32,
}

/// What memory is switched off for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOff {
    User,
    Agent,
}

impl MemoryOff {
    pub(super) fn of(user_enabled: bool, agent_enabled: bool) -> Option<Self> {
        match (user_enabled, agent_enabled) {
            (false, _) => Some(Self::User),
            (true, false) => Some(Self::Agent),
            (true, true) => None,
        }
    }
}

/// Why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRefusal {
    Unknown,
    Expired,
    Revoked,
    UserDisabled,
    /// A service token without a user id.
    UserNeeded,
    /// An agent's token with a user id.
    UserNotAllowed,
}

impl TokenRefusal {
    /// Whether a new token would help.
    pub fn asks_for_a_new_token(self) -> bool {
        matches!(self, Self::Unknown | Self::Expired | Self::Revoked)
    }
}

/// The state of a token of either kind.
pub struct TokenState {
    pub revoked: bool,
    pub expires_at: Option<OffsetDateTime>,
    pub last_used_at: Option<OffsetDateTime>,
}

impl TokenState {
    pub fn refusal(&self, now: OffsetDateTime) -> Option<TokenRefusal> {
        if self.revoked {
            Some(TokenRefusal::Revoked)
        } else if self.expires_at.is_some_and(|at| at <= now) {
            Some(TokenRefusal::Expired)
        } else {
            None
        }
    }

    pub fn is_use_worth_noting(&self, now: OffsetDateTime) -> bool {
        self.last_used_at.is_none_or(|at| now - at >= LAST_USE_RESOLUTION)
    }
}

/// A token found by its hash, whatever its state.
pub struct FoundToken {
    pub id: TokenId,
    pub state: TokenState,
    pub user_disabled: bool,
    pub access: AgentAccess,
}
