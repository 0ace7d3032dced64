//! The statements that read sessions for an export, as the app role in a transaction that has set the user.
//! They read nothing past the bounds, which came after the export began.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{ExtractionLine, MessageLine, SessionLine};
use crate::db::UserId;
use crate::export::lines::ExportBounds;

pub async fn list_sessions(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<SessionLine>, sqlx::Error> {
    sqlx::query_as!(
        SessionLine,
        r#"SELECT s.id, s.external_id, a.name AS agent, CASE WHEN s.completed_at > $5 THEN 'open' ELSE s.state END AS "state!",
                s.created_at, least(s.last_message_at, $5::timestamptz) AS "last_message_at!",
                CASE WHEN s.completed_at > $5 THEN NULL ELSE s.completed_at END AS completed_at,
                CASE WHEN s.completed_at > $5 THEN NULL ELSE s.completed_why END AS completed_why, p.name AS "project?"
         FROM sessions s JOIN agents a ON a.user_id = s.user_id AND a.id = s.agent_id
         LEFT JOIN projects p ON p.user_id = s.user_id AND p.id = s.project_id
         WHERE s.user_id = $1 AND s.id > $2 AND s.id <= $3 AND ($5::timestamptz IS NULL OR s.created_at <= $5)
         ORDER BY s.id LIMIT $4"#,
        user.0,
        after,
        bounds.session,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}

/// Messages after a session and position, up to the last session and moment.
pub async fn list_messages(
    conn: &mut PgConnection,
    user: UserId,
    after: (i64, i32),
    bounds: (i64, OffsetDateTime),
    limit: i64,
) -> Result<Vec<MessageLine>, sqlx::Error> {
    sqlx::query_as!(
        MessageLine,
        "SELECT session_id AS session, position, external_id AS id, role, content, tool_calls, tool_call_id,
                sent_at, created_at
         FROM session_messages
         WHERE user_id = $1 AND (session_id, position) > ($2, $3) AND session_id <= $4 AND created_at <= $5
         ORDER BY session_id, position LIMIT $6",
        user.0,
        after.0,
        after.1,
        bounds.0,
        bounds.1,
        limit,
    )
    .fetch_all(conn)
    .await
}

pub async fn list_extractions(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<ExtractionLine>, sqlx::Error> {
    sqlx::query_as!(
        ExtractionLine,
        "SELECT id, session_id AS session, first_position, last_position, outcome, reason, stored_count,
                merged_count, superseded_count, malformed_count, skipped_chars, is_fallback, attempts, model,
                tokens_in, tokens_out, duration_ms, created_at, ended_at
         FROM session_extractions
         WHERE user_id = $1 AND id > $2 AND session_id <= $3
           AND ($5::timestamptz IS NULL OR ended_at <= $5)
         ORDER BY id LIMIT $4",
        user.0,
        after,
        bounds.session,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}
