//! The statements of the queue. Pushes run in whatever transaction makes the work; all else as
//! the system role.

use sqlx::PgConnection;
use time::{OffsetDateTime, Weekday};

use super::{BACK_OFF_MAX, LEASE, PATIENCE};
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

/// As the system role: users with a memory for whom a job was done last before the round that came.
pub async fn list_users_due(
    conn: &mut PgConnection,
    job: &str,
    rounds: &Rounds,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    let users = sqlx::query_scalar!(
        r#"SELECT user_id AS "id!" FROM users_due($1, $2, $3, $4) ORDER BY 1 LIMIT $5"#,
        job,
        &rounds.zones,
        &rounds.at,
        now,
        limit,
    );
    let users = users.fetch_all(conn).await?;
    Ok(users.into_iter().map(UserId).collect())
}

/// When jobs were done last for a user, in a transaction that knows them.
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

/// A round was done, or could not be and is tried again then; in a transaction that knows its user.
pub async fn note_round(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    done_at: Option<OffsetDateTime>,
    next_try_at: Option<OffsetDateTime>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO job_rounds AS r (user_id, job, done_at, next_try_at) SELECT id, $2, $3, $4 FROM users WHERE id = $1
         ON CONFLICT (user_id, job) DO UPDATE SET done_at = coalesce($3, r.done_at), next_try_at = $4",
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

/// What the sweep found: due at `at` at the latest. What waits, runs or backs off stays as it is;
/// what a clock that was ahead has put into the future does not.
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

/// A run that has its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub user: UserId,
    pub job: String,
    pub pushes: i64,
    /// This one included.
    pub attempts: i32,
}

/// Runs of a job that may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub job: &'static str,
    pub places: i32,
    /// Runs at once that call the same provider, those under way included.
    pub per_endpoint: i32,
}

/// Takes what is due, of everybody or of one user alone, of each job as much as its room: first whoever
/// has waited for [`PATIENCE`], longest first, then whoever has least to do. Whoever called a provider
/// that has as many runs as it may have is passed over. What is paused runs only where somebody asks
/// for one user's. A lease that ends beyond its length was taken by a clock that was ahead. Where runs
/// kill their process, the next waits twice as long each time, half a minute at most.
pub async fn claim(
    conn: &mut PgConnection,
    lease: i64,
    rooms: &[Room],
    only: Option<UserId>,
    now: OffsetDateTime,
) -> Result<Vec<Claim>, sqlx::Error> {
    let jobs: Vec<String> = rooms.iter().map(|room| room.job.to_owned()).collect();
    let places: Vec<i32> = rooms.iter().map(|room| room.places).collect();
    let per_endpoint: Vec<i32> = rooms.iter().map(|room| room.per_endpoint).collect();
    let rows = sqlx::query!(
        "WITH due AS (
             SELECT q.user_id, q.job, q.endpoint, r.places, r.per_endpoint,
                    row_number() OVER (ORDER BY CASE WHEN q.waiting_since <= $5 THEN q.waiting_since END NULLS LAST,
                                                q.size, q.waiting_since, q.user_id) AS turn
             FROM job_queue q JOIN unnest($2::text[], $3::int[], $8::int[]) AS r (job, places, per_endpoint)
                                   ON r.job = q.job
             WHERE q.run_at <= $4 AND (q.lease IS NULL OR q.lease_until NOT BETWEEN $4 AND $6)
               AND CASE WHEN $7::bigint IS NULL
                        THEN NOT EXISTS (SELECT FROM job_settings s WHERE s.job = q.job AND s.paused_at IS NOT NULL)
                        ELSE q.user_id = $7 END
         ), calling AS (
             SELECT job, endpoint, count(*) AS runs FROM job_queue
             WHERE lease = $1 AND lease_until BETWEEN $4 AND $6 GROUP BY job, endpoint
         ), at_endpoint AS (
             SELECT d.*, c.runs, row_number() OVER (PARTITION BY d.job, d.endpoint ORDER BY d.turn) AS place_there
             FROM due d LEFT JOIN calling c ON c.job = d.job AND c.endpoint = d.endpoint
         ), ranked AS (
             SELECT a.*, row_number() OVER (PARTITION BY a.job ORDER BY a.turn) AS place
             FROM at_endpoint a WHERE a.endpoint IS NULL OR a.place_there <= a.per_endpoint - coalesce(a.runs, 0)
         ), picked AS (
             SELECT q.user_id, q.job FROM job_queue q JOIN ranked k ON k.user_id = q.user_id AND k.job = q.job
             WHERE k.place <= k.places AND q.run_at <= $4 AND (q.lease IS NULL OR q.lease_until NOT BETWEEN $4 AND $6)
             FOR UPDATE OF q SKIP LOCKED
         )
         UPDATE job_queue q SET lease = $1, lease_until = $6, attempts = q.attempts + 1,
                                run_at = $4 + interval '1 second' * least(2 ^ least(q.attempts, 5), 30)
         FROM picked p WHERE q.user_id = p.user_id AND q.job = p.job
         RETURNING q.user_id, q.job, q.pushes, q.attempts",
        lease,
        &jobs,
        &places,
        now,
        now - PATIENCE,
        now + LEASE,
        only.map(|user| user.0),
        &per_endpoint,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Claim {
            user: UserId(row.user_id),
            job: row.job,
            pushes: row.pushes,
            attempts: row.attempts,
        })
        .collect())
}

/// What a process runs. A row that it claimed without knowing, since the commit was not answered, is
/// none of them and is free when its lease is over. Rows that are being pushed are left for the next time.
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
pub struct End<'a> {
    /// The next run; `None` where nothing is left.
    pub run_at: Option<OffsetDateTime>,
    /// About how much is left.
    pub size: i32,
    /// The provider that was called, as [`Slice::endpoint`](super::Slice::endpoint).
    pub endpoint: Option<i64>,
    pub problem: Option<&'a str>,
}

/// Gives the row back. Where more was pushed meanwhile, it is due again, but after a failure. False
/// where another process has taken it since.
pub async fn finish(
    conn: &mut PgConnection,
    lease: i64,
    claim: &Claim,
    end: &End<'_>,
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

/// What is left of accounts that are gone.
pub async fn remove_orphans(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM job_queue q WHERE q.user_id <> 0 AND NOT EXISTS (SELECT FROM users u WHERE u.id = q.user_id)"
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A job's rows that are not idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCounts {
    pub job: String,
    /// Could run now.
    pub waiting: i64,
    /// Wait for a later time.
    pub delayed: i64,
    pub running: i64,
    /// Of the delayed: those whose last run failed.
    pub failed: i64,
    /// Of those that wait: since when the first could have run.
    pub waiting_since: Option<OffsetDateTime>,
    /// The first of those that wait for a later time.
    pub next_at: Option<OffsetDateTime>,
}

/// A job without a row is not among them.
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
        now + LEASE,
    )
    .fetch_all(conn)
    .await
}

/// A run that failed and waits for its next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedJob {
    pub user: UserId,
    pub job: String,
    pub attempts: i32,
    pub problem: String,
    pub run_at: Option<OffsetDateTime>,
}

/// Those that come next first.
pub async fn list_failed(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<FailedJob>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT user_id, job, attempts, problem AS "problem!", run_at FROM job_queue
           WHERE problem IS NOT NULL AND lease IS NULL ORDER BY run_at, user_id, job LIMIT $1"#,
        limit
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| FailedJob {
            user: UserId(row.user_id),
            job: row.job,
            attempts: row.attempts,
            problem: row.problem,
            run_at: row.run_at,
        })
        .collect())
}

/// All of a job that failed, or of all jobs. Returns how many there were.
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

/// What waits for a later time, and what failed, is due now. Returns how many there were.
pub async fn bring_forward(
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

/// Nothing of the job is claimed any more; what runs goes on. False where it was paused before.
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

/// False where it was not paused.
pub async fn resume(conn: &mut PgConnection, job: &str) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE job_settings SET paused_at = NULL WHERE job = $1 AND paused_at IS NOT NULL",
        job
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Jobs that are paused, and since when.
pub async fn list_paused(
    conn: &mut PgConnection,
) -> Result<Vec<(String, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT job, paused_at AS "paused_at!" FROM job_settings WHERE paused_at IS NOT NULL"#
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.job, row.paused_at))
        .collect())
}

/// False where it was so before.
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

/// False where none was set.
pub async fn unset_schedule(conn: &mut PgConnection, job: &str) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE job_settings SET at_time = NULL, weekday = NULL WHERE job = $1 AND at_time IS NOT NULL",
        job
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Schedules that were set, by job.
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
            let schedule = Schedule {
                weekday: row.weekday.map(weekday),
                at: row.at,
            };
            (row.job, schedule)
        })
        .collect())
}

/// When a process last had the sweep in hand: as long ago workers were alive.
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
