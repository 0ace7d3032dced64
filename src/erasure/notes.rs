//! Notes of erasures, by ids, for the file beside the backups; and their repetition after a restore, when the
//! receipts are lost with the database. A note is written in the transaction of its erasure, and deleted when it
//! is in the file.

use time::OffsetDateTime;

use super::{
    ErasedObject, ErasureError, ErasureNote, ErasureStep, ExtractedMemories, ReceiptId, begin,
    chosen, document, session, step, store,
};
use crate::activity::Activity;
use crate::db::{Db, UserId};
use crate::sessions::SessionId;

/// Notes that are written to the file at once.
const NOTES_AT_ONCE: i64 = 1_000;

/// Gives notes to `write` and deletes them when it has succeeded. Returns how many; a batch at most.
pub async fn drain_notes<E: From<sqlx::Error>>(
    db: &Db,
    write: impl AsyncFnOnce(Vec<ErasureNote>) -> Result<(), E>,
) -> Result<usize, E> {
    let mut conn = db.system_connection().await?;
    let (ids, notes) = store::list_notes(&mut conn, NOTES_AT_ONCE).await?;
    drop(conn);
    if notes.is_empty() {
        return Ok(0);
    }
    write(notes).await?;
    let mut conn = db.system_connection().await?;
    store::remove_notes(&mut conn, &ids).await?;
    Ok(ids.len())
}

/// Deletes notes that no server wrote into a folder.
pub async fn prune_notes(db: &Db, before: OffsetDateTime) -> Result<(), sqlx::Error> {
    store::prune_notes(&mut *db.system_connection().await?, before).await
}

/// Erases again what the note names. False if it is not there (any more).
///
/// # Errors
/// [`ErasureError::LastAdmin`] for an account that was made an ordinary one only after the backup.
pub async fn repeat(
    db: &Db,
    activity: &Activity,
    note: &ErasureNote,
    now: OffsetDateTime,
) -> Result<bool, ErasureError> {
    let (user, id) = (UserId(note.user), note.id.unwrap_or_default());
    let repeated = match note.what {
        ErasedObject::Memory => memory(db, user, id, now).await,
        ErasedObject::Document => document(db, activity, user, id, now).await,
        ErasedObject::Session => {
            let memories = match note.with_memories {
                true => ExtractedMemories::GoToo,
                false => ExtractedMemories::Stay,
            };
            session(db, activity, user, SessionId(id), memories, now).await
        }
        ErasedObject::Account => account(db, user, now).await,
        ErasedObject::Message | ErasedObject::Entity => {
            let what = (note.what.as_str(), id, note.position);
            chosen::again(db, user, what, now).await.map(|()| ReceiptId::new())
        }
    };
    match repeated {
        Ok(_) => Ok(true),
        Err(ErasureError::Gone) => Ok(false),
        // The account is not there: a row of it cannot be locked.
        Err(ErasureError::Database(error)) if crate::db::is_of_a_gone_user(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Without the wait for Undo, which was over.
async fn memory(
    db: &Db,
    user: UserId,
    item: i64,
    now: OffsetDateTime,
) -> Result<ReceiptId, ErasureError> {
    let id = ReceiptId::new();
    let mut tx = db.as_writer(user).await?;
    if !store::erase_item(&mut tx, item, id.as_str(), now).await? {
        return Err(ErasureError::Gone);
    }
    store::note(&mut tx, ErasedObject::Memory, item, false, now).await?;
    tx.commit().await?;
    Ok(id)
}

async fn account(db: &Db, user: UserId, now: OffsetDateTime) -> Result<ReceiptId, ErasureError> {
    let id = begin(db, user, now).await?;
    while step(db, user, now).await? == ErasureStep::More {}
    Ok(id)
}
