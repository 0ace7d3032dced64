//! The ledger: one row per stretch of a session to be read, and how reading it ended. A reader first begins
//! an attempt, and names it at the end, so that a late reader writes nothing. It contains no text, except an
//! agent's own summary of a stretch.

mod store;

pub use store::{
    AgentInput, ReadingProgress, UnreadStretches, claim, find_handed as handed_of,
    find_progress as progress_of, finish, is_ours, set_noted as note_noted,
    set_summary as note_summary,
};

use std::ops::RangeInclusive;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{
    DueExtraction, ExtractionEnd, ExtractionId, SessionExtraction, SessionId, StoredMessage,
};
use super::store::{self as sessions_store, Stretch};
use crate::db::{Db, UserId};
use crate::queue;

const MESSAGES_A_PAGE: i64 = 500;
/// Stretches that are read again with each that a model has read, so that old ones cost a few times a new one at most.
const GUESSED_AT_ONCE: i64 = 5;
/// A stretch that failed this often, of which eight attempts are automatic retries, is read again on request only.
const GUESSED_ATTEMPTS_MAX: i32 = 12;

/// Users with stretches that are due. As the system role: ids only.
pub async fn users_due(db: &Db, now: OffsetDateTime) -> Result<Vec<UserId>, sqlx::Error> {
    store::list_users_due(&mut *db.system_connection().await?, now).await
}

/// A user's next stretch and when it may be read, longest due first. Within a session, only the first unread
/// stretch is due.
pub async fn next_due(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Option<(DueExtraction, OffsetDateTime)>, sqlx::Error> {
    db.for_user(user, async |conn, user| store::find_next_due(conn, user, now).await).await
}

/// What waits to be read of a user's sessions, or is being read.
pub async fn unread_of(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<UnreadStretches, sqlx::Error> {
    db.for_user(user, async |conn, user| store::count_unread(conn, user, now).await).await
}

/// Makes a failed or skipped stretch due now, on the person's request. False if none begins there, or it is
/// being read.
pub async fn read_again(
    db: &Db,
    user: UserId,
    session: SessionId,
    first_position: i32,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let is_due = store::make_due(&mut tx, user, session, first_position, now).await?;
    queue::push_now(&mut tx, user, queue::EXTRACT, now).await?;
    tx.commit().await?;
    Ok(is_due)
}

/// Makes some stretches due whose guesses wait for a model, which has just answered or been set. In a transaction that has
/// set the user.
pub async fn read_guesses_again(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let bounds = (GUESSED_AT_ONCE, GUESSED_ATTEMPTS_MAX);
    if store::make_guessed_due(&mut *conn, user, bounds, now).await? > 0 {
        queue::push_now(conn, user, queue::EXTRACT, now).await?;
    }
    Ok(())
}

/// Records a reading that ended at `read_to`: the row is shortened to it, and the rest becomes a row of its
/// own. `endings`: of both. False if another attempt has begun.
pub async fn finish_in_part(
    conn: &mut PgConnection,
    user: UserId,
    claimed: &SessionExtraction,
    read_to: i32,
    endings: (&ExtractionEnd<'_>, &ExtractionEnd<'_>),
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    if !finish(conn, user, claimed, endings.0, now).await? {
        return Ok(false);
    }
    store::split(conn, user, claimed, read_to, endings.1, now).await?;
    Ok(true)
}

/// The row, in a transaction that has set the user.
pub async fn find_extraction(
    conn: &mut PgConnection,
    user: UserId,
    extraction: ExtractionId,
) -> Result<Option<SessionExtraction>, sqlx::Error> {
    store::find(conn, user, extraction).await
}

/// The messages at these positions in order, page by page: those after position `after` (0 at first). An
/// empty page ends it.
pub async fn messages_of(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    positions: RangeInclusive<i32>,
    after: i32,
) -> Result<Vec<StoredMessage>, sqlx::Error> {
    let stretch = Stretch {
        after: after.max(positions.start() - 1),
        last: *positions.end(),
        limit: MESSAGES_A_PAGE,
    };
    sessions_store::list_messages(conn, user, session, stretch).await
}

/// All rows of a session, in the order of its messages.
pub async fn of_session(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<Vec<SessionExtraction>, sqlx::Error> {
    store::list_of(conn, user, session).await
}

/// The newest row of each of these sessions.
pub(super) async fn newest_of(
    conn: &mut PgConnection,
    user: UserId,
    sessions: &[i64],
) -> Result<Vec<SessionExtraction>, sqlx::Error> {
    store::list_newest(conn, user, sessions).await
}
