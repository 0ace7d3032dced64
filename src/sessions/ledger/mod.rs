//! The ledger: one row for each stretch of a session that was completed, and how the
//! reading of it ended. Whoever reads begins an attempt first, and names it when it ends, so that
//! a reader who comes late writes nothing. No words are in it, but what an agent itself says a stretch was about.

mod store;

pub use store::{
    Handed, Progress, Unread, claim, find_handed as handed_of, find_progress as progress_of,
    finish, is_ours, set_noted as note_noted, set_summary as note_summary,
};

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Due, Ending, Extraction, ExtractionId, Message, SessionId};
use super::store::{self as sessions_store, Stretch};
use crate::db::{Db, UserId};
use crate::queue;

const MESSAGES_A_PAGE: i64 = 500;

/// Who has something due at this moment. As the system role: ids alone.
pub async fn users_due(db: &Db, now: OffsetDateTime) -> Result<Vec<UserId>, sqlx::Error> {
    store::list_users_due(&mut *db.system_connection().await?, now).await
}

/// What comes next of a user, and when it may be read: longest due first. Of a session only what
/// comes first and was not read yet is due.
pub async fn next_due(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Option<(Due, OffsetDateTime)>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let due = store::find_next_due(&mut tx, user, now).await?;
    tx.commit().await?;
    Ok(due)
}

/// What waits to be read of a user's sessions, or is being read.
pub async fn unread_of(db: &Db, user: UserId, now: OffsetDateTime) -> Result<Unread, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let unread = store::count_unread(&mut tx, user, now).await?;
    tx.commit().await?;
    Ok(unread)
}

/// Its person wants a stretch that failed or was skipped read again, now. False where there is
/// none that begins there, or somebody is at it.
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

/// Writes how a reading ended that came as far as `read_to`: the row covers no more than that, and
/// the rest is a row of its own. `endings`: of both. False where another attempt has been begun.
pub async fn finish_in_part(
    conn: &mut PgConnection,
    user: UserId,
    claimed: &Extraction,
    read_to: i32,
    endings: (&Ending<'_>, &Ending<'_>),
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    if !finish(conn, user, claimed, endings.0, now).await? {
        return Ok(false);
    }
    store::split(conn, user, claimed, read_to, endings.1, now).await?;
    Ok(true)
}

/// The row, in a transaction that knows its user.
pub async fn find_extraction(
    conn: &mut PgConnection,
    user: UserId,
    extraction: ExtractionId,
) -> Result<Option<Extraction>, sqlx::Error> {
    store::find(conn, user, extraction).await
}

/// What there is to read for a row, in the order in which it was said, a page at a time: those
/// after the position `after` (0 at first). Nothing is left when the page is empty.
pub async fn messages_of(
    conn: &mut PgConnection,
    user: UserId,
    extraction: &Extraction,
    after: i32,
) -> Result<Vec<Message>, sqlx::Error> {
    let stretch = Stretch {
        after: after.max(extraction.first_position - 1),
        last: extraction.last_position,
        limit: MESSAGES_A_PAGE,
    };
    sessions_store::list_messages(conn, user, extraction.session_id, stretch).await
}

/// All rows of a session, in the order of its messages.
pub async fn of_session(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<Vec<Extraction>, sqlx::Error> {
    store::list_of(conn, user, session).await
}

/// The newest row of each of these sessions.
pub(super) async fn newest_of(
    conn: &mut PgConnection,
    user: UserId,
    sessions: &[i64],
) -> Result<Vec<Extraction>, sqlx::Error> {
    store::list_newest(conn, user, sessions).await
}
