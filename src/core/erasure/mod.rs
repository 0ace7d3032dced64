//! Permanent deletion of one memory with everything derived from it, one session, one document, or a whole
//! account. A person requests it on a page, or an admin for an operator's user; agents cannot. A receipt
//! keeps counts only, no names. What is deleted on
//! pages waits for Undo first (`chosen.rs`).
//!
//! Erasing an account disables it at once (no sign-in, no tokens) and then deletes in bounded steps
//! ([`step`]) that any worker can take. The progress is in the receipt's row, so that a crash only delays it.

pub mod about;
mod again;
mod chosen;
mod store;

use std::collections::BTreeMap;

pub use again::repeat;
pub use chosen::{
    delete_item_soon, delete_soon, keep, keep_item, step_of_due, users_with_deletions,
};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::activity::Activity;
use crate::db::{Db, UserId, labels};
use crate::memories::{ItemId, feed};
use crate::queue;
use crate::quota;
use crate::replay::{self, Note, NotedAct, note_own};
use crate::sessions::SessionId;

/// Limits a step to some tens of milliseconds, since others wait for its locks.
const ROWS_A_STEP: i32 = 2_000;
/// Receipts on one page.
const RECEIPTS_SHOWN_MAX: i64 = 50;

#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    #[error(
        "you are the last admin of this server: make another user an admin first, or erase the other users"
    )]
    LastAdmin,
    #[error("there is nothing to erase: it is gone already, or is being erased")]
    Gone,
    #[error("your memory is being looked through already: wait until that is done")]
    LooksAlready,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// A receipt's public id. It is random, so that only those who were given it can find the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptId(String);

impl ReceiptId {
    fn new() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

labels! {
    pub enum ErasureKind {
        Item = "item",
        Session = "session",
        Document = "document",
        Account = "account",
        /// What was found about something, as its person chose.
        Chosen = "chosen",
    }
}

/// What happens to the memories that were extracted from an erased session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractedMemories {
    /// They stay, without the quotes from the session.
    Stay,
    GoToo,
}

/// Number of rows by kind: table names, and `links`, `mentions` and `quotes`, which were removed from rows
/// that stay.
pub type ErasedRows = BTreeMap<String, i64>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub id: ReceiptId,
    pub kind: ErasureKind,
    /// Counted at the beginning.
    pub found: ErasedRows,
    /// Erased so far.
    pub erased: ErasedRows,
    /// Was found with it and not chosen.
    pub stays: ErasedRows,
    pub requested_at: OffsetDateTime,
    pub finished_at: Option<OffsetDateTime>,
    /// When it begins, while it can be undone or is going on.
    pub due_at: Option<OffsetDateTime>,
}

/// Ids of a user's rows. Whatever is not there (any more) is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Memories of any type, and documents.
    pub memories: Vec<i64>,
    pub sessions: Vec<i64>,
    /// Session and position.
    pub messages: Vec<(i64, i32)>,
    pub entities: Vec<i64>,
    /// Recorded calls, whose search query goes.
    pub calls: Vec<i64>,
    pub with_summary: bool,
}

impl Chosen {
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// By the names that receipts have.
    fn rows(&self) -> ErasedRows {
        let counted = [
            ("memory_items", self.memories.len()),
            ("sessions", self.sessions.len()),
            ("session_messages", self.messages.len()),
            ("entities", self.entities.len()),
            ("queries", self.calls.len()),
            ("memory_summaries", usize::from(self.with_summary)),
        ];
        let some = counted.into_iter().filter(|(_, n)| *n > 0);
        some.map(|(name, n)| (name.to_owned(), n as i64)).collect()
    }
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureStep {
    /// The account is not being erased, or another worker is at it.
    Nothing,
    /// More rows are left.
    More,
    /// A job of the account is running; try again shortly.
    Waiting,
    /// The account is gone.
    Finished,
}

/// Erases one session of the user with all its messages and its ledger, in one transaction. Memories
/// extracted from it lose their quotes, or are erased too.
pub async fn session(
    db: &Db,
    activity: &Activity,
    user: UserId,
    session: SessionId,
    memories: ExtractedMemories,
    now: OffsetDateTime,
) -> Result<ReceiptId, ErasureError> {
    // Buffered calls may refer to what is erased.
    activity.flush().await?;
    let id = ReceiptId::new();
    let mut tx = db.as_writer(user).await?;
    feed::store::set_erasure_time(&mut tx, now).await?;
    let with_memories = memories == ExtractedMemories::GoToo;
    if !store::erase_session(&mut tx, session.0, with_memories, id.as_str(), now).await? {
        return Err(ErasureError::Gone);
    }
    let what = NotedAct::Session;
    replay::store::insert_own(&mut tx, what, Some(session.0), with_memories, now).await?;
    quota::recount_soon(&mut tx, user, now).await?;
    tx.commit().await?;
    Ok(id)
}

/// Erases one document of the user with all its revisions and its searchable parts, in one transaction.
pub async fn document(
    db: &Db,
    activity: &Activity,
    user: UserId,
    document: i64,
    now: OffsetDateTime,
) -> Result<ReceiptId, ErasureError> {
    // Buffered calls may refer to the document.
    activity.flush().await?;
    let id = ReceiptId::new();
    let mut tx = db.as_writer(user).await?;
    feed::store::set_erasure_time(&mut tx, now).await?;
    if !store::erase_document(&mut tx, document, id.as_str(), now).await? {
        return Err(ErasureError::Gone);
    }
    note_own(&mut tx, NotedAct::Document, Some(document), now).await?;
    quota::recount_soon(&mut tx, user, now).await?;
    tx.commit().await?;
    Ok(id)
}

/// Begins to erase an account: disables it and ends its web sessions and tokens; the workers do the rest. The
/// caller must have confirmed the person's intent.
pub async fn begin(db: &Db, user: UserId, now: OffsetDateTime) -> Result<ReceiptId, ErasureError> {
    let id = ReceiptId::new();
    let mut tx = db.as_system().await?;
    match store::begin(&mut tx, user, id.as_str(), now).await?.as_str() {
        "begun" => {
            let note = Note::of(NotedAct::Account, user, None, now);
            replay::store::insert(&mut tx, &note).await?;
            queue::push(&mut tx, user, queue::ERASE, 1, now).await?;
            tx.commit().await?;
        }
        "last_admin" => return Err(ErasureError::LastAdmin),
        _ => return Err(ErasureError::Gone),
    }
    Ok(id)
}

/// Accounts that are being erased.
pub async fn users_due(db: &Db) -> Result<Vec<UserId>, sqlx::Error> {
    store::list_users_due(&mut *db.system_connection().await?).await
}

/// Does a bounded part of the work on an account that is being erased.
pub async fn step(
    db: &Db,
    account: UserId,
    now: OffsetDateTime,
) -> Result<ErasureStep, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let became = store::step(&mut tx, account, ROWS_A_STEP, now).await?;
    tx.commit().await?;
    Ok(match became.as_str() {
        "more" => ErasureStep::More,
        "waiting" => ErasureStep::Waiting,
        "finished" => ErasureStep::Finished,
        _ => ErasureStep::Nothing,
    })
}

/// The rows that erasing the account would remove.
pub async fn weigh_account(db: &Db, user: UserId) -> Result<ErasedRows, sqlx::Error> {
    store::account_rows(&mut *db.system_connection().await?, user).await
}

/// The rows that erasing the item would remove, or remove from rows that stay.
pub async fn weigh_item(db: &Db, user: UserId, item: ItemId) -> Result<ErasedRows, sqlx::Error> {
    db.for_user(user, async |conn, user| store::item_rows(conn, user, item.0).await).await
}

/// Finds a receipt by its public id, for anyone who has the id.
pub async fn find_receipt(db: &Db, id: &str) -> Result<Option<Receipt>, sqlx::Error> {
    if id.len() != 32 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    store::find_receipt(&mut *db.system_connection().await?, id).await
}

/// The user's receipts, newest first.
pub async fn list_receipts(db: &Db, user: UserId) -> Result<Vec<Receipt>, sqlx::Error> {
    store::list_receipts(&mut *db.system_connection().await?, user, RECEIPTS_SHOWN_MAX).await
}
