//! Erasures that a restore repeats, when their receipts are lost with the database.

use time::OffsetDateTime;

use super::{
    ErasureError, ErasureStep, ExtractedMemories, ReceiptId, begin, chosen, document, session,
    step, store,
};
use crate::activity::Activity;
use crate::db::{Db, UserId};
use crate::replay::{Note, NotedAct, note_own};
use crate::sessions::SessionId;

/// Erases again what the note names. False if it is not there (any more).
///
/// # Errors
/// [`ErasureError::LastAdmin`] for an account that was made an ordinary one only after the backup.
pub async fn repeat(
    db: &Db,
    activity: &Activity,
    note: &Note,
    now: OffsetDateTime,
) -> Result<bool, ErasureError> {
    let (user, id) = (UserId(note.user), note.id.unwrap_or_default());
    let repeated = match note.what {
        NotedAct::Memory => memory(db, user, id, now).await,
        NotedAct::Document => document(db, activity, user, id, now).await,
        NotedAct::Session => {
            let memories = match note.with_memories {
                true => ExtractedMemories::GoToo,
                false => ExtractedMemories::Stay,
            };
            session(db, activity, user, SessionId(id), memories, now).await
        }
        NotedAct::Account => account(db, user, now).await,
        NotedAct::Message | NotedAct::Entity => {
            chosen::again(db, note, now).await.map(|()| ReceiptId::new())
        }
        _ => Err(ErasureError::Gone),
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
    note_own(&mut tx, NotedAct::Memory, Some(item), now).await?;
    tx.commit().await?;
    Ok(id)
}

async fn account(db: &Db, user: UserId, now: OffsetDateTime) -> Result<ReceiptId, ErasureError> {
    let id = begin(db, user, now).await?;
    while step(db, user, now).await? == ErasureStep::More {}
    Ok(id)
}
