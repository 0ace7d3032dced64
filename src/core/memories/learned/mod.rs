//! Review of what agents and the server stored since the user's last look: keep, forget or confirm, one by one. A forgotten
//! item is archived and becomes an example, for the model that reads sessions, of what not to store. Guesses that nobody has
//! reviewed go when a model has read what they were made of.

mod proposed;
mod store;

pub use proposed::{ProposalOutcome, accept};

use std::ops::RangeInclusive;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::change::archive;
use super::model::{ItemId, ItemType};
use super::store::archive_items;
use super::trust::Trust;
use super::{Day, MERGED, MemoryError, READ_AGAIN, get_whole, with_key};
use crate::accounts::Viewer;
use crate::activity::RunningCall;
use crate::clock::SharedClock;
use crate::db::{Db, UserId};
use crate::embedding::Embeddings;
use crate::input::required_text;

/// Limit on the items of the page.
pub const SHOWN_MAX: i64 = 50;
/// Counting stops here.
pub const COUNTED_MAX: i64 = 100;
/// Counting those of imports stops here.
pub const IMPORTED_COUNTED_MAX: i64 = 10_000;
/// Limit on the examples of what not to store; the latest are kept.
pub const UNWANTED_MAX: i64 = 20;
pub const UNWANTED_CHARS_MAX: usize = 120;

/// What is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewList {
    /// Added by an agent or the server since the user's last look.
    New,
    /// Brought by an import.
    Imported,
    /// Stored by an earlier version as the person's own words because an agent said so.
    Claimed,
}

#[derive(Clone, Debug)]
pub struct LearnedItem {
    pub id: ItemId,
    /// Slug and display name.
    pub theme: (String, String),
    pub item_type: ItemType,
    pub beginning: String,
    pub source: String,
    pub trust: Trust,
    /// The quote that it was derived from.
    pub quote: Option<String>,
    /// The session and the message's position in it.
    pub said_in: Option<(i64, Option<i32>)>,
    pub agent: Option<String>,
    pub created_at: OffsetDateTime,
}

/// An example of what not to store.
#[derive(Clone, Debug)]
pub struct UnwantedExample {
    pub id: i64,
    pub text: String,
    /// The forgotten memory; `None`: written by the user.
    pub item: Option<ItemId>,
}

#[derive(Clone, Debug)]
pub struct LearnedOverview {
    /// Newest first, at most [`SHOWN_MAX`].
    pub items: Vec<LearnedItem>,
    /// Number of items to review, at most [`COUNTED_MAX`].
    pub count: i64,
    /// More wait than are counted.
    pub has_more: bool,
    /// Memories of imports to review, newest first, at most [`SHOWN_MAX`].
    pub imported: Vec<LearnedItem>,
    /// How many there are, at most [`IMPORTED_COUNTED_MAX`].
    pub imported_count: i64,
    /// Of [`ReviewList::Claimed`], newest first, at most [`SHOWN_MAX`].
    pub claimed: Vec<LearnedItem>,
    pub unwanted: Vec<UnwantedExample>,
}

/// # Errors
/// Database errors only.
pub async fn overview(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<LearnedOverview, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let mut items = store::list(&mut tx, user, ReviewList::New, now, COUNTED_MAX + 1).await?;
    let imported = store::list(&mut tx, user, ReviewList::Imported, now, SHOWN_MAX).await?;
    let claimed = store::list(&mut tx, user, ReviewList::Claimed, now, SHOWN_MAX).await?;
    let imported_count = store::count_imported(&mut tx, user, now, IMPORTED_COUNTED_MAX).await?;
    let unwanted = store::list_unwanted(&mut tx, user, UNWANTED_MAX).await?;
    tx.commit().await?;
    let found = items.len() as i64;
    items.truncate(SHOWN_MAX as usize);
    Ok(LearnedOverview {
        items,
        count: found.min(COUNTED_MAX),
        has_more: found > COUNTED_MAX,
        imported,
        imported_count,
        claimed,
        unwanted,
    })
}

/// Number of items to review, and of imported ones, each at most [`COUNTED_MAX`].
///
/// # Errors
/// Database errors only.
pub async fn count(db: &Db, user: UserId, now: OffsetDateTime) -> Result<(i64, i64), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let items = store::list(&mut tx, user, ReviewList::New, now, COUNTED_MAX).await?;
    let imported = store::count_imported(&mut tx, user, now, COUNTED_MAX).await?;
    tx.commit().await?;
    Ok((items.len() as i64, imported))
}

/// Marks an item as reviewed without changing it.
///
/// # Errors
/// [`MemoryError::NotFound`], or a database error.
pub async fn keep(db: &Db, user: UserId, item: ItemId) -> Result<(), MemoryError> {
    let mut tx = db.as_user(user).await?;
    if !store::keep(&mut tx, user, item).await? {
        return Err(MemoryError::NotFound(item));
    }
    Ok(tx.commit().await?)
}

/// Marks as reviewed what the page showed, from its oldest to its newest item, and nothing that waits below or came since.
///
/// # Errors
/// Database errors only.
pub async fn keep_all(
    db: &Db,
    user: UserId,
    shown: RangeInclusive<i64>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let listed = store::list(&mut tx, user, ReviewList::New, now, COUNTED_MAX + 1).await?;
    let seen = listed.iter().map(|item| item.id).filter(|id| shown.contains(&id.0));
    let seen: Vec<ItemId> = seen.take(SHOWN_MAX as usize).collect();
    let ids: Vec<i64> = seen.iter().map(|id| id.0).collect();
    store::keep_these(&mut tx, user, &ids).await?;
    if let Some(newest) = seen.first().filter(|_| seen.len() == listed.len()) {
        store::note_seen(&mut tx, user, *newest).await?;
    }
    tx.commit().await
}

/// [`keep_all`] of what the page showed of another list.
///
/// # Errors
/// Database errors only.
pub async fn keep_shown(
    db: &Db,
    user: UserId,
    list: ReviewList,
    shown: RangeInclusive<i64>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let listed = store::list(&mut tx, user, list, now, SHOWN_MAX).await?;
    let ids = listed.iter().map(|item| item.id.0).filter(|id| shown.contains(id));
    let ids: Vec<i64> = ids.collect();
    store::keep_these(&mut tx, user, &ids).await?;
    tx.commit().await
}

/// Marks all imported items up to `newest` as reviewed: the person was told how many there are.
///
/// # Errors
/// Database errors only.
pub async fn keep_all_imported(
    db: &Db,
    user: UserId,
    newest: ItemId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let last = store::list(&mut tx, user, ReviewList::Imported, now, 1).await?;
    if let Some(last) = last.first() {
        store::note_imported_seen(&mut tx, user, last.id.min(newest)).await?;
    }
    tx.commit().await
}

/// Archives an item and adds its beginning to the examples of what not to store.
///
/// # Errors
/// [`MemoryError::NotFound`], or a database error.
pub async fn forget(
    db: &Db,
    embeddings: &Embeddings,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
) -> Result<(), MemoryError> {
    let (found, _) = get_whole(db, embeddings, &call.viewer, id, &Day::default()).await?;
    archive(db, clock, call, id).await?;
    let user = call.viewer.user_id;
    let mut tx = db.as_user(user).await?;
    let text = line_of(&with_key(found.item.key.as_deref(), &found.item.content));
    store::add_unwanted(&mut tx, user, Some(id), &text, UNWANTED_MAX).await?;
    Ok(tx.commit().await?)
}

/// Adds an example written by the user, or imported.
///
/// # Errors
/// An [`Invalid`](crate::input::Invalid) that names `text`, or a database error.
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

/// The examples, latest first.
///
/// # Errors
/// Database errors only.
pub async fn list_unwanted(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<UnwantedExample>, sqlx::Error> {
    store::list_unwanted(conn, user, UNWANTED_MAX).await
}

/// Removes an example. Returns false if there is no such line.
///
/// # Errors
/// Database errors only.
pub async fn remove_unwanted(db: &Db, user: UserId, id: i64) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let removed = store::remove_unwanted(&mut tx, user, id).await?;
    tx.commit().await?;
    Ok(removed)
}

/// The examples for the model that reads a session, limited to those the transaction's viewer can see.
///
/// # Errors
/// Database errors only.
pub async fn unwanted(conn: &mut PgConnection, user: UserId) -> Result<Vec<String>, sqlx::Error> {
    let lines = store::list_unwanted(conn, user, UNWANTED_MAX).await?;
    Ok(lines.into_iter().map(|line| line.text).collect())
}

/// A statement that was kept of a session without a model.
pub struct Guess {
    pub id: ItemId,
    pub content: String,
    pub trust: Trust,
    /// The person asked to remember it: no guess, but kept in the same way.
    pub is_asked: bool,
    /// Active, and nobody has decided about it, changed it or said it again.
    pub is_open: bool,
}

/// All that was kept of these messages without a model, whatever became of it.
///
/// # Errors
/// Database errors only.
pub async fn guesses_of(
    conn: &mut PgConnection,
    user: UserId,
    session_id: i64,
    positions: &RangeInclusive<i32>,
) -> Result<Vec<Guess>, sqlx::Error> {
    store::list_guesses(conn, user, session_id, positions).await
}

/// Archives guesses because a model has read their messages: `merged` where it found a memory that says the same. Needs a
/// transaction of [`Db::as_writer`].
///
/// # Errors
/// Database errors only.
pub async fn retire_guesses(
    conn: &mut PgConnection,
    viewer: &Viewer,
    merged: &[ItemId],
    others: &[ItemId],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let (user, agent) = (viewer.user_id, viewer.agent_id);
    for (guesses, event) in [(merged, MERGED), (others, READ_AGAIN)] {
        let ids: Vec<i64> = guesses.iter().map(|guess| guess.0).collect();
        archive_items(&mut *conn, user, agent, &ids, event, now).await?;
    }
    Ok(())
}

/// Joins the text into one line and truncates it.
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
        assert_eq!(line_of(&"ä".repeat(500)).chars().count(), UNWANTED_CHARS_MAX);
    }
}
