//! The rows with the progress of uploads and their reports: numbers, places and sentences, never content. As the app role in a transaction that has
//! set the user.

use serde_json::{Value, json};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::export::ImportOutcome;
use crate::export::signature::FileOrigin;

/// `None` while another import of the user runs.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    bytes_total: i64,
    now: OffsetDateTime,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "INSERT INTO data_imports (user_id, state, bytes_total, started_at, updated_at)
         VALUES ($1, 'running', $2, $3, $3)
         ON CONFLICT (user_id) WHERE state = 'running' DO NOTHING
         RETURNING id",
        user.0,
        bytes_total,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Marks imports whose server stopped as failed, so that another may begin.
pub async fn end_silent(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    silent_since: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE data_imports SET state = 'failed', updated_at = $2
         WHERE user_id = $1 AND state = 'running' AND updated_at < $3",
        user.0,
        now,
        silent_since,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Updates the progress; `is_done` at the end.
pub async fn update(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    outcome: &ImportOutcome,
    is_done: bool,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE data_imports
         SET bytes_done = $3, added = $4, known = $5, failed = $6, problems = $7, updated_at = $8,
             state = CASE WHEN $9 THEN 'done' ELSE 'running' END, documents = $10, changed = $11, skipped = $12
         WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        outcome.bytes as i64,
        outcome.added as i64,
        outcome.known as i64,
        outcome.failed as i64,
        json!(outcome.problems),
        now,
        is_done,
        outcome.documents as i64,
        outcome.changed as i64,
        outcome.skipped as i64,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn set_origin(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    origin: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE data_imports SET origin = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        origin,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks the import as failed; what was imported stays.
pub async fn fail(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    error: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE data_imports SET state = 'failed', error = $3, updated_at = $4
         WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        error,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Sets the report, and forgets those of all but the newest `kept` imports.
pub async fn set_report(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    report: &str,
    kept: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE data_imports SET report = CASE WHEN id = $2 THEN $3 END
         WHERE user_id = $1 AND (id = $2 OR report IS NOT NULL)
           AND (id = $2 OR id NOT IN (SELECT n.id FROM data_imports n WHERE n.user_id = $1 ORDER BY n.id DESC LIMIT $4))",
        user.0,
        id,
        report,
        kept,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_report(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
) -> Result<Option<String>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "SELECT report FROM data_imports WHERE user_id = $1 AND id = $2",
        user.0,
        id
    );
    Ok(found.fetch_optional(conn).await?.flatten())
}

pub struct ImportRow {
    pub id: i64,
    pub state: String,
    pub bytes_total: i64,
    pub bytes_done: i64,
    pub origin: Option<FileOrigin>,
    pub added: i64,
    pub known: i64,
    pub failed: i64,
    pub documents: i64,
    pub changed: i64,
    pub skipped: i64,
    pub problems: Value,
    pub has_report: bool,
    pub error: Option<String>,
    pub started_at: OffsetDateTime,
    pub updated_at: OffsetDateTime,
}

pub async fn find_last(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<ImportRow>, sqlx::Error> {
    sqlx::query_as!(
        ImportRow,
        r#"SELECT id, state, bytes_total, bytes_done, origin AS "origin: FileOrigin", added, known, failed, documents, changed, skipped, problems,
                  report IS NOT NULL AS "has_report!", error, started_at, updated_at
           FROM data_imports WHERE user_id = $1 ORDER BY id DESC LIMIT 1"#,
        user.0
    )
    .fetch_optional(conn)
    .await
}
