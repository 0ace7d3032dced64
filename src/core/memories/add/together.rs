//! Batches concurrent adds of one agent: adds that arrive during a running transaction are committed together in the next
//! one, so they share the cost of the commit and of each statement. A single add is written at once. If a batch fails, each
//! add is retried alone, so that one cannot fail the others; after a statement timeout, the whole batch fails.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::{AddedItem, MemoryError, resolve_conflict};
use crate::accounts::{AgentId, UserId, Viewer};
use crate::activity::{CallRecord, RunningCall, write_records};
use crate::clock::SharedClock;
use crate::db::actor::{self, Authority};
use crate::db::{self, Db};
use crate::embedding::{EmbeddingState, Embeddings};
use crate::memories::NewItem;
use crate::memories::quota::ItemQuota;
use crate::memories::write::{NewSource, write};

/// Limit of a batch; more wait for the next transaction.
const TOGETHER_MAX: usize = 64;

/// Adds single items. Cheap to clone; one is created at startup.
#[derive(Clone)]
pub struct Adding(Arc<AddingInner>);

struct AddingInner {
    db: Db,
    clock: SharedClock,
    embeddings: Embeddings,
    quota: ItemQuota,
    /// Waiting adds per agent with a running transaction. Agents are kept apart: each sees and writes another scope.
    waiting: Mutex<HashMap<BatchKey, Vec<PendingAdd>>>,
}

type BatchKey = (UserId, Option<AgentId>);

/// An add that waits for its result.
pub(super) struct PendingAdd {
    item: NewItem,
    viewer: Viewer,
    record: CallRecord,
    /// The caller's authority, because the batch runs in another task.
    by: Option<Authority>,
    is_settled: bool,
    became: oneshot::Sender<AddOutcome>,
}

impl PendingAdd {
    /// The caller may have been cancelled: then the answer is dropped.
    fn answer(self, became: AddOutcome) {
        self.became.send(became).ok();
    }

    /// [`CallRecord::settle`], once.
    fn settle(&mut self) -> bool {
        self.is_settled = self.is_settled || self.record.settle();
        self.is_settled
    }
}

enum AddOutcome {
    Added(AddedItem),
    /// Nothing was written.
    Refused(MemoryError),
    /// The commit's outcome is unknown: it may have happened.
    Unknown(String),
}

impl Adding {
    pub fn new(db: Db, clock: SharedClock, embeddings: Embeddings) -> Self {
        Self::with_quota(db, clock, embeddings, ItemQuota::default())
    }

    pub fn with_quota(
        db: Db,
        clock: SharedClock,
        embeddings: Embeddings,
        quota: ItemQuota,
    ) -> Self {
        Self(Arc::new(AddingInner { db, clock, embeddings, quota, waiting: Mutex::default() }))
    }

    /// Adds an item. The item, its pending embedding, the embedding job, the superseding and the activity record are
    /// committed in one transaction.
    pub async fn add(&self, call: &RunningCall, item: &NewItem) -> Result<AddedItem, MemoryError> {
        self.take_room(call.viewer.user_id).await?;
        let became = self.wait(call, item).await;
        match became.unwrap_or_else(|_| AddOutcome::Unknown("its writer has ended".to_owned())) {
            AddOutcome::Added(added) => Ok(added),
            AddOutcome::Unknown(why) => Err(unanswered(why)),
            AddOutcome::Refused(error) => {
                call.take_back();
                if let MemoryError::Database(error) = &error {
                    actor::note_refusal_in(error);
                }
                Err(error)
            }
        }
    }

    /// How many adds of a user wait for the next transaction.
    pub fn queued(&self, user: UserId) -> usize {
        let lines = self.waiting();
        let of_user = lines.iter().filter(|((of, _), _)| *of == user);
        of_user.map(|(_, line)| line.len()).sum()
    }

    /// Reserves room for one more item of the user.
    pub async fn take_room(&self, user: UserId) -> Result<(), MemoryError> {
        let AddingInner { db, quota, .. } = &*self.0;
        if quota.take(user, 1) {
            return Ok(());
        }
        let mut tx = db.as_user(user).await?;
        quota.count_and_take(&mut tx, user, 1).await??;
        tx.commit().await?;
        Ok(())
    }

    fn wait(&self, call: &RunningCall, item: &NewItem) -> oneshot::Receiver<AddOutcome> {
        let of = (call.viewer.user_id, call.viewer.agent_id);
        let (became, receiver) = oneshot::channel();
        let waiting = PendingAdd {
            item: item.clone(),
            viewer: call.viewer.clone(),
            record: call.record(),
            by: Authority::current(),
            is_settled: false,
            became,
        };
        let mut lines = self.waiting();
        match lines.get_mut(&of) {
            Some(line) => line.push(waiting),
            None => {
                lines.insert(of, vec![waiting]);
                tokio::spawn(self.clone().write_all(of));
            }
        }
        receiver
    }

    /// Runs until nothing waits. Each transaction is its own task, so a panic drops only its batch.
    async fn write_all(self, of: BatchKey) {
        while let Some(batch) = self.take(of) {
            tokio::spawn(self.clone().write(of.0, batch)).await.ok();
        }
    }

    /// `None` if nothing waits: the next add then starts a new task.
    fn take(&self, of: BatchKey) -> Option<Vec<PendingAdd>> {
        let mut lines = self.waiting();
        let line = lines.get_mut(&of)?;
        if line.is_empty() {
            lines.remove(&of);
            return None;
        }
        let count = line.len().min(TOGETHER_MAX);
        Some(line.drain(..count).collect())
    }

    async fn write(self, user: UserId, mut batch: Vec<PendingAdd>) {
        batch.retain(|w| !w.became.is_closed());
        let mut batches = vec![batch];
        while let Some(mut batch) = batches.pop() {
            match self.try_write(user, &mut batch).await {
                Ok(()) if batch.is_empty() => {}
                Ok(()) => batches.push(batch),
                // Not retried one by one: each would wait for the same lock as long.
                Err(MemoryError::Database(error)) if db::is_statement_timeout(&error) => {
                    let why = error.to_string();
                    let mut adders = batch.into_iter();
                    if let Some(first) = adders.next() {
                        first.answer(AddOutcome::Refused(error.into()));
                    }
                    for other in adders {
                        other.answer(AddOutcome::Refused(unanswered(why.clone())));
                    }
                }
                Err(error) if batch.len() > 1 => {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(user = user.0, error, "adds are written one by one");
                    batches.extend(batch.into_iter().rev().map(|one| vec![one]));
                }
                Err(error) => {
                    if let Some(one) = batch.pop() {
                        one.answer(AddOutcome::Refused(error));
                    }
                }
            }
        }
    }

    /// Writes a batch and answers. If callers were cancelled meanwhile, it rolls back and leaves the others in the batch.
    async fn try_write(
        &self,
        user: UserId,
        batch: &mut Vec<PendingAdd>,
    ) -> Result<(), MemoryError> {
        let AddingInner { db, clock, embeddings, .. } = &*self.0;
        let mut by: Vec<Authority> = Vec::new();
        for one in batch.iter().filter_map(|waiting| waiting.by.as_ref()) {
            if !by.iter().any(|known| known.is_of_the_same(one)) {
                by.push(one.clone());
            }
        }
        let mut tx = db.as_writer_by(user, &by).await?;
        let now = clock.now();
        // Of several with the same text or key, only the first is inserted; the others are resolved against it.
        let (mut texts, mut keys) = (HashSet::new(), HashSet::new());
        let is_first: Vec<bool> = batch
            .iter()
            .map(|PendingAdd { item, .. }| {
                let is_first_of_key = item
                    .key()
                    .is_none_or(|key| keys.insert((item.project(), item.theme(), key.form())));
                texts.insert((item.project(), item.theme(), item.content_hash())) && is_first_of_key
            })
            .collect();
        let sources: Vec<NewSource> = batch
            .iter()
            .zip(&is_first)
            .filter(|(_, is_first)| **is_first)
            .map(|(w, _)| NewSource {
                call: Some(w.record.recorded()),
                ..NewSource::of_item(&w.item, w.viewer.agent_id, None, now)
            })
            .collect();
        let written = write(&mut tx, user, &sources, now).await?;
        let mut embedding = EmbeddingState::Off;
        if written.ids.iter().any(Option::is_some) {
            embedding = embeddings.see_to(&mut tx, user, written.noted).await?;
        }
        let mut ids = written.ids.into_iter();
        let mut ends = Vec::with_capacity(batch.len());
        let mut records = Vec::with_capacity(batch.len());
        for (waiting, is_first) in batch.iter().zip(is_first) {
            let id = if is_first { ids.next().flatten() } else { None };
            let end = match id {
                Some(id) => Ok(AddedItem::new(id, waiting.item.trust(), embedding)),
                None => {
                    resolve_conflict(&mut tx, embeddings, &waiting.viewer, &waiting.item, now).await
                }
            };
            match &end {
                Ok(_) if id.is_some() => {}
                Ok(added) => records.push((&waiting.record, added.touched())),
                // This one wrote nothing; the others in the batch are unaffected.
                Err(MemoryError::Confirmed { .. } | MemoryError::Invalid(_)) => {}
                Err(_) => return end.map(drop),
            }
            ends.push(end);
        }
        if !records.is_empty() {
            write_records(&mut tx, user, records).await?;
        }
        let count = batch.len();
        let mut places = ends.iter();
        batch.retain_mut(|one| match places.next() {
            Some(Ok(_)) => one.settle(),
            _ => true,
        });
        if batch.len() < count {
            return Ok(tx.rollback().await?);
        }
        let unanswered = tx.commit().await.err().map(|error| error.to_string());
        for (waiting, end) in batch.drain(..).zip(ends) {
            waiting.answer(match (end, &unanswered) {
                (Err(error), _) => AddOutcome::Refused(error),
                (Ok(_), Some(why)) => AddOutcome::Unknown(why.clone()),
                (Ok(added), None) => AddOutcome::Added(added),
            });
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<BatchKey, Vec<PendingAdd>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A separate error for each waiting caller, because errors cannot be cloned.
fn unanswered(why: String) -> MemoryError {
    sqlx::Error::Io(std::io::Error::other(why)).into()
}
