//! What agents and the server have stored since its person looked last: kept, forgotten or confirmed, one by one. What is
//! forgotten is archived, and tells the model that reads sessions what is not worth keeping.

mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::change::archive;
use super::model::{ItemId, ItemType};
use super::trust::Trust;
use super::{Day, MemoryError, get_whole};
use crate::activity::Call;
use crate::clock::SharedClock;
use crate::db::{Db, UserId};
use crate::embedding::Embeddings;
use crate::input::required_text;

/// On its page.
pub const SHOWN_MAX: i64 = 50;
/// More are not counted.
pub const COUNTED_MAX: i64 = 100;
/// What is not worth keeping: so many lines, the latest.
pub const UNWANTED_MAX: i64 = 20;
pub const UNWANTED_CHARS_MAX: usize = 120;

pub struct Learned {
    pub id: ItemId,
    /// By slug and name.
    pub theme: (String, String),
    pub item_type: ItemType,
    pub beginning: String,
    pub source: String,
    pub trust: Trust,
    /// The words that it came from.
    pub quote: Option<String>,
    /// A session, and the message's position in it.
    pub said_in: Option<(i64, Option<i32>)>,
    pub agent: Option<String>,
    pub created_at: OffsetDateTime,
}

/// A line of what is not worth keeping.
pub struct Unwanted {
    pub id: i64,
    pub text: String,
    /// The memory that was forgotten; `None`: the person wrote it.
    pub item: Option<ItemId>,
}

pub struct Overview {
    /// The newest first, at most [`SHOWN_MAX`].
    pub items: Vec<Learned>,
    /// Of them and those behind them, at most [`COUNTED_MAX`].
    pub count: i64,
    pub unwanted: Vec<Unwanted>,
}

/// # Errors
/// Only what the database says.
pub async fn overview(db: &Db, user: UserId, now: OffsetDateTime) -> Result<Overview, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let mut items = store::list(&mut tx, user, now, COUNTED_MAX).await?;
    let unwanted = store::list_unwanted(&mut tx, user, UNWANTED_MAX).await?;
    tx.commit().await?;
    let count = items.len() as i64;
    items.truncate(SHOWN_MAX as usize);
    Ok(Overview {
        items,
        count,
        unwanted,
    })
}

/// How many wait to be looked at, at most [`COUNTED_MAX`].
///
/// # Errors
/// Only what the database says.
pub async fn count(db: &Db, user: UserId, now: OffsetDateTime) -> Result<i64, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let items = store::list(&mut tx, user, now, COUNTED_MAX).await?;
    tx.commit().await?;
    Ok(items.len() as i64)
}

/// It was looked at, and stays as it is.
///
/// # Errors
/// [`MemoryError::NotFound`], or what the database says.
pub async fn keep(db: &Db, user: UserId, item: ItemId) -> Result<(), MemoryError> {
    let mut tx = db.as_user(user).await?;
    if !store::keep(&mut tx, user, item).await? {
        return Err(MemoryError::NotFound(item));
    }
    Ok(tx.commit().await?)
}

/// All up to this one were looked at.
///
/// # Errors
/// Only what the database says.
pub async fn keep_all(db: &Db, user: UserId, upto: ItemId) -> Result<(), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    store::keep_all(&mut tx, user, upto.0).await?;
    tx.commit().await
}

/// Archives it, and notes its beginning as not worth keeping.
///
/// # Errors
/// [`MemoryError::NotFound`], or what the database says.
pub async fn forget(
    db: &Db,
    embeddings: &Embeddings,
    clock: &SharedClock,
    call: &Call,
    id: ItemId,
) -> Result<(), MemoryError> {
    let (found, _) = get_whole(db, embeddings, &call.viewer, id, &Day::default()).await?;
    archive(db, clock, call, id).await?;
    let user = call.viewer.user_id;
    let mut tx = db.as_user(user).await?;
    let text = line_of(&found.item.content);
    store::add_unwanted(&mut tx, user, Some(id), &text, UNWANTED_MAX).await?;
    Ok(tx.commit().await?)
}

/// Adds a line of the person's own; of an import perhaps a memory's beginning.
///
/// # Errors
/// An [`Invalid`](crate::input::Invalid) that names `text`, or what the database says.
pub async fn add_unwanted(
    db: &Db,
    user: UserId,
    item: Option<ItemId>,
    text: &str,
) -> Result<(), MemoryError> {
    let text = required_text("text", text, UNWANTED_CHARS_MAX).map_err(MemoryError::from)?;
    let mut tx = db.as_user(user).await?;
    store::add_unwanted(&mut tx, user, item, &line_of(text), UNWANTED_MAX).await?;
    Ok(tx.commit().await?)
}

/// The lines that hold, the latest first.
///
/// # Errors
/// Only what the database says.
pub async fn list_unwanted(db: &Db, user: UserId) -> Result<Vec<Unwanted>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let lines = store::list_unwanted(&mut tx, user, UNWANTED_MAX).await?;
    tx.commit().await?;
    Ok(lines)
}

/// Such things are worth keeping again. False where there is no such line.
///
/// # Errors
/// Only what the database says.
pub async fn remove_unwanted(db: &Db, user: UserId, id: i64) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let removed = store::remove_unwanted(&mut tx, user, id).await?;
    tx.commit().await?;
    Ok(removed)
}

/// What the model that reads a session is told, in the caller's transaction: of what is seen in it.
///
/// # Errors
/// Only what the database says.
pub async fn unwanted(conn: &mut PgConnection, user: UserId) -> Result<Vec<String>, sqlx::Error> {
    let lines = store::list_unwanted(conn, user, UNWANTED_MAX).await?;
    Ok(lines.into_iter().map(|line| line.text).collect())
}

/// One line, as long as it may be.
fn line_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(UNWANTED_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_and_short() {
        assert_eq!(line_of(" a\nb\t c "), "a b c");
        assert_eq!(
            line_of(&"ä".repeat(500)).chars().count(),
            UNWANTED_CHARS_MAX
        );
    }
}
