//! Adds that come while another of their agent is being written are written together, in one
//! transaction: eight clients of one user pay for a commit, and for each statement, once. An
//! add that comes alone is written at once. Where anything goes wrong with one, each is written alone:
//! what one of them does must never touch the others. Where a statement ran into its timeout, all
//! are refused.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::{Added, MemoryError, meet};
use crate::accounts::{AgentId, UserId, Viewer};
use crate::activity::{Call, Record, write_records};
use crate::clock::SharedClock;
use crate::db::{self, Db};
use crate::db::actor::{self, Authority};
use crate::embedding::{EmbeddingState, Embeddings};
use crate::memories::NewItem;
use crate::memories::quota::ItemQuota;
use crate::memories::write::{NewSource, write};

/// More wait for the next transaction.
const TOGETHER_MAX: usize = 64;

/// The one way in for items that are added one by one. Cheap to clone; one is made at the start.
#[derive(Clone)]
pub struct Adding(Arc<Inner>);

struct Inner {
    db: Db,
    clock: SharedClock,
    embeddings: Embeddings,
    quota: ItemQuota,
    /// What waits, of each agent for whom a transaction is under way: two see and write different parts of a memory.
    waiting: Mutex<HashMap<Line, Vec<Waiting>>>,
}

type Line = (UserId, Option<AgentId>);

/// An item and all that is told of it once; its adder waits for what becomes of it.
pub(super) struct Waiting {
    item: NewItem,
    viewer: Viewer,
    record: Record,
    /// Of the call, which the transaction's own task does not know.
    by: Option<Authority>,
    is_settled: bool,
    became: oneshot::Sender<Became>,
}

impl Waiting {
    /// Whoever went away in this moment has no need of it.
    fn answer(self, became: Became) {
        self.became.send(became).ok();
    }

    /// [`Record::settle`], once.
    fn settle(&mut self) -> bool {
        self.is_settled = self.is_settled || self.record.settle();
        self.is_settled
    }
}

enum Became {
    Added(Added),
    /// Nothing of it was written.
    Refused(MemoryError),
    /// The commit was not answered: whether it happened, nobody knows.
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
        Self(Arc::new(Inner {
            db,
            clock,
            embeddings,
            quota,
            waiting: Mutex::default(),
        }))
    }

    /// Adds an item: the item, its pending vector, the job that computes it, what it
    /// supersedes and the call's record are committed together.
    pub async fn add(&self, call: &Call, item: &NewItem) -> Result<Added, MemoryError> {
        self.take_room(call.viewer.user_id).await?;
        let became = self.wait(call, item).await;
        match became.unwrap_or_else(|_| Became::Unknown("its writer has ended".to_owned())) {
            Became::Added(added) => Ok(added),
            Became::Unknown(why) => Err(unanswered(why)),
            Became::Refused(error) => {
                call.take_back();
                if let MemoryError::Database(error) = &error {
                    actor::note_refusal_in(error);
                }
                Err(error)
            }
        }
    }

    /// How many of a user's adds wait for the next transaction.
    pub fn queued(&self, user: UserId) -> usize {
        let lines = self.waiting();
        let of_user = lines.iter().filter(|((of, _), _)| *of == user);
        of_user.map(|(_, line)| line.len()).sum()
    }

    /// Room for one more item of the user.
    pub async fn take_room(&self, user: UserId) -> Result<(), MemoryError> {
        let Inner { db, quota, .. } = &*self.0;
        if quota.take(user, 1) {
            return Ok(());
        }
        let mut tx = db.as_user(user).await?;
        quota.count_and_take(&mut tx, user, 1).await??;
        tx.commit().await?;
        Ok(())
    }

    fn wait(&self, call: &Call, item: &NewItem) -> oneshot::Receiver<Became> {
        let of = (call.viewer.user_id, call.viewer.agent_id);
        let (became, receiver) = oneshot::channel();
        let waiting = Waiting {
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

    /// Until nobody waits. Each transaction is a task of its own, so that one that panics
    /// drops its adders and leaves the line.
    async fn write_all(self, of: Line) {
        while let Some(batch) = self.take(of) {
            tokio::spawn(self.clone().write(of.0, batch)).await.ok();
        }
    }

    /// `None` where nobody waits: whoever comes next is written by another.
    fn take(&self, of: Line) -> Option<Vec<Waiting>> {
        let mut lines = self.waiting();
        let line = lines.get_mut(&of)?;
        if line.is_empty() {
            lines.remove(&of);
            return None;
        }
        let count = line.len().min(TOGETHER_MAX);
        Some(line.drain(..count).collect())
    }

    async fn write(self, user: UserId, mut batch: Vec<Waiting>) {
        batch.retain(|w| !w.became.is_closed());
        let mut batches = vec![batch];
        while let Some(mut batch) = batches.pop() {
            match self.try_write(user, &mut batch).await {
                Ok(()) if batch.is_empty() => {}
                Ok(()) => batches.push(batch),
                // One by one, each would wait as long.
                Err(MemoryError::Database(error)) if db::is_statement_timeout(&error) => {
                    let why = error.to_string();
                    let mut adders = batch.into_iter();
                    if let Some(first) = adders.next() {
                        first.answer(Became::Refused(error.into()));
                    }
                    for other in adders {
                        other.answer(Became::Refused(unanswered(why.clone())));
                    }
                }
                Err(error) if batch.len() > 1 => {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(user = user.0, error, "adds are written one by one");
                    batches.extend(batch.into_iter().rev().map(|one| vec![one]));
                }
                Err(error) => {
                    if let Some(one) = batch.pop() {
                        one.answer(Became::Refused(error));
                    }
                }
            }
        }
    }

    /// Writes and answers. Where some were given up meanwhile by their clients, nothing is
    /// written, and the others are left in the batch.
    async fn try_write(&self, user: UserId, batch: &mut Vec<Waiting>) -> Result<(), MemoryError> {
        let Inner {
            db,
            clock,
            embeddings,
            ..
        } = &*self.0;
        let mut by: Vec<Authority> = Vec::new();
        for one in batch.iter().filter_map(|waiting| waiting.by.as_ref()) {
            if !by.iter().any(|known| known.is_of_the_same(one)) {
                by.push(one.clone());
            }
        }
        let mut tx = db.as_writer_by(user, &by).await?;
        let now = clock.now();
        // Of two that say the same, or have one key, one is there when the other comes.
        let (mut texts, mut keys) = (HashSet::new(), HashSet::new());
        let is_first: Vec<bool> = batch
            .iter()
            .map(|Waiting { item, .. }| {
                let is_first_of_key = item
                    .key()
                    .is_none_or(|key| keys.insert((item.theme(), key.as_str())));
                texts.insert((item.theme(), item.content())) && is_first_of_key
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
                Some(id) => Ok(Added::new(id, embedding)),
                None => meet(&mut tx, embeddings, &waiting.viewer, &waiting.item, now).await,
            };
            match &end {
                Ok(_) if id.is_some() => {}
                Ok(added) => records.push((&waiting.record, added.touched())),
                // Nothing of it was written, and the others' are.
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
                (Err(error), _) => Became::Refused(error),
                (Ok(_), Some(why)) => Became::Unknown(why.clone()),
                (Ok(added), None) => Became::Added(added),
            });
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Line, Vec<Waiting>>> {
        self.0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// One error for as many as waited.
fn unanswered(why: String) -> MemoryError {
    sqlx::Error::Io(std::io::Error::other(why)).into()
}
