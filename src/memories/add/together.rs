//! Adds that come while another of their user is being written are written together, in one
//! transaction: eight clients of one user pay for a commit, and for each statement, once. An
//! add that comes alone is written at once. Whatever makes an item more than a new row (a key,
//! a theme or a duplicate) and whatever goes wrong is left to the adder, who adds alone: what
//! one of them does must never touch the others.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::{Added, MemoryError, add_alone, store};
use crate::accounts::UserId;
use crate::activity::{Call, Record};
use crate::clock::SharedClock;
use crate::db::Db;
use crate::db::actor::Authority;
use crate::embedding::Embeddings;
use crate::memories::quota::ItemQuota;
use crate::memories::{ItemId, NewItem, words};

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
    /// What waits, of each user for whom a transaction is under way.
    waiting: Mutex<HashMap<UserId, Vec<Waiting>>>,
}

/// An item and all that is told of it once; its adder waits for what becomes of it.
pub(super) struct Waiting {
    pub item: NewItem,
    pub content_hash: [u8; 32],
    /// What full text finds it by.
    pub words: String,
    pub record: Record,
    /// Of the call, which the transaction's own task does not know.
    by: Option<Authority>,
    is_settled: bool,
    became: oneshot::Sender<Became>,
}

impl Waiting {
    /// [`Record::settle`], once.
    fn settle(&mut self) -> bool {
        self.is_settled = self.is_settled || self.record.settle();
        self.is_settled
    }
}

enum Became {
    Added(Added),
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
        if item.key().is_none() {
            let became = self.wait(call, item);
            match became.await {
                Ok(Became::Added(added)) => return Ok(added),
                Ok(Became::Unknown(why)) => return Err(unanswered(why)),
                // Nothing of it was written.
                Err(_) => call.take_back(),
            }
        }
        let Inner { db, clock, .. } = &*self.0;
        add_alone(db, clock, &self.0.embeddings, call, item).await
    }

    /// How many of a user's adds wait for the next transaction.
    pub fn queued(&self, user: UserId) -> usize {
        self.waiting().get(&user).map_or(0, Vec::len)
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
        let user = call.viewer.user_id;
        let (became, receiver) = oneshot::channel();
        let waiting = Waiting {
            content_hash: item.content_hash(),
            words: words::of_item(item.content(), None, item.tags()),
            item: item.clone(),
            record: call.record(),
            by: Authority::current(),
            is_settled: false,
            became,
        };
        let mut lines = self.waiting();
        match lines.get_mut(&user) {
            Some(line) => line.push(waiting),
            None => {
                lines.insert(user, vec![waiting]);
                tokio::spawn(self.clone().write_all(user));
            }
        }
        receiver
    }

    /// Until nobody waits. Each transaction is a task of its own, so that one that panics
    /// drops its adders and leaves the line.
    async fn write_all(self, user: UserId) {
        while let Some(batch) = self.take(user) {
            tokio::spawn(self.clone().write(user, batch)).await.ok();
        }
    }

    /// `None` where nobody waits: whoever comes next is written by another.
    fn take(&self, user: UserId) -> Option<Vec<Waiting>> {
        let mut lines = self.waiting();
        let line = lines.get_mut(&user)?;
        if line.is_empty() {
            lines.remove(&user);
            return None;
        }
        let count = line.len().min(TOGETHER_MAX);
        Some(line.drain(..count).collect())
    }

    /// Who is not answered adds alone.
    async fn write(self, user: UserId, mut batch: Vec<Waiting>) {
        batch.retain(|w| !w.became.is_closed());
        // Of two that say the same, one is the other's duplicate.
        let mut seen = HashSet::new();
        batch.retain(|w| seen.insert((w.item.theme().clone(), w.content_hash)));
        while !batch.is_empty() {
            match self.try_write(user, batch).await {
                Ok(left) => batch = left,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    return tracing::debug!(user = user.0, error, "adds are written one by one");
                }
            }
        }
    }

    /// Writes and answers. Where some were given up meanwhile by their clients, nothing is
    /// written, and the others are left.
    async fn try_write(
        &self,
        user: UserId,
        batch: Vec<Waiting>,
    ) -> Result<Vec<Waiting>, MemoryError> {
        let embeddings = &self.0.embeddings;
        let mut by: Vec<Authority> = Vec::new();
        for one in batch.iter().filter_map(|waiting| waiting.by.as_ref()) {
            if !by.iter().any(|known| known.is_of_the_same(one)) {
                by.push(one.clone());
            }
        }
        let mut tx = embeddings.begin_adding(user, &by).await?;
        let store::AddedTogether { ids, noted } =
            store::insert_together(&mut tx, user, &batch, self.0.clock.now()).await?;
        let became_row = |(waiting, id): (Waiting, Option<ItemId>)| Some((waiting, id?));
        let mut rows: Vec<_> = batch.into_iter().zip(ids).filter_map(became_row).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let embedding = embeddings.see_to(&mut tx, user, noted).await?;
        let count = rows.len();
        rows.retain_mut(|(waiting, _)| waiting.settle());
        if rows.len() < count {
            tx.rollback().await?;
            return Ok(rows.into_iter().map(|(waiting, _)| waiting).collect());
        }
        let unanswered = tx.commit().await.err().map(|error| error.to_string());
        for (waiting, id) in rows {
            let became = match &unanswered {
                Some(why) => Became::Unknown(why.clone()),
                None => Became::Added(Added {
                    id,
                    duplicate: false,
                    superseded: None,
                    put_aside_for: None,
                    embedding,
                }),
            };
            // Whoever went away in this moment has no need of it.
            waiting.became.send(became).ok();
        }
        Ok(Vec::new())
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<UserId, Vec<Waiting>>> {
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
