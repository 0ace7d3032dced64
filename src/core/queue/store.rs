//! The statements of the queue. Pushes run in the transaction that creates the work; everything else runs as
//! the system role.

use sqlx::PgConnection;
use time::{OffsetDateTime, Weekday};

use super::{BACK_OFF_MAX, LEASE, LEASE_LEFT_MAX, PATIENCE};
use crate::clock::{Rounds, Schedule};
use crate::db::UserId;

pub async fn push(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    size: i32,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO job_queue AS q (user_id, job, run_at, waiting_since, size) VALUES ($1, $2, $4, $4, $3)
         ON CONFLICT (user_id, job) DO UPDATE
         SET pushes = q.pushes + 1, size = least(q.size::bigint + $3, 1000000)::int,
             waiting_since = CASE WHEN q.run_at IS NULL THEN $4 ELSE q.waiting_since END,
             run_at = CASE WHEN q.attempts > 0 THEN q.run_at ELSE least(q.run_at, $4) END",
        user.0,
        job,
        size,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// As the system role: users with a memory for whom the job was last done before its latest round, or who were there before
/// it and never had it.
pub async fn list_users_due(
    conn: &mut PgConnection,
    job: &str,
    rounds: &Rounds,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT user_id AS "id!: UserId" FROM users_due($1, $2, $3, $4) ORDER BY 1 LIMIT $5"#,
        job,
        &rounds.zones,
        &rounds.at,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// When each job was last done for a user, in a transaction that has set the user.
pub async fn list_rounds(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(String, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT job, done_at AS "done_at!" FROM job_rounds WHERE user_id = $1 AND done_at IS NOT NULL"#,
        user.0
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.job, row.done_at)).collect())
}

/// Records that a round was done, or that it is retried at `next_try_at`; in a transaction that has set the
/// user.
pub async fn note_round(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    done_at: Option<OffsetDateTime>,
    next_try_at: Option<OffsetDateTime>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO job_rounds AS r (user_id, job, done_at, next_try_at) SELECT id, $2, $3, $4 FROM users WHERE id = $1
         ON CONFLICT (user_id, job) DO UPDATE SET done_at = coalesce(excluded.done_at, r.done_at), next_try_at = excluded.next_try_at",
        user.0,
        job,
        done_at,
        next_try_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn push_now(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO job_queue AS q (user_id, job, run_at, waiting_since) VALUES ($1, $2, $3, $3)
         ON CONFLICT (user_id, job) DO UPDATE
         SET pushes = q.pushes + 1, waiting_since = $3, run_at = $3, problem = NULL,
             attempts = CASE WHEN q.lease IS NULL THEN 0 ELSE q.attempts END",
        user.0,
        job,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Makes what the sweep found due at the given times. Rows that are due, running or backing off stay as they
/// are; a time that a clock running ahead set too far in the future is lowered.
pub async fn push_found(
    conn: &mut PgConnection,
    job: &str,
    found: &[(UserId, OffsetDateTime)],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let users: Vec<i64> = found.iter().map(|(user, _)| user.0).collect();
    let times: Vec<OffsetDateTime> = found.iter().map(|(_, at)| *at).collect();
    sqlx::query!(
        "INSERT INTO job_queue AS q (user_id, job, run_at, waiting_since)
         SELECT f.user_id, $1, f.at, f.at FROM unnest($2::bigint[], $3::timestamptz[]) AS f (user_id, at)
         ORDER BY f.user_id
         ON CONFLICT (user_id, job) DO UPDATE
         SET run_at = CASE WHEN q.attempts > 0 THEN least(q.run_at, $5)
                           ELSE least(q.run_at, excluded.run_at) END,
             waiting_since = CASE WHEN q.run_at IS NULL THEN excluded.run_at ELSE least(q.waiting_since, $4) END
         WHERE q.lease IS NULL
           AND (q.run_at IS NULL OR q.run_at > CASE WHEN q.attempts > 0 THEN $5 ELSE excluded.run_at END)",
        job,
        &users,
        &times,
        now,
        now + BACK_OFF_MAX,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A run that holds its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub user: UserId,
    pub job: String,
    pub pushes: i64,
    /// Including this one.
    pub attempts: i32,
}

/// The free capacity of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCapacity {
    pub job: &'static str,
    pub places: i32,
    /// Maximum concurrent runs that call the same provider, including those in progress.
    pub per_endpoint: i32,
}

/// Claims due rows of all users or of `only` one, up to each job's capacity: first who has waited for [`PATIENCE`],
/// then who has the least work. Skips providers at their limit, and paused jobs unless for one user. A lease too far
/// in the future (set by a clock running ahead) has expired. If runs kill their process, the delay doubles up to 30 s.
pub async fn claim(
    conn: &mut PgConnection,
    lease: i64,
    rooms: &[JobCapacity],
    only: Option<UserId>,
    now: OffsetDateTime,
) -> Result<Vec<Claim>, sqlx::Error> {
    let jobs: Vec<String> = rooms.iter().map(|room| room.job.to_owned()).collect();
    let places: Vec<i32> = rooms.iter().map(|room| room.places).collect();
    let per_endpoint: Vec<i32> = rooms.iter().map(|room| room.per_endpoint).collect();
    sqlx::query_as!(
        Claim,
        r#"WITH due AS (
             SELECT q.user_id, q.job, q.endpoint, r.places, r.per_endpoint,
                    row_number() OVER (ORDER BY CASE WHEN q.waiting_since <= $5 THEN q.waiting_since END NULLS LAST,
                                                q.size, q.waiting_since, q.user_id) AS turn
             FROM job_queue q JOIN unnest($2::text[], $3::int[], $8::int[]) AS r (job, places, per_endpoint)
                                   ON r.job = q.job
             WHERE q.run_at <= $4 AND (q.lease IS NULL OR q.lease_until NOT BETWEEN $4 AND $9)
               AND CASE WHEN $7::bigint IS NULL
                        THEN NOT EXISTS (SELECT 1 FROM job_settings s WHERE s.job = q.job AND s.paused_at IS NOT NULL)
                        ELSE q.user_id = $7 END
         ), calling AS (
             SELECT job, endpoint, count(*) AS runs FROM job_queue
             WHERE lease = $1 AND lease_until BETWEEN $4 AND $9 GROUP BY job, endpoint
         ), at_endpoint AS (
             SELECT d.*, c.runs, row_number() OVER (PARTITION BY d.job, d.endpoint ORDER BY d.turn) AS place_there
             FROM due d LEFT JOIN calling c ON c.job = d.job AND c.endpoint = d.endpoint
         ), ranked AS (
             SELECT a.*, row_number() OVER (PARTITION BY a.job ORDER BY a.turn) AS place
             FROM at_endpoint a WHERE a.endpoint IS NULL OR a.place_there <= a.per_endpoint - coalesce(a.runs, 0)
         ), picked AS (
             SELECT q.user_id, q.job FROM job_queue q JOIN ranked k ON k.user_id = q.user_id AND k.job = q.job
             WHERE k.place <= k.places AND q.run_at <= $4 AND (q.lease IS NULL OR q.lease_until NOT BETWEEN $4 AND $9)
             FOR UPDATE OF q SKIP LOCKED
         )
         UPDATE job_queue q SET lease = $1, lease_until = $6, attempts = q.attempts + 1,
                                run_at = $4 + interval '1 second' * least(2 ^ least(q.attempts, 5), 30)
         FROM picked p WHERE q.user_id = p.user_id AND q.job = p.job
         RETURNING q.user_id AS "user: UserId", q.job, q.pushes, q.attempts"#,
        lease,
        &jobs,
        &places,
        now,
        now - PATIENCE,
        now + LEASE,
        only.map(|user| user.0),
        &per_endpoint,
        now + LEASE_LEFT_MAX,
    )
    .fetch_all(conn)
    .await
}

/// Renews the leases of a process's runs. A row that was claimed without our knowing, since the commit's
/// reply was lost, is not renewed and expires. Rows that are locked by a push are skipped until the next
/// time.
pub async fn renew(
    conn: &mut PgConnection,
    lease: i64,
    running: &[(UserId, &str)],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let users: Vec<i64> = running.iter().map(|(user, _)| user.0).collect();
    let jobs: Vec<String> = running.iter().map(|(_, job)| (*job).to_owned()).collect();
    sqlx::query!(
        "WITH ours AS (
             SELECT q.user_id, q.job FROM job_queue q
             JOIN unnest($2::bigint[], $3::text[]) AS r (user_id, job) ON r.user_id = q.user_id AND r.job = q.job
             WHERE q.lease = $1 FOR UPDATE OF q SKIP LOCKED
         )
         UPDATE job_queue q SET lease_until = $4 FROM ours o WHERE q.user_id = o.user_id AND q.job = o.job",
        lease,
        &users,
        &jobs,
        now + LEASE
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd<'a> {
    /// When the next run is due; `None` if no work is left.
    pub run_at: Option<OffsetDateTime>,
    /// About how many rows are left.
    pub size: i32,
    /// The provider that was called, as [`Slice::endpoint`](super::Slice::endpoint).
    pub endpoint: Option<i64>,
    pub problem: Option<&'a str>,
}

/// Releases the row. If more was pushed in the meantime, it is due again, except after a failure. False if
/// another process has claimed it since.
pub async fn finish(
    conn: &mut PgConnection,
    lease: i64,
    claim: &Claim,
    end: &RunEnd<'_>,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE job_queue
         SET lease = NULL, lease_until = NULL, problem = $5, size = $6, waiting_since = $8::timestamptz,
             endpoint = coalesce($9, endpoint),
             attempts = CASE WHEN $5::text IS NULL THEN 0 ELSE attempts END,
             run_at = CASE WHEN $5::text IS NULL AND pushes <> $7 THEN least($4::timestamptz, $8::timestamptz) ELSE $4 END
         WHERE user_id = $1 AND job = $2 AND lease = $3",
        claim.user.0,
        claim.job,
        lease,
        end.run_at,
        end.problem,
        end.size,
        claim.pushes,
        now,
        end.endpoint,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes rows of users that no longer exist.
pub async fn remove_orphans(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    let gone = sqlx::query_scalar!(
        "SELECT DISTINCT q.user_id FROM job_queue q LEFT JOIN users u ON u.id = q.user_id
         WHERE q.user_id <> 0 AND u.id IS NULL"
    )
    .fetch_all(&mut *conn)
    .await?;
    sqlx::query!("DELETE FROM job_queue WHERE user_id = ANY ($1)", &gone).execute(conn).await?;
    Ok(())
}

/// Counts of a job's rows that are not idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCounts {
    pub job: String,
    /// Due, but not running.
    pub waiting: i64,
    /// Due later.
    pub delayed: i64,
    pub running: i64,
    /// Not running, and the last run failed.
    pub failed: i64,
    /// Of the waiting rows: since when the first has been due.
    pub waiting_since: Option<OffsetDateTime>,
    /// When the first of the delayed rows is due.
    pub next_at: Option<OffsetDateTime>,
}

/// Runs of a job that are in progress, of one user or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InProgress {
    pub runs: i64,
    /// About how many rows they have left.
    pub size: i64,
}

pub async fn count_in_progress(
    conn: &mut PgConnection,
    job: &str,
    only: Option<UserId>,
    now: OffsetDateTime,
) -> Result<InProgress, sqlx::Error> {
    sqlx::query_as!(
        InProgress,
        r#"SELECT count(*) FILTER (WHERE is_running) AS "runs!",
                  coalesce(sum(size) FILTER (WHERE is_running), 0)::bigint AS "size!"
           FROM (SELECT size, coalesce(lease_until BETWEEN $3 AND $4, false) AS is_running
                 FROM job_queue WHERE job = $1 AND ($2::bigint IS NULL OR user_id = $2)) q"#,
        job,
        only.map(|user| user.0),
        now,
        now + LEASE_LEFT_MAX,
    )
    .fetch_one(conn)
    .await
}

/// Omits jobs without a row.
pub async fn count_jobs(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<Vec<JobCounts>, sqlx::Error> {
    sqlx::query_as!(
        JobCounts,
        r#"SELECT job,
                  count(*) FILTER (WHERE NOT is_running AND run_at <= $1) AS "waiting!",
                  count(*) FILTER (WHERE NOT is_running AND run_at > $1) AS "delayed!",
                  count(*) FILTER (WHERE is_running) AS "running!",
                  count(*) FILTER (WHERE NOT is_running AND problem IS NOT NULL) AS "failed!",
                  min(waiting_since) FILTER (WHERE NOT is_running AND run_at <= $1) AS waiting_since,
                  min(run_at) FILTER (WHERE NOT is_running AND run_at > $1) AS next_at
           FROM (SELECT job, run_at, waiting_since, problem,
                        coalesce(lease_until BETWEEN $1 AND $2, false) AS is_running FROM job_queue) q
           GROUP BY job ORDER BY job"#,
        now,
        now + LEASE_LEFT_MAX,
    )
    .fetch_all(conn)
    .await
}

/// A failed run that waits for its retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedJob {
    pub user: UserId,
    pub job: String,
    pub attempts: i32,
    pub problem: String,
    pub run_at: Option<OffsetDateTime>,
}

/// Next retry first.
pub async fn list_failed(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<FailedJob>, sqlx::Error> {
    sqlx::query_as!(
        FailedJob,
        r#"SELECT user_id AS "user: UserId", job, attempts, problem AS "problem!", run_at FROM job_queue
           WHERE problem IS NOT NULL AND lease IS NULL ORDER BY run_at, user_id, job LIMIT $1"#,
        limit
    )
    .fetch_all(conn)
    .await
}

/// Makes all failed rows due, of one job or of all. Returns how many there were.
pub async fn retry_failed(
    conn: &mut PgConnection,
    job: Option<&str>,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE job_queue SET run_at = $2, waiting_since = $2, attempts = 0, problem = NULL
         WHERE problem IS NOT NULL AND lease IS NULL AND ($1::text IS NULL OR job = $1)",
        job,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Makes delayed and failed rows due now. Returns how many there were.
pub async fn make_due_now(
    conn: &mut PgConnection,
    job: &str,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE job_queue SET run_at = $2, waiting_since = $2, attempts = 0, problem = NULL
         WHERE job = $1 AND lease IS NULL AND (run_at > $2 OR problem IS NOT NULL)",
        job,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Pauses a job: runs in progress continue. False if it was already paused.
pub async fn pause(
    conn: &mut PgConnection,
    job: &str,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "INSERT INTO job_settings AS s (job, paused_at) VALUES ($1, $2)
         ON CONFLICT (job) DO UPDATE SET paused_at = $2 WHERE s.paused_at IS NULL",
        job,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// False if it was not paused.
pub async fn resume(conn: &mut PgConnection, job: &str) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE job_settings SET paused_at = NULL WHERE job = $1 AND paused_at IS NOT NULL",
        job
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Paused jobs, and since when.
pub async fn list_paused(
    conn: &mut PgConnection,
) -> Result<Vec<(String, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT job, paused_at AS "paused_at!" FROM job_settings WHERE paused_at IS NOT NULL"#
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.job, row.paused_at)).collect())
}

/// False if it was set already.
pub async fn set_schedule(
    conn: &mut PgConnection,
    job: &str,
    schedule: Schedule,
) -> Result<bool, sqlx::Error> {
    let weekday = schedule.weekday.map(|day| day.number_from_monday().into());
    let done = sqlx::query!(
        "INSERT INTO job_settings AS s (job, at_time, weekday) VALUES ($1, $2, $3)
         ON CONFLICT (job) DO UPDATE SET at_time = $2, weekday = $3
         WHERE s.at_time IS DISTINCT FROM $2 OR s.weekday IS DISTINCT FROM $3",
        job,
        schedule.at,
        weekday as Option<i16>,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// False if none was set.
pub async fn unset_schedule(conn: &mut PgConnection, job: &str) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE job_settings SET at_time = NULL, weekday = NULL WHERE job = $1 AND at_time IS NOT NULL",
        job
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Admins' schedules, by job.
pub async fn list_schedules(
    conn: &mut PgConnection,
) -> Result<Vec<(String, Schedule)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT job, at_time AS "at!", weekday FROM job_settings WHERE at_time IS NOT NULL"#
    )
    .fetch_all(conn)
    .await?;
    let weekday = |number: i16| Weekday::Monday.nth_next(number.unsigned_abs() as u8 - 1);
    Ok(rows
        .into_iter()
        .map(|row| {
            let schedule = Schedule { weekday: row.weekday.map(weekday), at: row.at };
            (row.job, schedule)
        })
        .collect())
}

/// When a process last held the sweep, which is when workers were last alive.
pub async fn worker_last_seen(
    conn: &mut PgConnection,
) -> Result<Option<OffsetDateTime>, sqlx::Error> {
    let row = sqlx::query!(
        "SELECT waiting_since, lease_until FROM job_queue WHERE user_id = 0 AND job = 'sweep'"
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let claimed = row.lease_until.map(|until| until - LEASE);
        claimed.map_or(row.waiting_since, |at| at.max(row.waiting_since))
    }))
}
