//! SQL of a user's agents and their tokens. Each function takes a connection bound to its user.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::settings::AgentSettings;
use crate::accounts::model::{
    Agent, AgentId, AgentName, Scope, Scopes, TokenId, TokenRecord, ToolProfile, UserId,
};

/// Returns false if the user has no such agent.
pub async fn switch_agent_memory(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    on: bool,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE agents SET memory_enabled = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        agent.0,
        on,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns false if the user has no such agent.
pub async fn set_profile(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    profile: ToolProfile,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE agents SET tool_profile = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        agent.0,
        profile.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns false if the user has no such agent.
pub async fn set_settings(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    settings: &Value,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE agents SET settings = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        agent.0,
        settings,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn count_agents(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM agents WHERE user_id = $1"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// `None` if the user already has an agent with this name.
pub async fn insert_agent(
    conn: &mut PgConnection,
    user: UserId,
    name: &AgentName,
    now: OffsetDateTime,
) -> Result<Option<AgentId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "INSERT INTO agents (user_id, name, created_at) VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT agents_name_key DO NOTHING
         RETURNING id",
        user.0,
        name.as_str(),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(AgentId))
}

pub async fn exists(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM agents WHERE user_id = $1 AND id = $2) AS "exists!""#,
        user.0,
        agent.0,
    )
    .fetch_one(conn)
    .await
}

pub async fn find_agent_by_name(
    conn: &mut PgConnection,
    user: UserId,
    name: &AgentName,
) -> Result<Option<AgentId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "SELECT id FROM agents WHERE user_id = $1 AND name = $2",
        user.0,
        name.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(AgentId))
}

pub async fn find_agent_name(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT name FROM agents WHERE user_id = $1 AND id = $2",
        user.0,
        agent.0
    )
    .fetch_optional(conn)
    .await
}

/// All agents of the user, by name.
pub async fn list_names(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(AgentId, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, name FROM agents WHERE user_id = $1 ORDER BY name",
        user.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (AgentId(row.id), row.name))
        .collect())
}

/// Newest first.
pub async fn list_agents(conn: &mut PgConnection, user: UserId) -> Result<Vec<Agent>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT a.id, a.name, a.created_at, a.memory_enabled, a.tool_profile, a.settings,
                  coalesce(i.item_count, 0) AS "item_count!"
           FROM agents a
           LEFT JOIN (
               SELECT agent_id, count(*) AS item_count FROM memory_items
               WHERE user_id = $1 AND theme_id IS NOT NULL GROUP BY agent_id
           ) i ON i.agent_id = a.id
           WHERE a.user_id = $1 ORDER BY a.id DESC"#,
        user.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Agent {
            id: AgentId(row.id),
            name: row.name,
            created_at: row.created_at,
            memory_enabled: row.memory_enabled,
            profile: ToolProfile::from_column(&row.tool_profile),
            item_count: row.item_count,
            settings: AgentSettings::from_column(&row.settings),
        })
        .collect())
}

pub async fn count_tokens(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM agent_tokens
           WHERE user_id = $1 AND agent_id = $2 AND revoked_at IS NULL"#,
        user.0,
        agent.0,
    )
    .fetch_one(conn)
    .await
}

/// A new token.
pub struct NewTokenRow<'a> {
    pub agent_id: AgentId,
    pub token_hash: &'a [u8],
    pub hint: &'a str,
    pub scopes: &'a Scopes,
    pub expires_at: Option<OffsetDateTime>,
}

pub async fn insert_token(
    conn: &mut PgConnection,
    user: UserId,
    token: NewTokenRow<'_>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let scopes: Vec<String> = token
        .scopes
        .iter()
        .map(|s: &Scope| s.as_str().to_owned())
        .collect();
    sqlx::query!(
        "INSERT INTO agent_tokens (user_id, agent_id, token_hash, hint, scopes, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        user.0,
        token.agent_id.0,
        token.token_hash,
        token.hint,
        &scopes,
        now,
        token.expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Of all agents of the user, newest first.
pub async fn list_tokens(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(AgentId, TokenRecord)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, agent_id, hint, scopes, created_at, expires_at, last_used_at, revoked_at
         FROM agent_tokens WHERE user_id = $1 ORDER BY id DESC",
        user.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let token = TokenRecord {
                id: TokenId(row.id),
                hint: row.hint,
                scopes: row.scopes,
                created_at: row.created_at,
                expires_at: row.expires_at,
                last_used_at: row.last_used_at,
                revoked_at: row.revoked_at,
            };
            (AgentId(row.agent_id), token)
        })
        .collect())
}

/// Returns false if the user has no such token. Revoking again keeps the first time.
pub async fn revoke_token(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    token: TokenId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE agent_tokens SET revoked_at = coalesce(revoked_at, $4)
         WHERE user_id = $1 AND agent_id = $2 AND id = $3",
        user.0,
        agent.0,
        token.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
