//! Sessions: an agent sends its conversation as it happens, and each message is stored once and in order.
//! When a session is complete, a row of the ledger ([`ledger`]) says which messages must be read for
//! memories, and later the result. No model is called here. Messages are written only to their table, and as
//! turns ([`turns`]), by which search finds them at once.

pub mod given;
pub mod ledger;
pub mod lifetimes;
pub mod message;
pub mod model;
pub mod own_tools;
mod shapes;
mod store;
pub mod turns;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

pub use message::{MessageRole, NewMessages, SessionName, SkippedMessage, ToolCall};
pub use model::{
    AddedMessages, AgentSession, CompletionReason, ExtractionCounts, ExtractionId,
    ExtractionOutcome, FlushedSession, SessionExtraction, SessionFilter, SessionId, SessionState,
    StoredMessage,
};

use crate::accounts::{self, AgentId};
use crate::clock::{Rounds, Schedule};
use crate::db::{Db, UserId, is_of_a_gone_user, raise_revision};
use crate::embedding::{EmbeddingError, Embeddings};
use crate::input::Invalid;
use crate::memories::{ProjectRef, projects};
use crate::queue;
use crate::quota::{self, QuotaError};
use given::Envelope;
use lifetimes::Lifetimes;
use message::{MESSAGES_A_SESSION_MAX, TOOL_CALLS_A_SESSION_MAX};
use store::{IdleSince, OpenSession, Stretch};
use turns::SessionWithTurnsDue;

/// After this idle time a session is complete.
pub const STILL_FOR: Duration = Duration::minutes(30);
/// The same, if its agent has continued in another session, or at night.
pub const PAUSED_FOR: Duration = Duration::minutes(2);
/// An open session is read in stretches of this many new messages, about as many as a day without a pause of
/// [`STILL_FOR`] has.
const STRETCH_MESSAGES: i32 = 50;
/// Messages per page: the maximum and the default.
pub const PAGE_MAX: i64 = 500;
/// Per user.
pub const SESSIONS_MAX: i64 = 100_000;
pub const PAGE_DEFAULT: i64 = 100;
/// Sessions completed per transaction.
const COMPLETED_AT_ONCE: i64 = 500;
/// Maximum users per look-up.
const USERS_MAX: i64 = 10_000;

/// The user's messages that contain `part` in lower case; newest first, from the latest sessions.
pub async fn said_by_user(db: &Db, user: UserId, part: &str) -> Result<Vec<String>, sqlx::Error> {
    db.for_user(user, async |conn, user| store::list_said(conn, user, part).await).await
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("this agent has no session of this id")]
    NotFound,
    #[error(
        "this session would have more than {MESSAGES_A_SESSION_MAX} messages, which is the most; nothing was added: go on in a session of another id"
    )]
    Full,
    #[error(
        "this session would have more than {TOOL_CALLS_A_SESSION_MAX} tool calls, which is the most; nothing was added: go on in a session of another id"
    )]
    TooManyCalls,
    #[error("the account that this token acts for was erased; nothing was written")]
    AccountErased,
    #[error(transparent)]
    Quota(QuotaError),
    #[error(transparent)]
    Database(sqlx::Error),
}

impl From<QuotaError> for SessionError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Database(error) => error.into(),
            full => Self::Quota(full),
        }
    }
}

impl From<sqlx::Error> for SessionError {
    fn from(error: sqlx::Error) -> Self {
        match is_of_a_gone_user(&error) {
            true => Self::AccountErased,
            false => Self::Database(error),
        }
    }
}

/// The owner of a session, and the agent's name for it.
#[derive(Clone, Debug)]
pub struct Address {
    pub user: UserId,
    pub agent: AgentId,
    pub name: SessionName,
}

/// Appends the new messages to a session; creates the session if it is missing, and reopens it if it was
/// complete. A message with a known id is a duplicate, whatever its content. Adds all or none. Of memory in them, ids are kept ([`given`]). What the session is about is
/// what was said last of it. Also completes
/// the agent's other idle sessions, cuts off a stretch to be read after [`STRETCH_MESSAGES`], and makes the first
/// turns. Messages whose turns fail are added without them.
pub async fn add(
    db: &Db,
    embeddings: &Embeddings,
    address: &Address,
    mut messages: NewMessages,
    project: Option<&ProjectRef>,
    now: OffsetDateTime,
) -> Result<AddedMessages, SessionError> {
    let user = address.user;
    let envelope = Envelope::of(embeddings.sealer(), user);
    given::keep_ids(db, &envelope, address, &mut messages, now).await?;
    let room = quota::estimate(messages.bytes(), messages.messages.len());
    embeddings.quota().take(user, room).await?;
    let messages = (&messages, project);
    let mut tx = db.as_user(user).await?;
    let (added, is_left) = if turns::are_on(&mut tx, user).await? {
        let appended = append_with_turns(&mut tx, embeddings, address, messages, now).await;
        match appended {
            Ok(done) => done,
            Err(NotAppended::Refused(error)) => return Err(error),
            Err(NotAppended::TurnsFailed(error)) => {
                let code = error.code();
                tracing::warn!(user = user.0, code, "turns could not be made; the job makes them");
                tx.rollback().await.ok();
                tx = db.as_user(user).await?;
                // Boxed because it is rare: its state would enlarge every add's future.
                (Box::pin(append(&mut tx, address, messages, now)).await?.0, true)
            }
        }
    } else {
        (append(&mut tx, address, messages, now).await?.0, false)
    };
    if is_left {
        queue::push(&mut tx, user, queue::TURNS, 1, now).await?;
    }
    tx.commit().await?;
    Ok(added)
}

/// Why messages with turns were not appended.
enum NotAppended {
    Refused(SessionError),
    TurnsFailed(EmbeddingError),
}

/// [`append`], and the first turns. True if some are left.
async fn append_with_turns(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    address: &Address,
    messages: (&NewMessages, Option<&ProjectRef>),
    now: OffsetDateTime,
) -> Result<(AddedMessages, bool), NotAppended> {
    let user = address.user;
    // Before any other lock of the user, as each writer does.
    let raised = raise_revision(conn, user).await;
    raised.map_err(|error| NotAppended::TurnsFailed(error.into()))?;
    let appended = append(conn, address, messages, now).await;
    let (added, session) = appended.map_err(NotAppended::Refused)?;
    if added.accepted == 0 {
        return Ok((added, false));
    }
    let made = turns::make_added(conn, embeddings, SessionWithTurnsDue { user, session }).await;
    Ok((added, made.map_err(NotAppended::TurnsFailed)?))
}

/// Appends messages without turns; the transaction holds the session from then on.
async fn append(
    conn: &mut PgConnection,
    address: &Address,
    (messages, project): (&NewMessages, Option<&ProjectRef>),
    now: OffsetDateTime,
) -> Result<(AddedMessages, SessionId), SessionError> {
    let user = address.user;
    let session = hold_or_make(conn, address, now).await?;
    let accepted = store::insert_messages(conn, user, &session, &messages.messages, now).await?;
    if session.message_count as usize + accepted.messages > MESSAGES_A_SESSION_MAX {
        return Err(SessionError::Full);
    }
    if session.tool_call_count as usize + accepted.tool_calls > TOOL_CALLS_A_SESSION_MAX {
        return Err(SessionError::TooManyCalls);
    }
    let duplicates = messages.messages.len() - accepted.messages + messages.repeated;
    let unflushed = session.message_count + accepted.messages as i32 - session.flushed_position;
    if accepted.messages > 0 {
        // Where there is no room for another project, the messages are kept without.
        let project = match project {
            Some(project) => projects::find_or_make(&mut *conn, user, project, now).await?,
            None => None,
        };
        let project = project.map(|project| project.id);
        store::note_messages(conn, user, session.id, &accepted, project, now).await?;
        let unread = session.message_count - session.ledger_position + accepted.messages as i32;
        if unread >= STRETCH_MESSAGES {
            store::cut(conn, user, session.id, None, now).await?;
            queue::push(conn, user, queue::EXTRACT, 1, now).await?;
        }
        let since = now - PAUSED_FOR;
        let others = store::lock_other_idle(conn, user, address.agent, session.id, since).await?;
        if !others.is_empty() {
            complete_all(conn, user, &others, CompletionReason::Another, now).await?;
        }
    }
    Ok((AddedMessages { accepted: accepted.messages, duplicates, unflushed }, session.id))
}

async fn hold_or_make(
    conn: &mut PgConnection,
    address: &Address,
    now: OffsetDateTime,
) -> Result<OpenSession, SessionError> {
    let (user, agent, name) = (address.user, address.agent, &address.name);
    if let Some(held) = store::hold(conn, user, agent, name).await? {
        return Ok(held);
    }
    name.check_new()?;
    if !store::has_room_for_session(conn, user).await? {
        return Err(SessionError::Invalid(Invalid::new(
            "external_id",
            "too_many_sessions",
            format!(
                "There are at most {SESSIONS_MAX} sessions of a user; nothing was added: erase some, or go on in one that is there."
            ),
        )));
    }
    // Another request may have created it at the same time; then this does nothing.
    store::insert_session(conn, user, agent, name, now).await?;
    let held = store::hold(conn, user, agent, name).await?;
    held.ok_or(SessionError::AccountErased)
}

/// Completes a session on its agent's request, optionally with the agent's summary. Idempotent.
pub async fn complete(
    db: &Db,
    address: &Address,
    summary: Option<&str>,
    now: OffsetDateTime,
) -> Result<AgentSession, SessionError> {
    let user = address.user;
    let mut tx = db.as_user(user).await?;
    let held = store::hold(&mut tx, user, address.agent, &address.name).await?;
    let held = held.ok_or(SessionError::NotFound)?;
    if held.state == SessionState::Open {
        complete_all(&mut tx, user, &[held.id.0], CompletionReason::Asked, now).await?;
    }
    if let Some(summary) = summary {
        ledger::note_summary(&mut tx, user, held.id, summary).await?;
    }
    let session = found(&mut tx, address).await?;
    tx.commit().await?;
    Ok(session)
}

/// Makes the unread rest of a session due now, because its agent is about to forget it; it is read for
/// decisions and open tasks too. Idempotent.
pub async fn flush(
    db: &Db,
    address: &Address,
    reason: &str,
    now: OffsetDateTime,
) -> Result<FlushedSession, SessionError> {
    let user = address.user;
    let mut tx = db.as_user(user).await?;
    let held = store::hold(&mut tx, user, address.agent, &address.name).await?;
    let held = held.ok_or(SessionError::NotFound)?;
    store::cut(&mut tx, user, held.id, Some(reason), now).await?;
    store::note_flush(&mut tx, user, held.id, reason).await?;
    queue::push(&mut tx, user, queue::EXTRACT, 1, now).await?;
    tx.commit().await?;
    Ok(FlushedSession { session: held.id, up_to: held.message_count })
}

/// A session by its agent's name for it, with the newest row of its ledger.
pub async fn find(db: &Db, address: &Address) -> Result<AgentSession, SessionError> {
    let mut tx = db.as_user(address.user).await?;
    let session = found(&mut tx, address).await?;
    tx.commit().await?;
    Ok(session)
}

async fn found(conn: &mut PgConnection, address: &Address) -> Result<AgentSession, SessionError> {
    let (user, agent, name) = (address.user, address.agent, &address.name);
    let session = store::find_by_name(conn, user, agent, name).await?;
    let session = session.ok_or(SessionError::NotFound)?;
    let newest = ledger::newest_of(conn, user, &[session.id.0]).await?;
    Ok(AgentSession { extraction: newest.into_iter().next(), ..session })
}

/// Messages of a session after position `after`, oldest first, with what was told to its agent then, and whether there are more.
pub async fn messages(
    db: &Db,
    address: &Address,
    after: i32,
    limit: i64,
) -> Result<(Vec<StoredMessage>, bool), SessionError> {
    let mut tx = db.as_user(address.user).await?;
    let session = found(&mut tx, address).await?;
    let page = page_of(&mut tx, address.user, &session, after, limit).await?;
    tx.commit().await?;
    Ok(page)
}

async fn page_of(
    conn: &mut PgConnection,
    user: UserId,
    session: &AgentSession,
    after: i32,
    limit: i64,
) -> Result<(Vec<StoredMessage>, bool), sqlx::Error> {
    let stretch = Stretch { after, last: session.message_count, limit };
    let mut messages = store::list_messages(conn, user, session.id, stretch).await?;
    given::show(conn, user, &mut messages).await?;
    let has_more = messages.last().is_some_and(|last| last.position < session.message_count);
    Ok((messages, has_more))
}

/// A page of a person's sessions.
#[derive(Clone, Debug)]
pub struct SessionList {
    /// Newest first, each with the newest row of its ledger.
    pub sessions: Vec<AgentSession>,
    /// Agents that have sessions, by id and name.
    pub agents: Vec<(i64, String)>,
    /// True if the user has no sessions at all, whatever the filter.
    pub is_empty: bool,
    /// Messages are searchable too ([`turns`]).
    pub turns_are_on: bool,
    pub lifetimes: Lifetimes,
}

/// A person's sessions, of all agents.
pub async fn page(
    db: &Db,
    user: UserId,
    filter: &SessionFilter,
) -> Result<SessionList, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let mut sessions = store::list(&mut tx, user, filter).await?;
    let ids: Vec<i64> = sessions.iter().map(|s| s.id.0).collect();
    for row in ledger::newest_of(&mut tx, user, &ids).await? {
        let of = sessions.iter_mut().find(|s| s.id == row.session_id);
        of.into_iter().for_each(|s| s.extraction = Some(row.clone()));
    }
    let page = SessionList {
        agents: store::list_agents(&mut tx, user).await?,
        turns_are_on: turns::are_on(&mut tx, user).await?,
        lifetimes: lifetimes::of(&mut tx, user).await?,
        is_empty: sessions.is_empty() && !store::any(&mut tx, user).await?,
        sessions,
    };
    tx.commit().await?;
    Ok(page)
}

/// One session, as its owner sees it.
#[derive(Clone, Debug)]
pub struct SessionTranscript {
    pub session: AgentSession,
    /// In the order of the messages.
    pub ledger: Vec<SessionExtraction>,
    pub messages: Vec<StoredMessage>,
    pub has_more: bool,
}

/// A session with its ledger and a page of messages after position `after`.
pub async fn transcript(
    db: &Db,
    user: UserId,
    session: SessionId,
    after: i32,
    limit: i64,
) -> Result<Option<SessionTranscript>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let Some(mut session) = store::find(&mut tx, user, session).await? else {
        return Ok(None);
    };
    let (messages, has_more) = page_of(&mut tx, user, &session, after, limit).await?;
    let ledger = ledger::of_session(&mut tx, user, session.id).await?;
    tx.commit().await?;
    session.extraction = ledger.last().cloned();
    Ok(Some(SessionTranscript { session, ledger, messages, has_more }))
}

/// Whether the user has this session.
pub async fn exists(db: &Db, user: UserId, session: SessionId) -> Result<bool, sqlx::Error> {
    let found =
        db.for_user(user, async |conn, user| store::find(conn, user, session).await).await?;
    Ok(found.is_some())
}

/// Users with sessions to be completed: idle for [`STILL_FOR`], or opened before the last night and idle for
/// a short time.
pub async fn users_with_still(
    db: &Db,
    nights: &Rounds,
    now: OffsetDateTime,
) -> Result<Vec<UserId>, sqlx::Error> {
    let mut conn = db.system_connection().await?;
    store::list_users_with_still(&mut conn, &IdleSince::at(now), nights, USERS_MAX).await
}

/// Completes some of a user's idle sessions, using the night of the user's time zone. Safe to run
/// concurrently. Returns how many; 0 if none are left.
pub async fn complete_still(
    db: &Db,
    user: UserId,
    night: Schedule,
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let Some(zone) = accounts::store::find_time_zone(&mut tx, user).await? else {
        return Ok(0);
    };
    let still = IdleSince::at(now);
    let night = night.last(&zone, now);
    let over = store::lock_idle(&mut tx, user, &still, night, COMPLETED_AT_ONCE).await?;
    let completed = over.len();
    let (still_ones, paused): (Vec<_>, Vec<_>) =
        over.into_iter().partition(|(_, at)| *at <= still.since);
    for (of, why) in [(still_ones, CompletionReason::Still), (paused, CompletionReason::Nightly)] {
        let ids: Vec<i64> = of.into_iter().map(|(id, _)| id).collect();
        if !ids.is_empty() {
            complete_all(&mut tx, user, &ids, why, now).await?;
        }
    }
    tx.commit().await?;
    Ok(completed)
}

/// Completes these sessions, and pushes the job that reads them.
async fn complete_all(
    conn: &mut PgConnection,
    user: UserId,
    sessions: &[i64],
    why: CompletionReason,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::complete(conn, user, sessions, why, now).await?;
    queue::push(conn, user, queue::EXTRACT, sessions.len(), now).await
}
