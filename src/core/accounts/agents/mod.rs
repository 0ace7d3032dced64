//! A user's agents: creating, listing and switching off. Never another user's.

mod store;

pub(super) use store::exists;
pub(crate) use store::list_names;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{
    AGENTS_PER_USER_MAX, Agent, AgentId, AgentName, TokenRecord, ToolProfile, UserId,
};
use super::tokens::{self, Token, TokenHolder, TokenWish};
use super::{AccountError, Accounts};
use crate::accounts::agent_settings::{AgentSettings, MemoryScope};
use crate::db::citus;
use crate::input::Invalid;
use crate::replay::{NotedAct, note_own};

/// Creates an agent, whose name must be free.
pub(super) async fn add(
    conn: &mut PgConnection,
    user: UserId,
    name: &AgentName,
    now: OffsetDateTime,
) -> Result<AgentId, AccountError> {
    if store::count_agents(conn, user).await? >= AGENTS_PER_USER_MAX {
        let sentence =
            format!("You have {AGENTS_PER_USER_MAX} agents, which is the most; use one of them.");
        return Err(Invalid::new("name", "too_many", sentence).into());
    }
    let added = store::insert_agent(conn, user, name, now).await?;
    added.ok_or_else(|| {
        let sentence = "You have an agent of this name already; choose another name, or give that one a further token.";
        Invalid::new("name", "taken", sentence).into()
    })
}

impl Accounts {
    pub async fn list_agents(
        &self,
        user: UserId,
    ) -> Result<Vec<(Agent, Vec<TokenRecord>)>, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let agents = store::list_agents(&mut tx, user).await?;
        let mut tokens = tokens::store::list(&mut tx, Some(user)).await?;
        tx.commit().await?;
        let with_tokens = agents.into_iter().map(|agent| {
            let held = tokens.remove(&TokenHolder::Agent(user, agent.id));
            (agent, held.unwrap_or_default())
        });
        Ok(with_tokens.collect())
    }

    /// Creates an agent and its first token, which is shown only this once.
    pub async fn create_agent(
        &self,
        user: UserId,
        name: &AgentName,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let agent = add(&mut tx, user, name, self.clock.now()).await?;
        let token = self.insert_token(&mut tx, TokenHolder::Agent(user, agent), wish).await?;
        tx.commit().await?;
        Ok(token)
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
        let token = self.insert_token(&mut tx, TokenHolder::Agent(user, agent), wish).await?;
        tx.commit().await?;
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
        let holder = TokenHolder::Agent(user, agent);
        if !tokens::store::set_profile(&mut tx, holder, profile).await? {
            return Err(AccountError::NotFound);
        }
        tx.commit().await?;
        Ok(())
    }

    /// All agents of the user, by name.
    pub async fn agent_names(&self, user: UserId) -> Result<Vec<(AgentId, String)>, AccountError> {
        Ok(self.db.for_user(user, list_names).await?)
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
        if settings.scope() != MemoryScope::Shared {
            let what = "Agents have no memory of their own";
            citus::require_one_server(&mut tx, "memory_scope", what).await??;
        }
        if !store::set_settings(&mut tx, user, agent, &document).await? {
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
        let noted = if on { NotedAct::AgentOn } else { NotedAct::AgentOff };
        note_own(&mut tx, noted, Some(agent.0), self.clock.now()).await?;
        tx.commit().await?;
        Ok(())
    }
}
