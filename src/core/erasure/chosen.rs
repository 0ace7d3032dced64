//! What a person deletes in one act, after the time in which it can be undone: one memory, or what was found about something.

use time::OffsetDateTime;

use super::{Chosen, ErasedRows, ErasureError, ErasureStep, ReceiptId, store};
use crate::activity::Activity;
use crate::clock::SharedClock;
use crate::db::{Db, UserId};
use crate::memories::feed;
use crate::memories::manage::{self, ON_ITS_WAY_FOR, UNDO_FOR, find_deletable};
use crate::memories::{ItemId, MemoryError};
use crate::queue;
use crate::quota;
use crate::replay::{Note, NotedAct};
use crate::sessions::given;

/// Of each kind, erased in one transaction.
const PARTS_A_STEP: i32 = 100;
/// Users of one look-up.
const USERS_MAX: i64 = 10_000;

/// Deletes what is chosen after [`UNDO_FOR`]; memories are hidden from agents at once. `stays` is what was found and not
/// chosen, for the receipt. `None` if nothing is chosen.
pub async fn delete_soon(
    db: &Db,
    clock: &SharedClock,
    user: UserId,
    chosen: &Chosen,
    stays: &ErasedRows,
) -> Result<Option<ReceiptId>, sqlx::Error> {
    if chosen.is_empty() {
        return Ok(None);
    }
    let id = ReceiptId::new();
    let mut tx = db.as_writer(user).await?;
    let now = clock.now();
    let (kind, due) = ("chosen", now + UNDO_FOR);
    manage::store::hide(&mut tx, user, &chosen.memories, due).await?;
    let rows = (&chosen.rows(), stays);
    store::insert_deletion(&mut tx, user, (&id, kind), chosen, rows, (now, due)).await?;
    queue::push(&mut tx, user, queue::DELETE, 1, due).await?;
    tx.commit().await?;
    Ok(Some(id))
}

/// Deletes one memory or episode after [`UNDO_FOR`]. Idempotent.
pub async fn delete_item_soon(
    db: &Db,
    clock: &SharedClock,
    user: UserId,
    id: ItemId,
) -> Result<(), MemoryError> {
    let mut tx = db.as_writer(user).await?;
    if find_deletable(&mut tx, user, id).await?.is_none() {
        return Err(MemoryError::NotFound(id));
    }
    let now = clock.now();
    let due = now + UNDO_FOR;
    if manage::store::hide(&mut tx, user, &[id.0], due).await? > 0 {
        let chosen = Chosen { memories: vec![id.0], ..Chosen::default() };
        let receipt = (&ReceiptId::new(), "item");
        let rows = (&chosen.rows(), &ErasedRows::new());
        store::insert_deletion(&mut tx, user, receipt, &chosen, rows, (now, due)).await?;
        queue::push(&mut tx, user, queue::DELETE, 1, due).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Takes a deletion back, with all that was chosen with it. `None` if there is none of this id.
///
/// # Errors
/// [`MemoryError::TooLate`].
pub async fn keep(
    db: &Db,
    clock: &SharedClock,
    user: UserId,
    id: &str,
) -> Result<Option<()>, MemoryError> {
    let mut tx = db.as_writer(user).await?;
    let Some((memories, due)) = store::find_deletion(&mut tx, user, id).await? else {
        return Ok(None);
    };
    // Read after the writer lock was acquired, which may have taken a while.
    if clock.now() > due + ON_ITS_WAY_FOR {
        return Err(MemoryError::TooLate);
    }
    manage::store::show_again(&mut tx, user, &memories).await?;
    store::remove_deletion(&mut tx, user, id).await?;
    tx.commit().await?;
    Ok(Some(()))
}

/// [`keep`] of the deletion with this memory. Idempotent.
pub async fn keep_item(
    db: &Db,
    clock: &SharedClock,
    user: UserId,
    id: ItemId,
) -> Result<(), MemoryError> {
    let mut tx = db.as_user(user).await?;
    if find_deletable(&mut tx, user, id).await?.is_none() {
        return Err(MemoryError::NotFound(id));
    }
    let deletion = store::find_deletion_of(&mut tx, user, id.0).await?;
    tx.commit().await?;
    if let Some(deletion) = deletion {
        keep(db, clock, user, &deletion).await?;
    }
    Ok(())
}

/// Users with deletions, and when the first is due.
pub async fn users_with_deletions(db: &Db) -> Result<Vec<(UserId, OffsetDateTime)>, sqlx::Error> {
    let mut conn = db.system_connection().await?;
    store::list_users_with_deletions(&mut conn, USERS_MAX).await
}

/// Erases some of the user's deletion that is due first, in one transaction. [`ErasureStep::Nothing`]: none is due. Also returns
/// when the next one is.
pub async fn step_of_due(
    db: &Db,
    activity: &Activity,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(ErasureStep, Option<OffsetDateTime>), sqlx::Error> {
    let first = db.for_user(user, store::first_deletion).await?;
    let Some((receipt, due, has_messages)) = first else {
        return Ok((ErasureStep::Nothing, None));
    };
    if due > now {
        return Ok((ErasureStep::Nothing, Some(due)));
    }
    // Buffered calls may refer to what goes.
    activity.flush().await?;
    let mut tx = db.as_writer(user).await?;
    feed::store::set_erasure_time(&mut tx, now).await?;
    let instead = given::deleted(now);
    let left = store::erase_chosen(&mut tx, &receipt, PARTS_A_STEP, &instead, now).await?;
    quota::recount_soon(&mut tx, user, now).await?;
    if has_messages {
        // What was being read is read again, without them.
        queue::push_now(&mut tx, user, queue::EXTRACT, now).await?;
    }
    tx.commit().await?;
    let step = match left {
        // It was undone in the meantime.
        None => ErasureStep::Waiting,
        Some(true) => ErasureStep::More,
        Some(false) => ErasureStep::Finished,
    };
    Ok((step, Some(due)))
}

/// Erases a message or an entity again, after a restore.
pub(super) async fn again(db: &Db, note: &Note, now: OffsetDateTime) -> Result<(), ErasureError> {
    let mut tx = db.as_writer(UserId(note.user)).await?;
    feed::store::set_erasure_time(&mut tx, now).await?;
    let (is_message, instead) = (note.what == NotedAct::Message, given::deleted(now));
    let what = (is_message, note.id.unwrap_or_default(), note.position);
    let was_there = store::erase_again(&mut tx, what, &instead).await?;
    tx.commit().await?;
    was_there.then_some(()).ok_or(ErasureError::Gone)
}
