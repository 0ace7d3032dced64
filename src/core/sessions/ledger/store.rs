//! The statements of the ledger. All run as the app role in a transaction that has set the user, except
//! [`list_users_due`], which sees ids only.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::sessions::model::{
    DueExtraction, ExtractionCounts, ExtractionEnd, ExtractionId, ExtractionOutcome,
    SessionExtraction, SessionId,
};

/// As the system role: users with stretches that are due, without disabled users.
pub async fn list_users_due(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT DISTINCT e.user_id AS "user_id: UserId" FROM session_extractions e JOIN users u ON u.id = e.user_id
         WHERE (e.outcome = 'pending' OR e.next_try_at IS NOT NULL)
           AND coalesce(e.next_try_at, $1) <= $1
           AND u.disabled_at IS NULL
           AND NOT EXISTS (SELECT FROM session_extractions b
                           WHERE b.user_id = e.user_id AND b.session_id = e.session_id
                             AND b.first_position < e.first_position AND b.outcome = 'pending')"#,
        now,
    )
    .fetch_all(conn)
    .await
}

/// The next stretch and when it is due; none for a disabled user.
pub async fn find_next_due(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Option<(DueExtraction, OffsetDateTime)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT e.id, greatest(e.next_try_at, $2) AS "at!"
           FROM session_extractions e JOIN users u ON u.id = e.user_id
           WHERE e.user_id = $1 AND (e.outcome = 'pending' OR e.next_try_at IS NOT NULL) AND u.disabled_at IS NULL
             AND NOT EXISTS (SELECT FROM session_extractions b
                             WHERE b.user_id = e.user_id AND b.session_id = e.session_id
                               AND b.first_position < e.first_position AND b.outcome = 'pending')
           ORDER BY 2, e.next_try_at NULLS FIRST, e.id LIMIT 1"#,
        user.0,
        now,
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| {
        let extraction = ExtractionId(row.id);
        (DueExtraction { user, extraction }, row.at)
    }))
}

/// Stretches that wait, including those to be retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadStretches {
    /// Counted up to 10,000.
    pub stretches: i64,
    /// One of them is being read.
    pub is_read: bool,
    /// Why the next one was not read yet: a clause for people.
    pub reason: Option<String>,
    /// When it is due; `None` if something is due now.
    pub next_at: Option<OffsetDateTime>,
}

pub async fn count_unread(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<UnreadStretches, sqlx::Error> {
    sqlx::query_as!(
        UnreadStretches,
        r#"WITH unread AS (
               SELECT id, next_try_at, reading_since, reason FROM session_extractions
               WHERE user_id = $1 AND (outcome = 'pending' OR next_try_at IS NOT NULL) LIMIT 10000
           ), next AS (
               SELECT next_try_at, reason FROM unread ORDER BY next_try_at NULLS FIRST, id LIMIT 1
           )
           SELECT (SELECT count(*) FROM unread) AS "stretches!",
                  EXISTS (SELECT FROM unread WHERE reading_since IS NOT NULL) AS "is_read!",
                  (SELECT reason FROM next) AS reason,
                  (SELECT next_try_at FROM next WHERE next_try_at > $2) AS next_at"#,
        user.0,
        now,
    )
    .fetch_one(conn)
    .await
}

struct ExtractionRow {
    id: i64,
    session_id: i64,
    first_position: i32,
    last_position: i32,
    outcome: ExtractionOutcome,
    reason: Option<String>,
    stored_count: i32,
    merged_count: i32,
    superseded_count: i32,
    malformed_count: i32,
    skipped_chars: i64,
    is_fallback: bool,
    attempts: i32,
    next_try_at: Option<OffsetDateTime>,
    windows_read: i32,
    model: Option<String>,
    tokens_in: i64,
    tokens_out: i64,
    duration_ms: i64,
    created_at: OffsetDateTime,
    reading_since: Option<OffsetDateTime>,
    ended_at: Option<OffsetDateTime>,
}

impl From<ExtractionRow> for SessionExtraction {
    fn from(row: ExtractionRow) -> Self {
        Self {
            id: ExtractionId(row.id),
            session_id: SessionId(row.session_id),
            first_position: row.first_position,
            last_position: row.last_position,
            outcome: row.outcome,
            reason: row.reason,
            counts: ExtractionCounts {
                stored: row.stored_count,
                merged: row.merged_count,
                superseded: row.superseded_count,
                malformed: row.malformed_count,
                skipped_chars: row.skipped_chars,
                tokens_in: row.tokens_in,
                tokens_out: row.tokens_out,
                duration_ms: row.duration_ms,
            },
            is_fallback: row.is_fallback,
            attempts: row.attempts,
            next_try_at: row.next_try_at,
            windows_read: row.windows_read,
            model: row.model,
            created_at: row.created_at,
            reading_since: row.reading_since,
            ended_at: row.ended_at,
        }
    }
}

/// Begins an attempt if the row is due. Within a session, earlier stretches come first.
pub async fn claim(
    conn: &mut PgConnection,
    user: UserId,
    extraction: ExtractionId,
    now: OffsetDateTime,
) -> Result<Option<SessionExtraction>, sqlx::Error> {
    let row = sqlx::query_as!(
        ExtractionRow,
        r#"UPDATE session_extractions e SET attempts = attempts + 1, reading_since = $3
         WHERE user_id = $1 AND id = $2 AND (outcome = 'pending' OR next_try_at IS NOT NULL)
           AND coalesce(next_try_at, $3) <= $3
           AND NOT EXISTS (SELECT FROM session_extractions b
                           WHERE b.user_id = $1 AND b.session_id = e.session_id
                             AND b.first_position < e.first_position AND b.outcome = 'pending')
         RETURNING id, session_id, first_position, last_position, outcome AS "outcome: ExtractionOutcome", reason, stored_count, merged_count,
                   superseded_count, malformed_count, skipped_chars, is_fallback, attempts, next_try_at,
                   windows_read, model, tokens_in, tokens_out, duration_ms, created_at, reading_since, ended_at"#,
        user.0,
        extraction.0,
        now,
    );
    Ok(row.fetch_optional(conn).await?.map(SessionExtraction::from))
}

/// Makes a failed or skipped row due now, unless it is being read.
pub async fn make_due(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    first_position: i32,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE session_extractions SET next_try_at = $4
         WHERE user_id = $1 AND session_id = $2 AND first_position = $3
           AND outcome IN ('failed', 'skipped') AND reading_since IS NULL",
        user.0,
        session.0,
        first_position,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Makes some stretches due that were read without a model and are not retried, the newest first. Returns how many.
pub async fn make_guessed_due(
    conn: &mut PgConnection,
    user: UserId,
    (limit, attempts_max): (i64, i32),
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE session_extractions SET next_try_at = $4
         WHERE user_id = $1 AND id = ANY (ARRAY(
             SELECT id FROM session_extractions
             WHERE user_id = $1 AND is_fallback AND outcome IN ('failed', 'skipped') AND next_try_at IS NULL
               AND reading_since IS NULL AND stored_count + merged_count > 0 AND attempts < $3
             ORDER BY id DESC LIMIT $2))",
        user.0,
        limit,
        attempts_max,
        now,
    );
    Ok(done.execute(conn).await?.rows_affected())
}

/// False if another attempt has begun since.
pub async fn is_ours(
    conn: &mut PgConnection,
    user: UserId,
    claimed: &SessionExtraction,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM session_extractions
                          WHERE user_id = $1 AND id = $2 AND attempts = $3 AND reading_since IS NOT NULL) AS "is_ours!""#,
        user.0,
        claimed.id.0,
        claimed.attempts,
    )
    .fetch_one(conn)
    .await
}

/// Records how this attempt ended. False if another attempt has begun since, so that a late reader writes
/// nothing. A skipped one does not count as an attempt.
pub async fn finish(
    conn: &mut PgConnection,
    user: UserId,
    claimed: &SessionExtraction,
    ending: &ExtractionEnd<'_>,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let counts = &ending.counts;
    let done = sqlx::query!(
        "UPDATE session_extractions
         SET outcome = $4, reason = $5, stored_count = $6, merged_count = $7, superseded_count = $8,
             malformed_count = $9, skipped_chars = $10, is_fallback = $11, next_try_at = $12, model = $13,
             tokens_in = $14, tokens_out = $15, duration_ms = $16, ended_at = $17, windows_read = $18, reading_since = NULL,
             attempts = attempts - ($4 = 'skipped')::int
         WHERE user_id = $1 AND id = $2 AND attempts = $3 AND reading_since IS NOT NULL",
        user.0,
        claimed.id.0,
        claimed.attempts,
        ending.outcome.as_str(),
        ending.reason,
        counts.stored,
        counts.merged,
        counts.superseded,
        counts.malformed,
        counts.skipped_chars,
        ending.is_fallback,
        ending.next_try_at,
        ending.model,
        counts.tokens_in,
        counts.tokens_out,
        counts.duration_ms,
        now,
        ending.windows_read,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Shortens the row to what was read, and inserts another for the rest, with the ending `rest`.
pub async fn split(
    conn: &mut PgConnection,
    user: UserId,
    claimed: &SessionExtraction,
    read_to: i32,
    rest: &ExtractionEnd<'_>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH read AS (
             UPDATE session_extractions SET last_position = $3 WHERE user_id = $1 AND id = $2
         )
         INSERT INTO session_extractions (user_id, session_id, first_position, last_position, outcome, reason,
                                          next_try_at, created_at, ended_at)
         VALUES ($1, $4, $3 + 1, $5, $6, $7, $8, $9, $9)",
        user.0,
        claimed.id.0,
        read_to,
        claimed.session_id.0,
        claimed.last_position,
        rest.outcome.as_str(),
        rest.reason,
        rest.next_try_at,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    extraction: ExtractionId,
) -> Result<Option<SessionExtraction>, sqlx::Error> {
    let row = sqlx::query_as!(
        ExtractionRow,
        r#"SELECT id, session_id, first_position, last_position, outcome AS "outcome: ExtractionOutcome", reason, stored_count, merged_count,
                superseded_count, malformed_count, skipped_chars, is_fallback, attempts, next_try_at,
                windows_read, model, tokens_in, tokens_out, duration_ms, created_at, reading_since, ended_at
         FROM session_extractions WHERE user_id = $1 AND id = $2"#,
        user.0,
        extraction.0,
    );
    Ok(row.fetch_optional(conn).await?.map(SessionExtraction::from))
}

/// All rows of the session, in the order of its messages.
pub async fn list_of(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<Vec<SessionExtraction>, sqlx::Error> {
    let rows = sqlx::query_as!(
        ExtractionRow,
        r#"SELECT id, session_id, first_position, last_position, outcome AS "outcome: ExtractionOutcome", reason, stored_count, merged_count,
                superseded_count, malformed_count, skipped_chars, is_fallback, attempts, next_try_at,
                windows_read, model, tokens_in, tokens_out, duration_ms, created_at, reading_since, ended_at
         FROM session_extractions WHERE user_id = $1 AND session_id = $2 ORDER BY first_position"#,
        user.0,
        session.0,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(SessionExtraction::from).collect())
}

/// The newest row of each of these sessions.
pub async fn list_newest(
    conn: &mut PgConnection,
    user: UserId,
    sessions: &[i64],
) -> Result<Vec<SessionExtraction>, sqlx::Error> {
    let rows = sqlx::query_as!(
        ExtractionRow,
        r#"SELECT DISTINCT ON (session_id) id, session_id, first_position, last_position, outcome AS "outcome: ExtractionOutcome", reason,
                stored_count, merged_count, superseded_count, malformed_count, skipped_chars, is_fallback,
                attempts, next_try_at, windows_read, model, tokens_in, tokens_out, duration_ms, created_at,
                reading_since, ended_at
         FROM session_extractions WHERE user_id = $1 AND session_id = ANY ($2)
         ORDER BY session_id, first_position DESC"#,
        user.0,
        sessions,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(SessionExtraction::from).collect())
}

/// What an agent sends about a stretch.
#[derive(Clone, Debug, Default)]
pub struct AgentInput {
    /// What it was about.
    pub summary: Option<String>,
    /// The reason, if the agent flushed it.
    pub flush: Option<String>,
    /// The daily note contains it already.
    pub is_noted: bool,
}

pub async fn find_handed(
    conn: &mut PgConnection,
    user: UserId,
    extraction: ExtractionId,
) -> Result<AgentInput, sqlx::Error> {
    let handed = sqlx::query_as!(
        AgentInput,
        r#"SELECT summary, flush, noted_at IS NOT NULL AS "is_noted!" FROM session_extractions
           WHERE user_id = $1 AND id = $2"#,
        user.0,
        extraction.0
    );
    Ok(handed.fetch_optional(conn).await?.unwrap_or_default())
}

pub async fn set_noted(
    conn: &mut PgConnection,
    user: UserId,
    extraction: ExtractionId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE session_extractions SET noted_at = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        extraction.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How far the reading of a session has come.
#[derive(Clone, Copy, Debug)]
pub struct ReadingProgress {
    /// Rows up to a message that wait or are being read.
    pub unread: i64,
    /// When the newest was added to the daily note.
    pub noted_at: Option<OffsetDateTime>,
}

pub async fn find_progress(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    up_to: i32,
) -> Result<ReadingProgress, sqlx::Error> {
    sqlx::query_as!(
        ReadingProgress,
        r#"SELECT count(*) FILTER (WHERE outcome = 'pending' OR reading_since IS NOT NULL) AS "unread!",
                  max(noted_at) AS noted_at
           FROM session_extractions WHERE user_id = $1 AND session_id = $2 AND first_position <= $3"#,
        user.0,
        session.0,
        up_to,
    )
    .fetch_one(conn)
    .await
}

/// Sets the summary of the newest stretch, if it has not been read yet.
pub async fn set_summary(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    summary: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE session_extractions SET summary = $3
         WHERE user_id = $1 AND id = (SELECT max(id) FROM session_extractions WHERE user_id = $1 AND session_id = $2)
           AND outcome = 'pending'",
        user.0,
        session.0,
        summary,
    )
    .execute(conn)
    .await?;
    Ok(())
}
