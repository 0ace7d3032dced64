//! An agent that has gone wrong: all that it has changed since a moment is undone in one act, which can be taken back.

mod store;

use std::collections::HashMap;

use time::OffsetDateTime;

use crate::accounts::AgentId;
use crate::activity::RunningCall;
use crate::clock::SharedClock;
use crate::db::{Db, UserId};
use crate::documents::{DocumentError, Documents};
use crate::input::Invalid;
use crate::memories::proposals::{reopen_of_agent, void_of_agent};
use crate::memories::take_back::{self, ChangedBy, ITEMS_MAX, TakenBack};

/// What undoing an agent means, or meant: for memories, and for documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentUndo {
    pub memories: TakenBack,
    pub documents: TakenBack,
}

/// An undo that can be taken back.
#[derive(Clone, Copy, Debug)]
pub struct MadeUndo {
    pub since: OffsetDateTime,
    pub made_at: OffsetDateTime,
    ended_at: OffsetDateTime,
}

/// Counts what [`undo`] would do.
///
/// # Errors
/// An [`Invalid`] that names `since` if the agent has changed more than [`ITEMS_MAX`] memories, or a database error.
pub async fn preview(
    db: &Db,
    documents: &Documents,
    (user, agent): (UserId, AgentId),
    since: OffsetDateTime,
    now: OffsetDateTime,
) -> Result<AgentUndo, DocumentError> {
    let by = ChangedBy { agent: Some(agent), undos_of: agent, from: since, until: now };
    let found = db.for_user(user, async |conn, user| take_back::find(conn, user, by).await).await?;
    if found.are_too_many {
        let sentence = format!(
            "The agent has changed more than {ITEMS_MAX} memories since then; choose a later time."
        );
        return Err(Invalid::new("since", "too_many", sentence).into());
    }
    let memories = TakenBack {
        archived: found.added.len(),
        restored: found.gone.len(),
        set_back: found.changed.len(),
        stay: found.stay,
    };
    Ok(AgentUndo { memories, documents: documents.count_changed_by(user, by).await? })
}

/// Undoes what the agent has changed since then: memories in one transaction, then documents. What somebody else has changed
/// since stays as it is. What the agent has proposed since then applies no more.
///
/// # Errors
/// As [`preview`]; then nothing was undone.
pub async fn undo(
    db: &Db,
    documents: &Documents,
    clock: &SharedClock,
    call: &RunningCall,
    (agent, since): (AgentId, OffsetDateTime),
) -> Result<AgentUndo, DocumentError> {
    let user = call.viewer.user_id;
    preview(db, documents, (user, agent), since, clock.now()).await?;
    let mut tx = db.as_writer(user).await?;
    let made_at = clock.now();
    let by = ChangedBy { agent: Some(agent), undos_of: agent, from: since, until: made_at };
    let memories = take_back::take_back_in(&mut tx, user, by, made_at).await?;
    let voided = void_of_agent(&mut tx, user, (agent, since), made_at).await?;
    store::insert(&mut tx, user, agent, (since, made_at)).await?;
    call.write(&mut tx, Vec::new()).await?;
    tx.commit().await?;
    let documents = documents.take_back(user, by).await;
    // Also where one document could not be read: the others were set back.
    let is_nothing = |taken: &TakenBack| TakenBack { stay: 0, ..*taken } == TakenBack::default();
    let mut tx = db.as_user(user).await?;
    match voided == 0 && is_nothing(&memories) && documents.as_ref().is_ok_and(is_nothing) {
        true => store::delete(&mut tx, user, agent, made_at).await?,
        false => store::end(&mut tx, user, agent, made_at, clock.now()).await?,
    }
    tx.commit().await?;
    Ok(AgentUndo { memories, documents: documents? })
}

/// Takes back the last [`undo`] of this agent, but for what was changed since. `None` if there is none.
///
/// # Errors
/// Database errors only, as a [`DocumentError`].
pub async fn redo(
    db: &Db,
    documents: &Documents,
    clock: &SharedClock,
    call: &RunningCall,
    agent: AgentId,
) -> Result<Option<AgentUndo>, DocumentError> {
    let user = call.viewer.user_id;
    let mut tx = db.as_writer(user).await?;
    let now = clock.now();
    let Some(made) = store::find_last(&mut tx, user, agent).await? else {
        return Ok(None);
    };
    let by = ChangedBy { agent: None, undos_of: agent, from: made.made_at, until: made.made_at };
    let memories = take_back::take_back_in(&mut tx, user, by, now).await?;
    reopen_of_agent(&mut tx, user, agent, made.made_at).await?;
    store::take_back(&mut tx, user, agent, made.made_at, now).await?;
    call.write(&mut tx, Vec::new()).await?;
    tx.commit().await?;
    let by = ChangedBy { until: made.ended_at, ..by };
    let documents = documents.take_back(user, by).await;
    let mut tx = db.as_user(user).await?;
    store::end(&mut tx, user, agent, made.made_at, clock.now()).await?;
    tx.commit().await?;
    Ok(Some(AgentUndo { memories, documents: documents? }))
}

/// By agent.
///
/// # Errors
/// Database errors only.
pub async fn list_made(db: &Db, user: UserId) -> Result<HashMap<i64, MadeUndo>, sqlx::Error> {
    let made = db.for_user(user, store::list).await?;
    Ok(made.into_iter().collect())
}
