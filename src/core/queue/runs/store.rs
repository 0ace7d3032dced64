//! The statements of recorded runs, as the system role.

use sqlx::PgConnection;
use time::{Date, Duration, OffsetDateTime};

use crate::db::UserId;

/// A run, or one slice of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord<'a> {
    pub user: UserId,
    pub job: &'a str,
    pub started_at: OffsetDateTime,
    pub ended_at: OffsetDateTime,
    pub took_ms: i64,
    pub done: i64,
    pub failed: i64,
    pub is_failed: bool,
    /// Why it failed, or did less than it could.
    pub problem: Option<&'a str>,
}

/// Adds to the user's last row of the job if it ended the same way within ten minutes and began within the
/// hour, so that a stream of adds does not become a stream of rows.
pub async fn record(conn: &mut PgConnection, run: &RunRecord<'_>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH last AS (
             SELECT id FROM job_runs WHERE user_id = $1 AND job = $2 ORDER BY id DESC LIMIT 1
         ), same AS (
             UPDATE job_runs r SET ended_at = $4, slices = slices + 1, took_ms = r.took_ms + $5,
                                   done = r.done + $6, failed = r.failed + $7
             FROM last WHERE r.user_id = $1 AND r.id = last.id AND r.problem IS NOT DISTINCT FROM $8 AND (r.outcome = 'failed') = $11
               AND r.ended_at BETWEEN $9 AND $4 AND r.started_at > $10
             RETURNING r.id
         )
         INSERT INTO job_runs (user_id, job, started_at, ended_at, took_ms, outcome, done, failed, problem)
         SELECT $1, $2, $3, $4, $5, CASE WHEN $11 THEN 'failed' ELSE 'done' END, $6, $7, $8
         WHERE NOT EXISTS (SELECT 1 FROM same)",
        run.user.0,
        run.job,
        run.started_at,
        run.ended_at,
        run.took_ms,
        run.done,
        run.failed,
        run.problem,
        run.started_at - Duration::minutes(10),
        run.started_at - Duration::hours(1),
        run.is_failed,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn prune_runs(
    conn: &mut PgConnection,
    before: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!("DELETE FROM job_runs WHERE ended_at < $1", before);
    Ok(done.execute(conn).await?.rows_affected())
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// [`SERVER`](crate::queue::SERVER) for the server's own jobs.
    pub user: UserId,
    pub job: String,
    pub ended_at: OffsetDateTime,
    pub took_ms: i64,
    pub outcome: String,
    pub done: i64,
    pub failed: i64,
    pub problem: Option<String>,
}

/// The runs of all jobs, newest first.
pub async fn list_latest(conn: &mut PgConnection, limit: i64) -> Result<Vec<PastRun>, sqlx::Error> {
    sqlx::query_as!(
        PastRun,
        r#"SELECT user_id AS "user: UserId", job, ended_at, took_ms, outcome, done, failed, problem
         FROM job_runs ORDER BY ended_at DESC, id DESC LIMIT $1"#,
        limit
    )
    .fetch_all(conn)
    .await
}

/// The sums over the recorded runs of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSums {
    pub done: i64,
    pub failed: i64,
    /// Runs that failed.
    pub failures: i64,
    /// Of the last of these.
    pub problem: Option<String>,
    /// When the last of all ended.
    pub ended_at: Option<OffsetDateTime>,
}

/// Of what ended since then, for one user or for all.
pub async fn sum(
    conn: &mut PgConnection,
    job: &str,
    only: Option<UserId>,
    since: OffsetDateTime,
) -> Result<RunSums, sqlx::Error> {
    sqlx::query_as!(
        RunSums,
        r#"SELECT coalesce(sum(done), 0)::bigint AS "done!", coalesce(sum(failed), 0)::bigint AS "failed!",
                  coalesce(sum(slices) FILTER (WHERE outcome = 'failed'), 0)::bigint AS "failures!",
                  (array_agg(problem ORDER BY ended_at DESC, id DESC) FILTER (WHERE outcome = 'failed'))[1] AS problem,
                  max(ended_at) AS ended_at
           FROM job_runs WHERE job = $1 AND ($2::bigint IS NULL OR user_id = $2) AND ended_at >= $3"#,
        job,
        only.map(|user| user.0),
        since,
    )
    .fetch_one(conn)
    .await
}

/// The last run of a job, for any user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    pub job: String,
    pub ended_at: OffsetDateTime,
    pub took_ms: i64,
    pub has_failed: bool,
    pub done: i64,
    pub failed: i64,
}

/// Omits jobs without a run.
pub async fn list_last(
    conn: &mut PgConnection,
    jobs: &[String],
) -> Result<Vec<LastRun>, sqlx::Error> {
    sqlx::query_as!(
        LastRun,
        r#"SELECT r.job, r.ended_at, r.took_ms, r.outcome = 'failed' AS "has_failed!", r.done, r.failed
           FROM unnest($1::text[]) AS j (job)
           CROSS JOIN LATERAL (
               SELECT * FROM job_runs r WHERE r.job = j.job ORDER BY r.ended_at DESC LIMIT 1) r"#,
        jobs
    )
    .fetch_all(conn)
    .await
}

/// The runs of all jobs that ended on one day (UTC), counted by slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayRuns {
    pub day: Date,
    pub done: i64,
    pub failed: i64,
}

/// Omits days without a run.
pub async fn count_by_day(
    conn: &mut PgConnection,
    since: OffsetDateTime,
) -> Result<Vec<DayRuns>, sqlx::Error> {
    sqlx::query_as!(
        DayRuns,
        r#"SELECT (ended_at AT TIME ZONE 'UTC')::date AS "day!",
                  coalesce(sum(slices) FILTER (WHERE outcome = 'done'), 0) AS "done!",
                  coalesce(sum(slices) FILTER (WHERE outcome = 'failed'), 0) AS "failed!"
           FROM job_runs WHERE ended_at >= $1 GROUP BY 1 ORDER BY 1"#,
        since
    )
    .fetch_all(conn)
    .await
}
