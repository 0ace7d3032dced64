//! The statements on apalis' tables. They are not checked against the schema at
//! build time: those tables are made by apalis' own migrations.

use sqlx::{AssertSqlSafe, PgConnection, SqlSafeStr, SqlStr};
use time::OffsetDateTime;

/// Without what the owner may not do or not every PostgreSQL can: the schema is
/// made by [`make_schema`], and pgcrypto is an extension that two old migrations
/// make and a later one stopped needing.
pub fn adapted(migration: &str) -> SqlStr {
    const LEFT_OUT: [&str; 2] = [
        "CREATE EXTENSION IF NOT EXISTS pgcrypto;",
        "CREATE SCHEMA IF NOT EXISTS apalis;",
    ];
    let adapted = LEFT_OUT
        .iter()
        .fold(migration.to_owned(), |sql, statement| {
            sql.replace(statement, "")
        });
    AssertSqlSafe(adapted).into_sql_str()
}

/// The owner's schema, made by whoever sets the database up.
pub async fn make_schema(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    let exists: bool = sqlx::query_scalar("SELECT to_regnamespace('apalis') IS NOT NULL")
        .fetch_one(&mut *conn)
        .await?;
    if !exists {
        sqlx::raw_sql("CREATE SCHEMA IF NOT EXISTS apalis AUTHORIZATION keepsake_owner")
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Requests put jobs on; workers, as the system role, do the rest.
pub async fn grant(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(
        "GRANT USAGE ON SCHEMA apalis TO keepsake_app, keepsake_system;
         GRANT INSERT ON apalis.jobs TO keepsake_app;
         -- What `is_waiting` and `bring_forward` look at: whose job, never what came of it.
         GRANT SELECT (job_type, idempotency_key, status, run_at), UPDATE (run_at) ON apalis.jobs TO keepsake_app;
         GRANT SELECT, INSERT, UPDATE, DELETE ON apalis.jobs, apalis.workers TO keepsake_system;
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA apalis TO keepsake_app, keepsake_system;",
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether a job of this key waits; if so it does not begin before the caller's
/// transaction has ended, so that it sees what is added in it.
pub async fn is_waiting(
    conn: &mut PgConnection,
    queue: &str,
    key: &str,
) -> Result<bool, sqlx::Error> {
    let waiting = sqlx::query(
        "SELECT 1 FROM apalis.jobs WHERE job_type = $1 AND idempotency_key = $2 FOR SHARE",
    )
    .bind(queue)
    .bind(key)
    .fetch_optional(conn)
    .await?;
    Ok(waiting.is_some())
}

/// Whether there is this user; if so there is until the caller's transaction has ended.
pub async fn hold_user(conn: &mut PgConnection, user_id: i64) -> Result<bool, sqlx::Error> {
    let held = sqlx::query("SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE").bind(user_id);
    Ok(held.fetch_optional(conn).await?.is_some())
}

pub async fn bring_forward(
    conn: &mut PgConnection,
    queue: &str,
    key: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE apalis.jobs SET run_at = $3
         WHERE job_type = $1 AND idempotency_key = $2 AND status = 'Pending' AND run_at > $3",
    )
    .bind(queue)
    .bind(key)
    .bind(now)
    .execute(conn)
    .await?;
    Ok(())
}

/// Of the job that runs; a newer one that waits keeps its key.
pub async fn release_key(
    conn: &mut PgConnection,
    queue: &str,
    key: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE apalis.jobs SET idempotency_key = NULL
         WHERE job_type = $1 AND idempotency_key = $2 AND status <> 'Pending'",
    )
    .bind(queue)
    .bind(key)
    .execute(conn)
    .await?;
    Ok(())
}

/// Jobs that ended before `before`, and workers that were last seen before it.
pub async fn prune(conn: &mut PgConnection, before: OffsetDateTime) -> Result<(), sqlx::Error> {
    sqlx::query(
        "DELETE FROM apalis.jobs WHERE status IN ('Done', 'Killed', 'Failed') AND done_at < $1",
    )
    .bind(before)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "DELETE FROM apalis.workers w WHERE last_seen < $1
         AND NOT EXISTS (SELECT FROM apalis.jobs j WHERE j.lock_by = w.id)",
    )
    .bind(before)
    .execute(conn)
    .await?;
    Ok(())
}
