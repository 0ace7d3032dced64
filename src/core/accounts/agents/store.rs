//! SQL of a user's agents. Each function takes a connection bound to its user.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::agent_settings::AgentSettings;
use crate::accounts::model::{Agent, AgentId, AgentName, ToolProfile, UserId};

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
    sqlx::query_scalar!(r#"SELECT count(*) AS "n!" FROM agents WHERE user_id = $1"#, user.0)
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
    sqlx::query_scalar!(
        r#"INSERT INTO agents (user_id, name, created_at) VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT agents_name_key DO NOTHING
         RETURNING id AS "id: AgentId""#,
        user.0,
        name.as_str(),
        now,
    )
    .fetch_optional(conn)
    .await
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
    sqlx::query_scalar!(
        r#"SELECT id AS "id: AgentId" FROM agents WHERE user_id = $1 AND name = $2"#,
        user.0,
        name.as_str(),
    )
    .fetch_optional(conn)
    .await
}

/// All agents of the user, by name.
pub async fn list_names(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(AgentId, String)>, sqlx::Error> {
    let rows = sqlx::query!("SELECT id, name FROM agents WHERE user_id = $1 ORDER BY name", user.0)
        .fetch_all(conn)
        .await?;
    Ok(rows.into_iter().map(|row| (AgentId(row.id), row.name)).collect())
}

/// Newest first.
pub async fn list_agents(conn: &mut PgConnection, user: UserId) -> Result<Vec<Agent>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT a.id, a.name, a.created_at, a.memory_enabled, a.tool_profile AS "tool_profile: ToolProfile", a.settings,
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
            profile: row.tool_profile,
            item_count: row.item_count,
            settings: AgentSettings::from_column(&row.settings),
        })
        .collect())
}
