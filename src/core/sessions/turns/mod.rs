//! Turns: the messages of sessions, open or completed, as the lowest tier of search, so that they can be found
//! before a model has read them. The transaction that adds messages makes the first step of their turns, the job
//! makes the others. Turns are made from messages only, and deleted with them. They are not memories: nothing
//! lists, counts, exports or changes them, and each user may switch them off.

mod store;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::given;
use super::message::MessageRole;
use super::model::{SessionId, StoredMessage};
use super::store::{self as sessions_store, Stretch};
use crate::db::{Db, UserId, enter_scope};
use crate::embedding::{EmbeddingError, Embeddings};
use crate::memories::quoted::own_words;
use crate::memories::write::{NewSource, TurnMessage, write};
use crate::memories::{Trust, passages};
use crate::queue;
use crate::quota;
use store::LockedSession;

/// Messages per transaction.
const MESSAGES_A_STEP: i64 = 100;
/// Turns deleted per transaction.
const REMOVED_A_STEP: i32 = 1_000;
const SESSIONS_A_LOOK: i64 = 64;
/// More sessions and messages are not counted.
pub const COUNTED_MAX: i64 = 10_000;

/// A session with messages whose turns are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionWithTurnsDue {
    pub user: UserId,
    pub session: SessionId,
}

/// A turn to be written.
#[derive(Debug, PartialEq, Eq)]
struct NewTurn<'m> {
    position: i32,
    /// Part number within its message, from 1.
    part: i16,
    role: MessageRole,
    trust: Trust,
    content: &'m str,
    said_at: OffsetDateTime,
}

impl NewTurn<'_> {
    fn as_source(
        &self,
        session: SessionId,
        of: &LockedSession,
        now: OffsetDateTime,
    ) -> NewSource<'_> {
        NewSource {
            agent_id: Some(of.agent_id),
            project_id: of.project_id,
            source: self.role.as_str(),
            trust: self.trust.as_str(),
            created_at: self.said_at,
            part: Some(TurnMessage {
                turn_session_id: session.0,
                turn_position: self.position,
                turn_part: self.part,
            }),
            ..NewSource::new("turn", self.content, None, &[], now)
        }
    }
}

/// The text of people and assistants, without tool results and without memory that Keepsake inserted.
fn of_message(message: &StoredMessage, now: OffsetDateTime) -> Vec<NewTurn<'_>> {
    if message.role == MessageRole::Tool {
        return Vec::new();
    }
    // What it pastes is somebody else's.
    let is_own = message.role != MessageRole::User
        || own_words(&message.content).split_whitespace().eq(message.content.split_whitespace());
    let trust = if is_own { message.role.trust() } else { Trust::External };
    let around = given::around(&message.content);
    let said = around
        .into_iter()
        // A turn is one passage, so that a longer message has several.
        .flat_map(passages::cut);
    // Fits: a message has at most 100,000 characters.
    (1_i16..)
        .zip(said)
        .map(|(part, content)| NewTurn {
            position: message.position,
            part,
            role: message.role,
            trust,
            content,
            said_at: message.said_at().min(now),
        })
        .collect()
}

/// How much of conversations there is to search; both counts up to [`COUNTED_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversations {
    pub sessions: i64,
    pub messages: i64,
}

/// # Errors
/// Only database errors.
pub async fn count(conn: &mut PgConnection, user: UserId) -> Result<Conversations, sqlx::Error> {
    store::count(conn, user, COUNTED_MAX).await
}

/// As the system role: users with turns to be made or deleted. Ids only.
pub async fn users_due(db: &Db, now: OffsetDateTime) -> Result<Vec<UserId>, sqlx::Error> {
    store::list_users_due(&mut *db.system_connection().await?, now).await
}

/// A user's sessions with missing turns, at most [`SESSIONS_A_LOOK`].
pub async fn due_of(db: &Db, user: UserId) -> Result<Vec<SessionWithTurnsDue>, sqlx::Error> {
    db.for_user(user, async |conn, user| store::list_due(conn, user, SESSIONS_A_LOOK).await).await
}

/// Makes the turns of a session's next messages with pending embeddings, and records the progress in the same
/// transaction, so that a crash neither repeats nor skips any. Makes none if turns or memory are switched
/// off. False if another process is at it, or nothing is left.
///
/// # Errors
/// Database errors, and [`EmbeddingError::TooManyPending`].
pub async fn make_some(
    db: &Db,
    embeddings: &Embeddings,
    due: SessionWithTurnsDue,
) -> Result<bool, EmbeddingError> {
    let mut tx = db.as_writer(due.user).await?;
    let Some(held) = store::hold(&mut tx, due.user, due.session).await? else {
        return Ok(false);
    };
    make_step(&mut tx, embeddings, due, &held).await?;
    tx.commit().await?;
    Ok(true)
}

/// [`make_some`] in the transaction that adds messages, which has raised the user's revision. True if some are
/// left.
///
/// # Errors
/// As [`make_some`]; the transaction must then be rolled back.
pub(super) async fn make_added(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    due: SessionWithTurnsDue,
) -> Result<bool, EmbeddingError> {
    match store::hold(conn, due.user, due.session).await? {
        Some(held) => make_step(conn, embeddings, due, &held).await,
        None => Ok(false),
    }
}

/// At most [`MESSAGES_A_STEP`]. True if some are left.
async fn make_step(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    due: SessionWithTurnsDue,
    held: &LockedSession,
) -> Result<bool, EmbeddingError> {
    let (user, now) = (due.user, embeddings.now());
    enter_scope(conn, user, held.agent_id).await?;
    let mut made_up_to = held.message_count;
    if held.is_wanted {
        let stretch = Stretch {
            after: held.turns_position,
            last: held.message_count,
            limit: MESSAGES_A_STEP,
        };
        let messages = sessions_store::list_messages(conn, user, due.session, stretch).await?;
        let oldest = held.turn_days.map(|days| now - Duration::days(i64::from(days)));
        let turns: Vec<NewTurn> = messages
            .iter()
            .flat_map(|m| of_message(m, now))
            .filter(|turn| oldest.is_none_or(|oldest| turn.said_at >= oldest))
            .collect();
        let sources: Vec<NewSource> =
            turns.iter().map(|turn| turn.as_source(due.session, held, now)).collect();
        if !sources.is_empty() {
            let written = write(conn, user, &sources, now).await?;
            if written.ids.iter().any(Option::is_some) {
                embeddings.see_to(conn, user, written.noted).await?;
            }
        }
        if let Some(last) = messages.last() {
            made_up_to = last.position;
        }
    }
    store::note_made(conn, user, due.session, made_up_to).await?;
    Ok(made_up_to < held.message_count)
}

/// Switches the search of a user's turns. Off: none is found from now on, and they are deleted, here and by
/// [`remove_some`]. On: they are made again for all sessions.
pub async fn switch(
    db: &Db,
    user: UserId,
    is_on: bool,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let mut tx = db.as_writer(user).await?;
    if store::switch(&mut tx, user, is_on, now).await? && is_on {
        mark_all_due(&mut tx, user).await?;
    }
    store::remove(&mut tx, user, REMOVED_A_STEP, now).await?;
    queue::push_now(&mut tx, user, queue::TURNS, now).await?;
    tx.commit().await
}

pub(super) use store::{are_on, mark_all_due};

/// Deletes some turns of a user who has switched them off, or some that are too old. False if none are left.
pub async fn remove_some(db: &Db, user: UserId, now: OffsetDateTime) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_writer(user).await?;
    let some = store::remove(&mut tx, user, REMOVED_A_STEP, now).await?;
    if some > 0 {
        quota::recount_soon(&mut tx, user, now).await?;
    }
    tx.commit().await?;
    Ok(some > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: MessageRole, content: &str) -> StoredMessage {
        StoredMessage {
            position: 7,
            external_id: "m7".to_owned(),
            role,
            content: content.to_owned(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            sent_at: None,
            created_at: OffsetDateTime::UNIX_EPOCH,
        }
    }

    fn said(role: MessageRole, content: &str) -> Vec<String> {
        let now = OffsetDateTime::UNIX_EPOCH;
        let message = message(role, content);
        let turns = of_message(&message, now).into_iter();
        turns.map(|turn| turn.content.to_owned()).collect()
    }

    #[test]
    fn a_message_is_one_turn_and_what_is_no_word_is_none() {
        assert_eq!(said(MessageRole::User, " I live in Porto.\n"), ["I live in Porto."]);
        assert_eq!(said(MessageRole::Assistant, "Noted."), ["Noted."]);
        assert!(said(MessageRole::Assistant, " \n").is_empty());
        assert!(said(MessageRole::Tool, "a result").is_empty());
    }

    #[test]
    fn what_was_handed_out_from_memory_is_no_turn() {
        let text = "Hi. <keepsake-memory ids=\"7\"/> And now?";
        assert_eq!(said(MessageRole::User, text), ["Hi.", "And now?"]);
        let unclosed = "<keepsake-memory>never closed";
        assert_eq!(said(MessageRole::User, unclosed), [unclosed]);
    }

    #[test]
    fn a_long_message_is_several_turns_and_no_word_of_it_is_lost() {
        let words: Vec<String> = (0..20_000).map(|n| format!("w{n}")).collect();
        let turns =
            said(MessageRole::User, &words.join(" ").chars().take(100_000).collect::<String>());
        assert!(turns.len() > 90);
        let is_passage = |turn: &String| passages::tokens(turn) <= passages::WINDOW_TOKENS;
        assert!(turns.iter().all(is_passage));
        let kept: Vec<&str> = turns.iter().flat_map(|turn| turn.split(' ')).collect();
        let whole = words.join(" ").chars().take(100_000).collect::<String>();
        assert_eq!(kept, whole.split(' ').collect::<Vec<_>>());
        // Text without blanks.
        let turns = said(MessageRole::User, &"語".repeat(2_500));
        assert_eq!(turns.concat(), "語".repeat(2_500));
    }
}
