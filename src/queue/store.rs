//! The statements on apalis' tables. They are not checked against the schema at
//! build time: those tables are made by apalis' own migrations.

use sqlx::{AssertSqlSafe, PgConnection, Row, SqlSafeStr, SqlStr};
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

/// The jobs of a queue that have not ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueCounts {
    pub queue: String,
    /// Could begin now.
    pub waiting: i64,
    /// Wait for a later time.
    pub delayed: i64,
    pub running: i64,
    /// Given up, or ended with an error.
    pub failed: i64,
    /// Of those that wait: since when the first could have begun.
    pub waiting_since: Option<OffsetDateTime>,
    pub running_since: Option<OffsetDateTime>,
}

/// As the system role; a queue without a job is not among them.
pub async fn count_jobs(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<Vec<QueueCounts>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT job_type,
                count(*) FILTER (WHERE status = 'Pending' AND run_at <= $1) AS waiting,
                count(*) FILTER (WHERE status = 'Pending' AND run_at > $1) AS delayed,
                count(*) FILTER (WHERE status IN ('Queued', 'Running')) AS running,
                count(*) FILTER (WHERE status IN ('Failed', 'Killed')) AS failed,
                min(run_at) FILTER (WHERE status = 'Pending' AND run_at <= $1) AS waiting_since,
                min(lock_at) FILTER (WHERE status IN ('Queued', 'Running')) AS running_since
         FROM apalis.jobs WHERE status <> 'Done' GROUP BY job_type ORDER BY job_type",
    )
    .bind(now)
    .fetch_all(conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(QueueCounts {
                queue: row.try_get("job_type")?,
                waiting: row.try_get("waiting")?,
                delayed: row.try_get("delayed")?,
                running: row.try_get("running")?,
                failed: row.try_get("failed")?,
                waiting_since: row.try_get("waiting_since")?,
                running_since: row.try_get("running_since")?,
            })
        })
        .collect()
}

/// When a worker of any process last said that it lives; as the system role.
pub async fn worker_last_seen(
    conn: &mut PgConnection,
) -> Result<Option<OffsetDateTime>, sqlx::Error> {
    sqlx::query_scalar("SELECT max(last_seen) FROM apalis.workers")
        .fetch_one(conn)
        .await
}

/// A job that was given up.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct FailedJob {
    pub id: String,
    #[sqlx(rename = "job_type")]
    pub queue: String,
    pub attempts: i32,
    #[sqlx(rename = "done_at")]
    pub ended_at: Option<OffsetDateTime>,
}

/// As the system role; those that ended last come first.
pub async fn list_failed(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<FailedJob>, sqlx::Error> {
    sqlx::query_as(
        "SELECT id, job_type, attempts, done_at FROM apalis.jobs
         WHERE status IN ('Failed', 'Killed') ORDER BY done_at DESC NULLS LAST, id LIMIT $1",
    )
    .bind(limit)
    .fetch_all(conn)
    .await
}

/// As the system role: a job that was given up begins anew. Returns how many there were.
pub async fn retry_failed(
    conn: &mut PgConnection,
    id: &str,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query(
        "UPDATE apalis.jobs SET status = 'Pending', attempts = 0, run_at = $2, done_at = NULL,
                                lock_at = NULL, lock_by = NULL
         WHERE id = $1 AND status IN ('Failed', 'Killed')",
    )
    .bind(id)
    .bind(now)
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// As the system role. Returns how many there were.
pub async fn remove_failed(conn: &mut PgConnection, id: &str) -> Result<u64, sqlx::Error> {
    let done =
        sqlx::query("DELETE FROM apalis.jobs WHERE id = $1 AND status IN ('Failed', 'Killed')")
            .bind(id)
            .execute(conn)
            .await?;
    Ok(done.rows_affected())
}
