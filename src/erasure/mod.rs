//! Erasure: one memory and all that derives from it, one session, one document, or an account and everything in
//! it. A person asks for it on a page, or an admin for an operator's user; agents
//! never. What is gone is told by a receipt in numbers, which knows no name. A memory goes once the
//! time to undo it is over (memories/manage); its row says when.
//!
//! An account's erasure begins at once (nobody is signed in to it any more, no token
//! opens it) and goes on in bounded steps ([`step`]) that whichever worker is there
//! takes; the receipt's row is the truth, so that a kill costs nothing but time.

mod store;

use std::collections::BTreeMap;

use time::OffsetDateTime;
use uuid::Uuid;

use crate::activity::Activity;
use crate::db::{Db, UserId};
use crate::memories::{ItemId, manage};
use crate::queue;
use crate::sessions::SessionId;

/// Of a step: some tens of milliseconds, in which nobody waits for longer.
const ROWS_A_STEP: i32 = 2_000;
/// Of one user, before the job looks whether its time is over.
const ITEMS_AT_ONCE: i64 = 50;
/// On one page.
const RECEIPTS_SHOWN_MAX: i64 = 50;

#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    #[error(
        "you are the last admin of this server: make another user an admin first, or erase the other users"
    )]
    LastAdmin,
    #[error("there is nothing to erase: it is gone already, or is being erased")]
    Gone,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Names a receipt; random, so that only who was told it finds the receipt.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Item,
    Session,
    Document,
    Account,
}

/// What becomes of the memories that came of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memories {
    /// Without the words they came from.
    Stay,
    GoToo,
}

/// Rows by what they are: tables, and `links`, `mentions` and `quotes`, which were taken out of
/// rows that stay.
pub type Rows = BTreeMap<String, i64>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub id: ReceiptId,
    pub kind: Kind,
    /// At the beginning.
    pub found: Rows,
    /// Gone so far.
    pub erased: Rows,
    pub requested_at: OffsetDateTime,
    pub finished_at: Option<OffsetDateTime>,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The account is not being erased, or others are at it.
    Nothing,
    /// There is more to do.
    More,
    /// A job of the account is under way; look again in a moment.
    Waiting,
    /// An account is gone.
    Finished,
}

/// The user's items whose deletion is due, each as [`item`]; some of them. Returns how many went, and
/// when the next of those that are left is due.
pub async fn items_due(
    db: &Db,
    activity: &Activity,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(usize, Option<OffsetDateTime>), sqlx::Error> {
    let waiting = list_deletions(db, user).await?;
    let mut deleted = 0;
    for (id, _) in waiting.iter().filter(|(_, at)| *at <= now) {
        match item(db, activity, user, *id, now).await {
            Ok(_) => deleted += 1,
            Err(ErasureError::Database(error)) => return Err(error),
            // Undone in this moment.
            Err(ErasureError::Gone | ErasureError::LastAdmin) => {}
        }
    }
    let left = list_deletions(db, user).await?;
    Ok((deleted, left.first().map(|(_, at)| *at)))
}

async fn list_deletions(
    db: &Db,
    user: UserId,
) -> Result<Vec<(ItemId, OffsetDateTime)>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let found = manage::store::list_deletions(&mut tx, user, ITEMS_AT_ONCE).await?;
    tx.commit().await?;
    Ok(found)
}

/// One item of the user whose deletion is due, and all that derives from it: its vectors in every
/// space, its history, its number and the kept words in the calls that were about it, and links of
/// other items to it. At once, in one transaction.
pub async fn item(
    db: &Db,
    activity: &Activity,
    user: UserId,
    item: ItemId,
    now: OffsetDateTime,
) -> Result<ReceiptId, ErasureError> {
    // Calls that wait in this process may be about it.
    activity.flush().await?;
    let id = ReceiptId::new();
    let mut tx = db.as_writer(user).await?;
    let is_due = manage::store::is_due(&mut tx, user, item, now).await?;
    if !is_due || !store::erase_item(&mut tx, item.0, id.as_str(), now).await? {
        return Err(ErasureError::Gone);
    }
    tx.commit().await?;
    Ok(id)
}

/// One session of the user, all that was said in it and its ledger; of the memories that came
/// of it the words they came from, or those memories as well. At once, in one transaction.
pub async fn session(
    db: &Db,
    activity: &Activity,
    user: UserId,
    session: SessionId,
    memories: Memories,
    now: OffsetDateTime,
) -> Result<ReceiptId, ErasureError> {
    // Calls that wait in this process may be about what goes with it.
    activity.flush().await?;
    let id = ReceiptId::new();
    let mut tx = db.as_writer(user).await?;
    let with_memories = memories == Memories::GoToo;
    if !store::erase_session(&mut tx, session.0, with_memories, id.as_str(), now).await? {
        return Err(ErasureError::Gone);
    }
    tx.commit().await?;
    Ok(id)
}

/// One document of the user with all its revisions, and the parts that search finds. At once, in one transaction.
pub async fn document(
    db: &Db,
    activity: &Activity,
    user: UserId,
    document: i64,
    now: OffsetDateTime,
) -> Result<ReceiptId, ErasureError> {
    // Calls that wait in this process may be about it.
    activity.flush().await?;
    let id = ReceiptId::new();
    let mut tx = db.as_writer(user).await?;
    if !store::erase_document(&mut tx, document, id.as_str(), now).await? {
        return Err(ErasureError::Gone);
    }
    tx.commit().await?;
    Ok(id)
}

/// Begins to erase an account: it is disabled, its web sessions and tokens end, and the
/// workers do the rest. Whoever calls this has made sure that the person means it.
pub async fn begin(db: &Db, user: UserId, now: OffsetDateTime) -> Result<ReceiptId, ErasureError> {
    let id = ReceiptId::new();
    let mut tx = db.as_system().await?;
    match store::begin(&mut tx, user, id.as_str(), now)
        .await?
        .as_str()
    {
        "begun" => {
            queue::push(&mut tx, user, queue::ERASE, 1, now).await?;
            tx.commit().await?;
        }
        "last_admin" => return Err(ErasureError::LastAdmin),
        _ => return Err(ErasureError::Gone),
    }
    Ok(id)
}

/// Accounts whose erasure has begun.
pub async fn users_due(db: &Db) -> Result<Vec<UserId>, sqlx::Error> {
    store::list_users_due(&mut *db.system_connection().await?).await
}

/// A bounded part of the work on an account whose erasure has begun.
pub async fn step(db: &Db, account: UserId, now: OffsetDateTime) -> Result<Step, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let became = store::step(&mut tx, account, ROWS_A_STEP, now).await?;
    tx.commit().await?;
    Ok(match became.as_str() {
        "more" => Step::More,
        "waiting" => Step::Waiting,
        "finished" => Step::Finished,
        _ => Step::Nothing,
    })
}

/// What an erasure of the account would remove.
pub async fn weigh_account(db: &Db, user: UserId) -> Result<Rows, sqlx::Error> {
    store::account_rows(&mut *db.system_connection().await?, user).await
}

/// What an erasure of the item would remove, or take out of what stays.
pub async fn weigh_item(db: &Db, user: UserId, item: ItemId) -> Result<Rows, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let rows = store::item_rows(&mut tx, user, item.0).await?;
    tx.commit().await?;
    Ok(rows)
}

/// For whoever holds its id.
pub async fn find_receipt(db: &Db, id: &str) -> Result<Option<Receipt>, sqlx::Error> {
    if id.len() != 32 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    store::find_receipt(&mut *db.system_connection().await?, id).await
}

/// Of the user, newest first.
pub async fn list_receipts(db: &Db, user: UserId) -> Result<Vec<Receipt>, sqlx::Error> {
    store::list_receipts(
        &mut *db.system_connection().await?,
        user,
        RECEIPTS_SHOWN_MAX,
    )
    .await
}
