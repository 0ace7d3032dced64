//! Tokens, from creation to expiry or revocation: an agent's token acts for its user, a service token for the operator's user
//! that the call names. Each call asks the database, so that revoking and disabling take effect at once.

mod model;
mod secret;
pub(super) mod store;

pub use model::{
    ActingFor, AgentAccess, MemoryOff, NewUser, TokenHolder, TokenOwner, TokenRefusal, TokenWish,
};
pub use secret::{LinkToken, Token};

use sqlx::PgConnection;

use super::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use super::model::{ExternalId, LISTED_TOKENS_MAX, Scope, TOKENS_PER_HOLDER_MAX, TokenId};
use super::{AccountError, Accounts};
use crate::db::{Tx, UserId};
use crate::input::Invalid;
use crate::replay::{self, Note, NotedAct, note_own};

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
        let now = self.clock.now();
        let (found, refusal_of_other_kind) = match act_as {
            None => (store::find_agent_token(conn, token).await?, TokenRefusal::UserNeeded),
            Some(user) => {
                (store::find_service_token(conn, token, user).await?, TokenRefusal::UserNotAllowed)
            }
        };
        let Some(found) = found else {
            let other = store::find_state(conn, token).await?;
            return Ok(Err(other.map_or(TokenRefusal::Unknown, |state| {
                state.refusal(now).unwrap_or(refusal_of_other_kind)
            })));
        };
        if let Some(refusal) = found.state.refusal(now) {
            return Ok(Err(refusal));
        }
        let owner = found.access.token_owner;
        // A service token is used even if this one of its users is disabled.
        let is_used = !found.user_disabled || matches!(owner, TokenOwner::Operator(_));
        if is_used && found.state.is_use_worth_noting(now) {
            store::touch(conn, owner, found.id, now).await?;
        }
        Ok(match found.user_disabled {
            true => Err(TokenRefusal::UserDisabled),
            false => Ok(found.access),
        })
    }

    /// Creates another token, which is shown only this once. Also returns its holder's name.
    pub async fn create_token(
        &self,
        holder: TokenHolder,
        wish: &TokenWish,
    ) -> Result<(String, Token), AccountError> {
        let mut tx = self.as_holder(holder).await?;
        let name = store::find_holder_name(&mut tx, holder).await?;
        let name = name.ok_or(AccountError::NotFound)?;
        let token = self.insert_token(&mut tx, holder, wish).await?;
        tx.commit().await?;
        Ok((name, token))
    }

    /// Takes effect at the next request.
    pub async fn revoke_token(
        &self,
        holder: TokenHolder,
        token: TokenId,
    ) -> Result<(), AccountError> {
        let mut tx = self.as_holder(holder).await?;
        if !store::revoke(&mut tx, holder, token, self.clock.now()).await? {
            return Err(AccountError::NotFound);
        }
        let action = AdminAction::RevokeServiceToken;
        self.record_of_holder(&mut tx, action, holder).await?;
        self.note_revocation(&mut tx, holder, token).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Revokes a token again after a restore. False if the user, or an operator, has no such token.
    pub async fn revoke_again(
        &self,
        user: Option<UserId>,
        token: TokenId,
    ) -> Result<bool, AccountError> {
        let mut tx = match user {
            Some(user) => self.db.as_user(user).await?,
            None => self.db.as_system().await?,
        };
        let Some(holder) = store::find_holder(&mut tx, user, token).await? else {
            return Ok(false);
        };
        drop(tx);
        self.revoke_token(holder, token).await.map(|()| true)
    }

    /// Revokes all tokens of a user's agents. Returns how many.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn revoke_all_tokens(&self, user: UserId) -> Result<u64, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let now = self.clock.now();
        let revoked = store::revoke_all(&mut tx, user, now).await?;
        for token in &revoked {
            note_own(&mut tx, NotedAct::TokenRevoked, Some(token.0), now).await?;
        }
        tx.commit().await?;
        Ok(revoked.len() as u64)
    }

    /// In the transaction that revokes it.
    pub(super) async fn note_revocation(
        &self,
        conn: &mut PgConnection,
        holder: TokenHolder,
        TokenId(token): TokenId,
    ) -> Result<(), sqlx::Error> {
        let now = self.clock.now();
        match holder {
            TokenHolder::Agent(..) => {
                note_own(conn, NotedAct::TokenRevoked, Some(token), now).await
            }
            TokenHolder::Operator(_) => {
                let what = NotedAct::ServiceTokenRevoked;
                replay::store::insert(conn, &Note::of(what, UserId(0), Some(token), now)).await
            }
        }
    }

    pub(super) async fn insert_token(
        &self,
        conn: &mut PgConnection,
        holder: TokenHolder,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        if wish.scopes.is_empty() {
            return Err(Invalid::new(
                "scope",
                "required",
                "Choose at least one scope: memory:read, memory:write or sessions:write.",
            )
            .into());
        }
        if matches!(holder, TokenHolder::Agent(..)) && wish.scopes.contains(&Scope::PoolWrite) {
            return Err(Invalid::new(
                "scope",
                "invalid_scope",
                "`pool:write` is for service tokens; an agent's token takes memory:read, memory:write and sessions:write.",
            )
            .into());
        }
        let user = match holder {
            TokenHolder::Agent(user, _) => Some(user),
            TokenHolder::Operator(_) => None,
        };
        let token = Token::generate(user)?;
        let now = self.clock.now();
        let expires_at = wish.lifetime.map(|lifetime| now + lifetime);
        if !store::insert(conn, holder, &token, &wish.scopes, expires_at, now).await? {
            let (field, sentence) = match holder {
                TokenHolder::Agent(..) => (
                    "agent",
                    format!(
                        "This agent has {TOKENS_PER_HOLDER_MAX} tokens, or {LISTED_TOKENS_MAX} with those revoked within 30 days, which is the most; revoke one, or use another agent."
                    ),
                ),
                TokenHolder::Operator(_) => (
                    "operator",
                    format!(
                        "This operator has {TOKENS_PER_HOLDER_MAX} tokens, which is the most; revoke one first."
                    ),
                ),
            };
            return Err(Invalid::new(field, "too_many", sentence).into());
        }
        if let Some(profile) = wish.profile {
            store::set_profile(conn, holder, profile).await?;
        }
        self.record_of_holder(conn, AdminAction::MakeServiceToken, holder).await?;
        Ok(token)
    }

    /// Records an admin action on an operator; what users do with their own agents is not recorded.
    pub(super) async fn record_of_holder(
        &self,
        conn: &mut PgConnection,
        action: AdminAction,
        holder: TokenHolder,
    ) -> Result<(), sqlx::Error> {
        let TokenHolder::Operator(operator) = holder else {
            return Ok(());
        };
        let (by, subject) = (AdminActor::current(), AdminSubject::Operator(operator));
        admin_events::record(conn, by, action, subject, self.clock.now()).await
    }

    async fn as_holder(&self, holder: TokenHolder) -> Result<Tx, sqlx::Error> {
        match holder {
            TokenHolder::Agent(user, _) => self.db.as_user(user).await,
            TokenHolder::Operator(_) => self.db.as_system().await,
        }
    }
}
