//! A user's agents and their tokens: creating, listing, switching off and revoking. Never another user's.

pub(super) mod settings;
mod store;

pub(super) use store::exists;
pub(crate) use store::list_names;

use super::model::{
    AGENTS_PER_USER_MAX, Agent, AgentId, AgentName, TOKENS_PER_AGENT_MAX, TokenId, TokenRecord,
    ToolProfile, UserId,
};
use super::{AccountError, Accounts, TokenWish, check_scopes, token::Token};
use crate::input::Invalid;
use settings::AgentSettings;

impl Accounts {
    pub async fn list_agents(
        &self,
        user: UserId,
    ) -> Result<Vec<(Agent, Vec<TokenRecord>)>, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let agents = store::list_agents(&mut tx, user).await?;
        let tokens = store::list_tokens(&mut tx, user).await?;
        tx.commit().await?;
        let tokens_of = |agent: &Agent| {
            tokens
                .iter()
                .filter(|(agent_id, _)| *agent_id == agent.id)
                .map(|(_, token)| token.clone())
                .collect::<Vec<_>>()
        };
        Ok(agents
            .into_iter()
            .map(|agent| (agent.clone(), tokens_of(&agent)))
            .collect())
    }

    /// Creates an agent and its first token, which is shown only this once.
    pub async fn create_agent(
        &self,
        user: UserId,
        name: &AgentName,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        if store::count_agents(&mut tx, user).await? >= AGENTS_PER_USER_MAX {
            return Err(Invalid::new(
                "name",
                "too_many",
                format!(
                    "You have {AGENTS_PER_USER_MAX} agents, which is the most; use one of them."
                ),
            )
            .into());
        }
        let agent =
            store::insert_agent(&mut tx, user, name, self.clock.now()).await?.ok_or_else(|| {
                Invalid::new(
                    "name",
                    "taken",
                    "You have an agent of this name already; choose another name, or give that one a further token.",
                )
            })?;
        let token = self.insert_token(&mut tx, user, agent, wish).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Creates another token for an agent. Also returns the agent's name.
    pub async fn create_token(
        &self,
        user: UserId,
        agent: AgentId,
        wish: &TokenWish,
    ) -> Result<(String, Token), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let name = store::find_agent_name(&mut tx, user, agent)
            .await?
            .ok_or(AccountError::NotFound)?;
        let token = self.insert_token(&mut tx, user, agent, wish).await?;
        tx.commit().await?;
        Ok((name, token))
    }

    /// Creates a token for the agent with this name, creating that if needed (`keepsake token create`).
    pub async fn create_token_by_name(
        &self,
        user: UserId,
        name: &AgentName,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let agent = match store::insert_agent(&mut tx, user, name, self.clock.now()).await? {
            Some(made) => made,
            None => store::find_agent_by_name(&mut tx, user, name)
                .await?
                .ok_or(AccountError::NotFound)?,
        };
        let token = self.insert_token(&mut tx, user, agent, wish).await?;
        tx.commit().await?;
        Ok(token)
    }

    async fn insert_token(
        &self,
        conn: &mut sqlx::PgConnection,
        user: UserId,
        agent: AgentId,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        check_scopes(&wish.scopes)?;
        if store::count_tokens(conn, user, agent).await? >= TOKENS_PER_AGENT_MAX {
            return Err(Invalid::new(
                "agent",
                "too_many",
                format!("This agent has {TOKENS_PER_AGENT_MAX} tokens, which is the most; revoke one first."),
            )
            .into());
        }
        let token = Token::generate()?;
        let now = self.clock.now();
        let row = store::NewTokenRow {
            agent_id: agent,
            token_hash: &token.hash(),
            hint: token.hint(),
            scopes: &wish.scopes,
            expires_at: wish.lifetime.map(|lifetime| now + lifetime),
        };
        store::insert_token(conn, user, row, now).await?;
        if let Some(profile) = wish.profile {
            store::set_profile(conn, user, agent, profile).await?;
        }
        Ok(token)
    }

    /// Takes effect when the agent next lists the tools.
    pub async fn choose_agent_tools(
        &self,
        user: UserId,
        agent: AgentId,
        profile: ToolProfile,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        if !store::set_profile(&mut tx, user, agent, profile).await? {
            return Err(AccountError::NotFound);
        }
        tx.commit().await?;
        Ok(())
    }

    /// All agents of the user, by name.
    pub async fn agent_names(&self, user: UserId) -> Result<Vec<(AgentId, String)>, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let names = list_names(&mut tx, user).await?;
        tx.commit().await?;
        Ok(names)
    }

    /// Takes effect at the agent's next call, and when its sessions are next read.
    pub async fn set_agent_settings(
        &self,
        user: UserId,
        agent: AgentId,
        settings: &AgentSettings,
    ) -> Result<(), AccountError> {
        let document = serde_json::to_value(settings).unwrap_or_default();
        let mut tx = self.db.as_user(user).await?;
        if !store::set_settings(&mut tx, user, agent, &document).await? {
            return Err(AccountError::NotFound);
        }
        tx.commit().await?;
        Ok(())
    }

    /// Takes effect at the next request.
    pub async fn revoke_token(
        &self,
        user: UserId,
        agent: AgentId,
        token: TokenId,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        if !store::revoke_token(&mut tx, user, agent, token, self.clock.now()).await? {
            return Err(AccountError::NotFound);
        }
        tx.commit().await?;
        Ok(())
    }

    /// Takes effect at the agent's next call.
    pub async fn switch_agent_memory(
        &self,
        user: UserId,
        agent: AgentId,
        on: bool,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        if !store::switch_agent_memory(&mut tx, user, agent, on).await? {
            return Err(AccountError::NotFound);
        }
        tx.commit().await?;
        Ok(())
    }
}
