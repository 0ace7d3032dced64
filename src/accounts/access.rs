//! Authentication of tokens: an agent's token acts for its user, a service token for the operator's user that the call names.
//! Each call asks the database, so that revoking and disabling take effect at once.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{ExternalId, Lent, OperatorId, Scopes, ToolProfile, UserId, Viewer};
use super::operators::store as operator_store;
use super::{AccountError, Accounts, LAST_USE_RESOLUTION, Token, store};
use crate::clock::Zone;
use crate::db::actor::Actor;

/// What a token may do, and for whom.
#[derive(Clone, Debug)]
pub struct AgentAccess {
    /// Checked again by every transaction of the call.
    pub actor: Actor,
    pub token_owner: TokenOwner,
    pub acting_for: ActingFor,
    pub scopes: Scopes,
    /// Set if memory is switched off: then nothing may be read or written.
    pub memory_off: Option<MemoryOff>,
    /// Whether the user stores search queries in the activity.
    pub keeps_queries: bool,
    /// Which tools are listed.
    pub profile: ToolProfile,
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

/// An operator's user that does not exist yet. The first tool call creates it ([`Accounts::make_user`]); a look-up does not.
#[derive(Clone, Debug)]
pub struct NewUser {
    pub(super) operator_id: OperatorId,
    pub(super) external_id: ExternalId,
    pub(super) users_count: i32,
    pub(super) users_max: i32,
}

/// What memory is switched off for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOff {
    User,
    Agent,
}

impl MemoryOff {
    fn of(user_enabled: bool, agent_enabled: bool) -> Option<Self> {
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
pub(super) struct TokenState {
    pub revoked: bool,
    pub expires_at: Option<OffsetDateTime>,
    pub last_used_at: Option<OffsetDateTime>,
}

impl TokenState {
    fn refusal(&self, now: OffsetDateTime) -> Option<TokenRefusal> {
        if self.revoked {
            Some(TokenRefusal::Revoked)
        } else if self.expires_at.is_some_and(|at| at <= now) {
            Some(TokenRefusal::Expired)
        } else {
            None
        }
    }

    fn is_use_worth_noting(&self, now: OffsetDateTime) -> bool {
        self.last_used_at
            .is_none_or(|at| now - at >= LAST_USE_RESOLUTION)
    }
}

type Opened<E = AccountError> = Result<Result<AgentAccess, TokenRefusal>, E>;

impl Accounts {
    /// Authenticates a token; `act_as` is the user of a service token.
    pub async fn open(&self, token: &Token, act_as: Option<&ExternalId>) -> Opened {
        let mut conn = self.db.look_up().await?;
        let opened = self.open_on(&mut conn, token, act_as).await;
        if let Err(error) = &opened
            && let Some(mut other) = conn.another_after(error).await?
        {
            return Ok(self.open_on(&mut other, token, act_as).await?);
        }
        Ok(opened?)
    }

    async fn open_on(
        &self,
        conn: &mut PgConnection,
        token: &Token,
        act_as: Option<&ExternalId>,
    ) -> Opened<sqlx::Error> {
        match act_as {
            None => self.open_own(conn, token).await,
            Some(user) => self.open_for(conn, token, user).await,
        }
    }

    async fn open_own(&self, conn: &mut PgConnection, token: &Token) -> Opened<sqlx::Error> {
        let now = self.clock.now();
        let Some(found) = store::find_token(conn, &token.hash()).await? else {
            let service = operator_store::find_token(conn, &token.hash(), None).await?;
            return Ok(Err(service.map_or(TokenRefusal::Unknown, |found| {
                let refusal = found.state.refusal(now);
                refusal.unwrap_or(TokenRefusal::UserNeeded)
            })));
        };
        if let Some(refusal) = found.state.refusal(now) {
            return Ok(Err(refusal));
        }
        if found.user_disabled {
            return Ok(Err(TokenRefusal::UserDisabled));
        }
        if found.state.is_use_worth_noting(now) {
            store::touch_token(conn, found.user_id, found.token_id, now).await?;
        }
        Ok(Ok(AgentAccess {
            actor: Actor::Agent {
                user: found.user_id,
                token_id: found.token_id.0,
            },
            token_owner: TokenOwner::User(found.user_id),
            acting_for: ActingFor::User(Viewer {
                user_id: found.user_id,
                agent_id: Some(found.agent_id),
                lent: found.lent,
            }),
            scopes: found.scopes,
            memory_off: MemoryOff::of(found.user_memory_enabled, found.agent_memory_enabled),
            keeps_queries: found.keeps_queries,
            profile: found.profile,
        }))
    }

    /// Searches only the operator's own users, so that its token can never reach an account that signs in or another
    /// operator's user.
    async fn open_for(
        &self,
        conn: &mut PgConnection,
        token: &Token,
        external: &ExternalId,
    ) -> Opened<sqlx::Error> {
        let now = self.clock.now();
        let found = operator_store::find_token(conn, &token.hash(), Some(external)).await?;
        let Some(service) = found else {
            let own = store::find_token(conn, &token.hash()).await?;
            return Ok(Err(own.map_or(TokenRefusal::Unknown, |found| {
                let refusal = found.state.refusal(now);
                refusal.unwrap_or(TokenRefusal::UserNotAllowed)
            })));
        };
        if let Some(refusal) = service.state.refusal(now) {
            return Ok(Err(refusal));
        }
        if service.state.is_use_worth_noting(now) {
            operator_store::touch_token(conn, service.token_id, now).await?;
        }
        let actor = Actor::Operator {
            token_id: service.token_id.0,
        };
        let token_owner = TokenOwner::Operator(service.operator_id);
        let Some(user) = service.user else {
            return Ok(Ok(AgentAccess {
                actor,
                token_owner,
                acting_for: ActingFor::NewUser(NewUser {
                    operator_id: service.operator_id,
                    external_id: external.clone(),
                    users_count: service.users_count,
                    users_max: service.users_max,
                }),
                scopes: service.scopes,
                memory_off: None,
                keeps_queries: false,
                profile: service.profile,
            }));
        };
        if user.disabled {
            return Ok(Err(TokenRefusal::UserDisabled));
        }
        Ok(Ok(AgentAccess {
            actor,
            token_owner,
            acting_for: ActingFor::User(Viewer {
                user_id: user.user_id,
                agent_id: Some(user.agent_id),
                lent: service.pool.map(|pool| Lent {
                    user_id: pool,
                    leader: None,
                    name: Lent::POOL.into(),
                }),
            }),
            scopes: service.scopes,
            memory_off: MemoryOff::of(user.user_memory_enabled, user.agent_memory_enabled),
            // Only a page can enable it, and such a user has no access to pages.
            keeps_queries: false,
            profile: service.profile,
        }))
    }

    /// Takes effect at the next call of any agent of the user.
    pub async fn switch_user_memory(&self, user: UserId, on: bool) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        store::switch_user_memory(&mut tx, user, on, self.clock.now()).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Takes effect when a schedule is next due.
    pub async fn set_time_zone(&self, user: UserId, zone: &Zone) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        store::set_time_zone(&mut tx, user, zone, self.clock.now()).await?;
        tx.commit().await?;
        Ok(())
    }
}
