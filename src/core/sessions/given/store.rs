//! The statements for memory in conversations, as the app role in a transaction that has set the user, unless they say otherwise.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::db::UserId;
use crate::memories::with_key;
use crate::sessions::model::SessionId;

/// Latest messages with tool calls among which the call of a result is looked for.
const CALLING_MESSAGES: i64 = 1_000;
/// Of a memory that is shown in a message.
const ITEM_CHARS_MAX: usize = 400;

/// Names of these calls, among the latest messages of a session.
pub async fn list_call_names(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    calls: &[String],
) -> Result<Vec<(String, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT c.call ->> 'id' AS "id!", c.call ->> 'name' AS "name!"
           FROM (SELECT tool_calls FROM session_messages
                 WHERE user_id = $1 AND session_id = $2 AND tool_calls IS NOT NULL ORDER BY position DESC LIMIT $4) m
           CROSS JOIN LATERAL jsonb_array_elements(m.tool_calls) c (call)
           WHERE c.call ->> 'id' = ANY ($3) AND c.call ->> 'name' IS NOT NULL"#,
        user.0,
        session.0,
        calls,
        CALLING_MESSAGES,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// What memories say, on one line with its key, by id; without those that are being deleted.
pub async fn list_said_by_items(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
) -> Result<HashMap<i64, String>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, key, left(content, $3) AS "content!" FROM memory_items
           WHERE user_id = $1 AND id = ANY ($2) AND delete_at IS NULL"#,
        user.0,
        items,
        ITEM_CHARS_MAX as i32 + 1,
    );
    let rows = rows.fetch_all(conn).await?;
    let said = rows.into_iter().map(|row| {
        let text = with_key(row.key.as_deref(), &row.content);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = match line.char_indices().nth(ITEM_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        };
        (row.id, shown)
    });
    Ok(said.collect())
}

/// As the system role: users with messages from before ids were kept in place of memory.
pub async fn list_users_unconverted(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT DISTINCT s.user_id AS "user_id: UserId" FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.ids_kept_from IS NOT NULL AND u.erasing_at IS NULL"#
    )
    .fetch_all(conn)
    .await
}

/// Locks a session with such messages until the transaction ends: its id, the position that is done, and the last.
pub async fn hold_unconverted(
    conn: &mut PgConnection,
    user: UserId,
    session: Option<SessionId>,
) -> Result<Option<(SessionId, i32, i32)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT id, ids_kept_from AS "from!", message_count FROM sessions
           WHERE user_id = $1 AND ids_kept_from IS NOT NULL AND ($2::bigint IS NULL OR id = $2)
           ORDER BY id LIMIT 1 FOR NO KEY UPDATE"#,
        user.0,
        session.map(|session| session.0),
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| (SessionId(row.id), row.from, row.message_count)))
}

/// `None`: all of the session's messages are done.
pub async fn note_converted(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    up_to: Option<i32>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE sessions SET ids_kept_from = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        session.0,
        up_to,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps this in place of a message's text, in a session that [`hold_unconverted`] holds.
pub async fn keep_ids(
    conn: &mut PgConnection,
    session: SessionId,
    position: i32,
    kept: &str,
) -> Result<(), sqlx::Error> {
    // The function returns void.
    sqlx::query("SELECT keep_ids($1, $2, $3)")
        .bind(session.0)
        .bind(position)
        .bind(kept)
        .execute(conn)
        .await?;
    Ok(())
}
