//! The statements of turns. They run as the app role in a transaction that has set the user, unless they say
//! otherwise; those see ids only.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Conversations, SessionWithTurnsDue};
use crate::db::UserId;
use crate::sessions::model::SessionId;

/// As the system role: users with messages without turns, with turns although they are switched off, or with
/// turns that are too old.
pub async fn list_users_due(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT u.id AS "id: UserId" FROM (SELECT DISTINCT user_id FROM agents) a
         JOIN users u ON u.id = a.user_id
         WHERE u.erasing_at IS NULL
           AND (u.disabled_at IS NULL AND u.turns_searched
                AND EXISTS (SELECT FROM sessions s WHERE s.user_id = a.user_id AND s.turns_position < s.message_count)
                OR NOT u.turns_searched AND EXISTS (SELECT FROM memory_items i WHERE i.user_id = a.user_id AND i.is_turn)
                OR EXISTS (SELECT FROM memory_items i WHERE i.user_id = a.user_id AND i.is_turn
                                                        AND i.created_at < $1::timestamptz - make_interval(days => u.turn_days)))"#,
        now,
    )
    .fetch_all(conn)
    .await
}

/// The user's sessions with missing turns; none while they are switched off or the account is disabled.
pub async fn list_due(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<SessionWithTurnsDue>, sqlx::Error> {
    let rows = sqlx::query_scalar!(
        "SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.user_id = $1 AND s.turns_position < s.message_count
           AND u.turns_searched AND u.disabled_at IS NULL AND u.erasing_at IS NULL
         ORDER BY s.id LIMIT $2",
        user.0,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    let due = |id| SessionWithTurnsDue { user, session: SessionId(id) };
    Ok(rows.into_iter().map(due).collect())
}

/// A locked session with missing turns.
pub struct LockedSession {
    pub agent_id: i64,
    pub project_id: Option<i64>,
    pub turns_position: i32,
    pub message_count: i32,
    /// Turns and memory are switched on.
    pub is_wanted: bool,
    /// Older messages get no turns.
    pub turn_days: Option<i32>,
}

/// Locks the session until the transaction ends. `None` if nothing is due, or another transaction has locked it.
pub async fn hold(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<Option<LockedSession>, sqlx::Error> {
    sqlx::query_as!(
        LockedSession,
        r#"SELECT s.agent_id, s.project_id, s.turns_position, s.message_count, u.turn_days,
                  u.turns_searched AND u.memory_enabled AND a.memory_enabled AS "is_wanted!"
           FROM sessions s
           JOIN users u ON u.id = s.user_id
           JOIN agents a ON a.user_id = s.user_id AND a.id = s.agent_id
           WHERE s.user_id = $1 AND s.id = $2 AND s.turns_position < s.message_count
           FOR NO KEY UPDATE OF s SKIP LOCKED"#,
        user.0,
        session.0,
    )
    .fetch_optional(conn)
    .await
}

pub async fn note_made(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    up_to: i32,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE sessions SET turns_position = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        session.0,
        up_to,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether a user's turns are searched; false if the user is gone.
pub async fn are_on(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    let are_on = sqlx::query_scalar!("SELECT turns_searched FROM users WHERE id = $1", user.0)
        .fetch_optional(conn)
        .await?;
    Ok(are_on.unwrap_or(false))
}

/// The user's sessions, and the messages that search finds; both up to this limit.
pub async fn count(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Conversations, sqlx::Error> {
    sqlx::query_as!(
        Conversations,
        r#"SELECT (SELECT count(*) FROM (SELECT FROM sessions WHERE user_id = $1 LIMIT $2) s) AS "sessions!",
                  (SELECT count(*) FROM (SELECT FROM memory_items
                                         WHERE user_id = $1 AND turn_session_id IS NOT NULL AND turn_part = 1 LIMIT $2) t) AS "messages!""#,
        user.0,
        limit,
    )
    .fetch_one(conn)
    .await
}

/// False if nothing changed.
pub async fn switch(
    conn: &mut PgConnection,
    user: UserId,
    is_on: bool,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE users SET turns_searched = $2, updated_at = $3 WHERE id = $1 AND turns_searched <> $2",
        user.0,
        is_on,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Marks all of the user's sessions as due again.
pub async fn mark_all_due(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE sessions SET turns_position = 0 WHERE user_id = $1 AND turns_position > 0",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes some of the user's turns: any if they are switched off, otherwise those that are too old. Returns
/// how many.
pub async fn remove(
    conn: &mut PgConnection,
    user: UserId,
    rows_max: i32,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    // The function takes the owner from the transaction; without a user it deletes nothing.
    sqlx::query_scalar!(
        r#"SELECT remove_turns($1, $3::timestamptz - make_interval(days => turn_days)) AS "removed!" FROM users WHERE id = $2"#,
        rows_max,
        user.0,
        now
    )
    .fetch_one(conn)
    .await
}
