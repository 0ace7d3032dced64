//! SQL of undos, as the app role in a transaction bound to its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::MadeUndo;
use crate::accounts::AgentId;
use crate::db::UserId;

/// Records an undo, before its documents.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    (since, made_at): (OffsetDateTime, OffsetDateTime),
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO agent_undos (user_id, agent_id, since, made_at, ended_at) VALUES ($1, $2, $3, $4, $4)",
        user.0,
        agent.0,
        since,
        made_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The undo has ended, or, once it was taken back, that has.
pub async fn end(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    made_at: OffsetDateTime,
    ended_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE agent_undos SET ended_at = CASE WHEN taken_back_at IS NULL THEN $4 ELSE ended_at END,
                back_ended_at = CASE WHEN taken_back_at IS NULL THEN back_ended_at ELSE $4 END
         WHERE user_id = $1 AND agent_id = $2 AND made_at = $3",
        user.0,
        agent.0,
        made_at,
        ended_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Of one that changed nothing.
pub async fn delete(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    made_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM agent_undos WHERE user_id = $1 AND agent_id = $2 AND made_at = $3",
        user.0,
        agent.0,
        made_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn take_back(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    made_at: OffsetDateTime,
    at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE agent_undos SET taken_back_at = $4, back_ended_at = $4
         WHERE user_id = $1 AND agent_id = $2 AND made_at = $3",
        user.0,
        agent.0,
        made_at,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The last one that was not taken back.
pub async fn find_last(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
) -> Result<Option<MadeUndo>, sqlx::Error> {
    sqlx::query_as!(
        MadeUndo,
        "SELECT since, made_at, ended_at FROM agent_undos
         WHERE user_id = $1 AND agent_id = $2 AND taken_back_at IS NULL ORDER BY made_at DESC LIMIT 1",
        user.0,
        agent.0,
    )
    .fetch_optional(conn)
    .await
}

/// The last one of each agent that was not taken back.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(i64, MadeUndo)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT DISTINCT ON (agent_id) agent_id, since, made_at, ended_at FROM agent_undos
         WHERE user_id = $1 AND taken_back_at IS NULL ORDER BY agent_id, made_at DESC",
        user.0
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let made = MadeUndo { since: row.since, made_at: row.made_at, ended_at: row.ended_at };
        (row.agent_id, made)
    });
    Ok(rows.collect())
}
