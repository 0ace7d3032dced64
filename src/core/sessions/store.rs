//! The statements of sessions and their messages. All run as the app role in a transaction that has set the
//! user, unless they say otherwise. A stored message is changed only to keep less of it.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::message::{MessageRole, NewMessage, SessionName, ToolCall};
use super::model::{
    AgentSession, CompletionReason, SessionFilter, SessionId, SessionState, StoredMessage,
};
use super::{PAUSED_FOR, SESSIONS_MAX, STILL_FOR};
use crate::accounts::AgentId;
use crate::clock::Rounds;
use crate::db::UserId;
use crate::memories::ProjectId;

/// Searches what a user said in so many sessions and messages of each; returns at most so many, cut to so many characters.
const SAID_IN_SESSIONS: i64 = 20;
const SAID_MESSAGES: i64 = 100;
const SAID_FOUND_MAX: i64 = 100;
const SAID_CHARS_MAX: i32 = 20_000;

/// A locked session.
pub struct OpenSession {
    pub id: SessionId,
    pub state: SessionState,
    pub message_count: i32,
    /// The last message that a row of the ledger covers.
    pub ledger_position: i32,
    /// The last message at the latest flush.
    pub flushed_position: i32,
    /// Of all its messages.
    pub tool_call_count: i32,
}

/// How many of the sent messages were new.
pub struct InsertedCounts {
    pub messages: usize,
    pub tool_calls: usize,
}

/// The beginnings of the user's latest messages with `part` in lower case, newest first, in the latest sessions. For an agent,
/// these are its own and, if it sees shared memory, those of agents with shared memory that own nothing.
pub async fn list_said(
    conn: &mut PgConnection,
    user: UserId,
    part: &str,
) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT left(m.content, $6) AS "content!"
         FROM (SELECT id, last_message_at FROM sessions
               WHERE user_id = $1 AND (scope_agent() IS NULL OR agent_id = scope_agent() OR sees_shared() AND agent_id IN (
                   SELECT a.id FROM agents a
                   WHERE a.user_id = $1 AND coalesce(a.settings ->> 'memory_scope', 'shared') = 'shared'
                     AND NOT EXISTS (SELECT FROM whole_memory w WHERE w.user_id = $1 AND w.owner_agent_id = a.id)))
               ORDER BY last_message_at DESC, id DESC LIMIT $3) s
         CROSS JOIN LATERAL (
             SELECT content, position FROM session_messages
             WHERE user_id = $1 AND session_id = s.id AND role = 'user' ORDER BY position DESC LIMIT $4
         ) m
         WHERE strpos(lower(m.content), $2) > 0
         ORDER BY s.last_message_at DESC, s.id DESC, m.position DESC LIMIT $5"#,
        user.0,
        part,
        SAID_IN_SESSIONS,
        SAID_MESSAGES,
        SAID_FOUND_MAX,
        SAID_CHARS_MAX,
    )
    .fetch_all(conn)
    .await
}

/// Locks the session until the transaction ends, which serialises its messages.
pub async fn hold(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    name: &SessionName,
) -> Result<Option<OpenSession>, sqlx::Error> {
    sqlx::query_as!(
        OpenSession,
        r#"SELECT id AS "id: SessionId", state AS "state: SessionState", message_count, ledger_position, flushed_position, tool_call_count FROM sessions
         WHERE user_id = $1 AND agent_id = $2 AND external_id = $3 FOR NO KEY UPDATE"#,
        user.0,
        agent.0,
        name.as_str(),
    )
    .fetch_optional(conn)
    .await
}

pub async fn has_room_for_session(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<bool, sqlx::Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (SELECT FROM sessions WHERE user_id = $1 LIMIT $2) s"#,
        user.0,
        SESSIONS_MAX,
    );
    Ok(count.fetch_one(conn).await? < SESSIONS_MAX)
}

/// False if another request created it at the same time.
pub async fn insert_session(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    name: &SessionName,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "INSERT INTO sessions (user_id, agent_id, external_id, created_at, opened_at, last_message_at)
         VALUES ($1, $2, $3, $4, $4, $4)
         ON CONFLICT ON CONSTRAINT sessions_external_id_key DO NOTHING",
        user.0,
        agent.0,
        name.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Appends those whose ids are new, in order. The session is locked.
pub async fn insert_messages(
    conn: &mut PgConnection,
    user: UserId,
    session: &OpenSession,
    messages: &[NewMessage],
    now: OffsetDateTime,
) -> Result<InsertedCounts, sqlx::Error> {
    let ids: Vec<&str> = messages.iter().map(|m| m.external_id.as_str()).collect();
    let roles: Vec<&str> = messages.iter().map(|m| m.role.as_str()).collect();
    let contents: Vec<&str> = messages.iter().map(|m| m.content.as_str()).collect();
    let calls: Vec<Option<Value>> = messages.iter().map(|m| column_of(&m.tool_calls)).collect();
    let answers: Vec<Option<&str>> = messages.iter().map(|m| m.tool_call_id.as_deref()).collect();
    let sent: Vec<Option<OffsetDateTime>> = messages.iter().map(|m| m.sent_at).collect();
    let row = sqlx::query!(
        r#"WITH inserted AS (
           INSERT INTO session_messages (user_id, session_id, position, external_id, role, content,
                                         tool_calls, tool_call_id, sent_at, created_at)
           SELECT $1, $2, $3 + row_number() OVER (ORDER BY m.n), m.external_id, m.role, m.content,
                  m.tool_calls, m.tool_call_id, m.sent_at, $10
           FROM unnest($4::text[], $5::text[], $6::text[], $7::jsonb[], $8::text[], $9::timestamptz[])
                WITH ORDINALITY AS m (external_id, role, content, tool_calls, tool_call_id, sent_at, n)
           WHERE NOT EXISTS (SELECT 1 FROM session_messages k
                             WHERE k.user_id = $1 AND k.session_id = $2 AND k.external_id = m.external_id)
           RETURNING coalesce(jsonb_array_length(tool_calls), 0) AS calls)
           SELECT count(*) AS "messages!", coalesce(sum(calls), 0) AS "tool_calls!" FROM inserted"#,
        user.0,
        session.id.0,
        i64::from(session.message_count),
        &ids as &[&str],
        &roles as &[&str],
        &contents as &[&str],
        &calls as &[Option<Value>],
        &answers as &[Option<&str>],
        &sent as &[Option<OffsetDateTime>],
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(InsertedCounts { messages: row.messages as usize, tool_calls: row.tool_calls as usize })
}

fn column_of(calls: &[ToolCall]) -> Option<Value> {
    match calls {
        [] => None,
        calls => serde_json::to_value(calls).ok(),
    }
}

/// Counts the new messages, and reopens the session if it was complete. From then on it is about `project`, if one is given.
pub async fn note_messages(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    accepted: &InsertedCounts,
    project: Option<ProjectId>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE sessions
         SET message_count = message_count + $3, tool_call_count = tool_call_count + $5, last_message_at = $4, state = 'open',
             opened_at = CASE WHEN state = 'open' THEN opened_at ELSE $4 END,
             completed_at = NULL, completed_why = NULL, project_id = coalesce($6, project_id)
         WHERE user_id = $1 AND id = $2",
        user.0,
        session.0,
        accepted.messages as i32,
        now,
        accepted.tool_calls as i32,
        project.map(|project| project.0),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Locks the agent's other open sessions that have been idle since then. Skips sessions that are locked,
/// since they are not idle.
pub async fn lock_other_idle(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    but: SessionId,
    since: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM sessions
         WHERE user_id = $1 AND agent_id = $2 AND state = 'open' AND id <> $3 AND last_message_at <= $4
         ORDER BY id FOR NO KEY UPDATE SKIP LOCKED",
        user.0,
        agent.0,
        but.0,
        since,
    )
    .fetch_all(conn)
    .await
}

/// Locks the user's open sessions that are idle, with the time of their last message. Skips sessions that are locked.
pub async fn lock_idle(
    conn: &mut PgConnection,
    user: UserId,
    still: &IdleSince,
    night: OffsetDateTime,
    limit: i64,
) -> Result<Vec<(i64, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, last_message_at FROM sessions
         WHERE user_id = $1 AND state = 'open' AND last_message_at <= $3
           AND (last_message_at <= $2 OR opened_at < $4)
         ORDER BY id LIMIT $5 FOR NO KEY UPDATE SKIP LOCKED",
        user.0,
        still.since,
        still.paused_since,
        night,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.last_message_at)).collect())
}

/// Completes these sessions; each gets a ledger row for its messages without one. The only place where
/// sessions are completed. Returns the number of new ledger rows.
pub async fn complete(
    conn: &mut PgConnection,
    user: UserId,
    sessions: &[i64],
    why: CompletionReason,
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let done = sqlx::query!(
        "WITH due AS (
             SELECT id, ledger_position, message_count FROM sessions
             WHERE user_id = $1 AND id = ANY ($2) AND state = 'open' FOR NO KEY UPDATE
         ), done AS (
             UPDATE sessions s
             SET state = 'completed', completed_at = $4, completed_why = $3, ledger_position = s.message_count
             FROM due WHERE s.user_id = $1 AND s.id = due.id
         )
         INSERT INTO session_extractions (user_id, session_id, first_position, last_position, created_at)
         SELECT $1, id, ledger_position + 1, message_count, $4 FROM due WHERE message_count > ledger_position
         RETURNING user_id",
        user.0,
        sessions,
        why.as_str(),
        now,
    )
    .fetch_all(conn)
    .await?;
    Ok(done.len())
}

/// Creates a ledger row for the messages without one; the session stays open. `flush`: the reason if the
/// agent flushed it.
pub async fn cut(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    flush: Option<&str>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH due AS (
             SELECT id, ledger_position, message_count FROM sessions WHERE user_id = $1 AND id = $2
         ), done AS (
             UPDATE sessions s SET ledger_position = s.message_count FROM due WHERE s.user_id = $1 AND s.id = due.id
         )
         INSERT INTO session_extractions (user_id, session_id, first_position, last_position, created_at, flush)
         SELECT $1, id, ledger_position + 1, message_count, $3, $4 FROM due WHERE message_count > ledger_position
         RETURNING user_id",
        user.0,
        session.0,
        now,
        flush,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Marks the session as flushed up to its last message, and its unread stretches, unless they are being read,
/// as flushed too.
pub async fn note_flush(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    flush: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH flushed AS (
             UPDATE sessions SET flushed_position = message_count WHERE user_id = $1 AND id = $2
         )
         UPDATE session_extractions SET flush = $3
         WHERE user_id = $1 AND session_id = $2 AND flush IS NULL AND outcome = 'pending' AND reading_since IS NULL",
        user.0,
        session.0,
        flush,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The times since when a session must be idle to be completed.
pub struct IdleSince {
    pub since: OffsetDateTime,
    /// For sessions opened before the last night; later than `since`.
    pub paused_since: OffsetDateTime,
}

impl IdleSince {
    pub fn at(now: OffsetDateTime) -> Self {
        Self { since: now - STILL_FOR, paused_since: now - PAUSED_FOR }
    }
}

/// As the system role: users with sessions to be completed, longest idle first.
pub async fn list_users_with_still(
    conn: &mut PgConnection,
    still: &IdleSince,
    nights: &Rounds,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT s.user_id AS "user_id: UserId" FROM sessions s JOIN users u ON u.id = s.user_id
         LEFT JOIN unnest($3::text[], $4::timestamptz[]) AS n (zone, night) ON n.zone = u.time_zone
         WHERE s.state = 'open' AND s.last_message_at <= $2 AND u.erasing_at IS NULL
           AND (s.last_message_at <= $1 OR s.opened_at < n.night)
         GROUP BY s.user_id ORDER BY min(s.last_message_at), s.user_id LIMIT $5"#,
        still.since,
        still.paused_since,
        &nights.zones,
        &nights.at,
        limit,
    )
    .fetch_all(conn)
    .await
}

struct SessionRow {
    id: i64,
    external_id: String,
    agent: String,
    state: SessionState,
    message_count: i32,
    ledger_position: i32,
    created_at: OffsetDateTime,
    last_message_at: OffsetDateTime,
    last_sent_at: Option<OffsetDateTime>,
    completed_at: Option<OffsetDateTime>,
    completed_why: Option<CompletionReason>,
    project: Option<String>,
}

impl From<SessionRow> for AgentSession {
    fn from(row: SessionRow) -> Self {
        Self {
            id: SessionId(row.id),
            external_id: row.external_id,
            agent: row.agent,
            state: row.state,
            message_count: row.message_count,
            ledger_position: row.ledger_position,
            created_at: row.created_at,
            last_message_at: row.last_message_at,
            last_sent_at: row.last_sent_at,
            completed: row.completed_at.zip(row.completed_why),
            project: row.project,
            extraction: None,
        }
    }
}

/// Without its ledger.
pub async fn find_by_name(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    name: &SessionName,
) -> Result<Option<AgentSession>, sqlx::Error> {
    let row = sqlx::query_as!(
        SessionRow,
        r#"SELECT s.id, s.external_id, a.name AS agent, s.state AS "state: SessionState", s.message_count, s.ledger_position,
                s.created_at, s.last_message_at, s.completed_at, s.completed_why AS "completed_why: CompletionReason",
                (SELECT m.sent_at FROM session_messages m
                 WHERE m.user_id = $1 AND m.session_id = s.id AND m.position = s.message_count) AS last_sent_at,
                (SELECT p.name FROM projects p WHERE p.user_id = $1 AND p.id = s.project_id) AS project
         FROM sessions s JOIN agents a ON a.user_id = s.user_id AND a.id = s.agent_id
         WHERE s.user_id = $1 AND s.agent_id = $2 AND s.external_id = $3"#,
        user.0,
        agent.0,
        name.as_str(),
    );
    Ok(row.fetch_optional(conn).await?.map(AgentSession::from))
}

/// Without its ledger.
pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<Option<AgentSession>, sqlx::Error> {
    let row = sqlx::query_as!(
        SessionRow,
        r#"SELECT s.id, s.external_id, a.name AS agent, s.state AS "state: SessionState", s.message_count, s.ledger_position,
                s.created_at, s.last_message_at, s.completed_at, s.completed_why AS "completed_why: CompletionReason",
                (SELECT m.sent_at FROM session_messages m
                 WHERE m.user_id = $1 AND m.session_id = s.id AND m.position = s.message_count) AS last_sent_at,
                (SELECT p.name FROM projects p WHERE p.user_id = $1 AND p.id = s.project_id) AS project
         FROM sessions s JOIN agents a ON a.user_id = s.user_id AND a.id = s.agent_id
         WHERE s.user_id = $1 AND s.id = $2"#,
        user.0,
        session.0,
    );
    Ok(row.fetch_optional(conn).await?.map(AgentSession::from))
}

/// Newest first, without their ledgers.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    filter: &SessionFilter,
) -> Result<Vec<AgentSession>, sqlx::Error> {
    let rows = sqlx::query_as!(
        SessionRow,
        r#"SELECT s.id, s.external_id, a.name AS agent, s.state AS "state: SessionState", s.message_count, s.ledger_position,
                s.created_at, s.last_message_at, s.completed_at, s.completed_why AS "completed_why: CompletionReason",
                (SELECT m.sent_at FROM session_messages m
                 WHERE m.user_id = $1 AND m.session_id = s.id AND m.position = s.message_count) AS last_sent_at,
                (SELECT p.name FROM projects p WHERE p.user_id = $1 AND p.id = s.project_id) AS project
         FROM sessions s JOIN agents a ON a.user_id = s.user_id AND a.id = s.agent_id
         WHERE s.user_id = $1 AND ($2::bigint IS NULL OR s.agent_id = $2) AND ($3::text IS NULL OR s.state = $3)
           AND ($4::text IS NULL OR $4 = (SELECT e.outcome FROM session_extractions e
                                          WHERE e.user_id = $1 AND e.session_id = s.id
                                          ORDER BY e.first_position DESC LIMIT 1))
         ORDER BY s.last_message_at DESC, s.id DESC LIMIT $5"#,
        user.0,
        filter.agent,
        filter.state.map(SessionState::as_str),
        filter.outcome.map(super::model::ExtractionOutcome::as_str),
        filter.limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(AgentSession::from).collect())
}

/// Whether the user has any session.
pub async fn any(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM sessions WHERE user_id = $1) AS "any!""#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// Agents that have sessions, by name.
pub async fn list_agents(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(i64, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT a.id, a.name FROM agents a
         WHERE a.user_id = $1 AND EXISTS (SELECT FROM sessions s WHERE s.user_id = $1 AND s.agent_id = a.id)
         ORDER BY a.name, a.id",
        user.0
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// A page of a session's messages.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The position before the first.
    pub after: i32,
    pub last: i32,
    pub limit: i64,
}

/// Maximum bytes of a page, which contains at least one message.
const PAGE_BYTES_MAX: i64 = 2 * 1024 * 1024;

/// In order, as many as [`PAGE_BYTES_MAX`] allows.
pub async fn list_messages(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    stretch: Stretch,
) -> Result<Vec<StoredMessage>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT position, external_id, role AS "role: MessageRole", content, tool_calls, tool_call_id, sent_at, created_at
         FROM (SELECT *, sum(octet_length(content) + tool_calls_bytes) OVER (ORDER BY position)
                         - octet_length(content) - tool_calls_bytes AS bytes_before
               FROM (SELECT * FROM session_messages
                     WHERE user_id = $1 AND session_id = $2 AND position > $3 AND position <= $4
                     ORDER BY position LIMIT $5) m) m
         WHERE bytes_before < $6 OR position = $3 + 1 ORDER BY position"#,
        user.0,
        session.0,
        stretch.after,
        stretch.last,
        stretch.limit,
        PAGE_BYTES_MAX,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows
        .into_iter()
        .map(|row| StoredMessage {
            position: row.position,
            external_id: row.external_id,
            role: row.role,
            content: row.content,
            tool_calls: row
                .tool_calls
                .and_then(|calls| serde_json::from_value(calls).ok())
                .unwrap_or_default(),
            tool_call_id: row.tool_call_id,
            sent_at: row.sent_at,
            created_at: row.created_at,
        })
        .collect())
}
