//! The ledger: one row for each stretch of a session that was completed, and how the
//! reading of it ended. Whoever reads claims a row first, and names its attempt when
//! it ends, so that a reader who comes late writes nothing. No words are in it.

mod store;

pub use store::{claim, finish, renew};

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Due, Extraction, ExtractionId, Message, SessionId};
use super::store::{self as sessions_store, Stretch};
use crate::db::{Db, UserId};

const MESSAGES_A_PAGE: i64 = 500;

/// What is due at this moment and in nobody's hands, longest due first. As the system role,
/// for the sweep: ids alone.
pub async fn due_extractions(
    db: &Db,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<Due>, sqlx::Error> {
    store::list_due(&mut *db.system_connection().await?, now, limit).await
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
