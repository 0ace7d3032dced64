//! Writes recorded calls in batches a moment later, one transaction per user, and counts the uses of items, which fading needs
//! (`memories/fading`). A crash loses what is waiting; an unavailable database does not, up to a limit. Must never delay a
//! call.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use time::OffsetDateTime;
use tokio::sync::Notify;

use super::model::TeamRead;
use super::{Activity, ActivityEntry, OK, store};
use crate::accounts::UserId;
use crate::metrics;

/// From the first waiting call until the batch is written.
const WRITE_AFTER: Duration = Duration::from_millis(300);
/// This many waiting calls are written earlier.
const WRITE_AT_ROWS: usize = 1_000;
/// Above this, calls are not recorded. A row takes up to 0.7 kB, 0.5 kB more with lent items, and 2 kB more with a query: 14 MB
/// in total, 63 MB at worst, and twice that during a write.
const WAITING_ROWS_MAX: usize = 20_000;
/// The tools that search or read memories: what another tool names counts as no use.
const USING: [&str; 6] =
    ["memory_search", "memory_recall", "memory_get", "memory", "search", "fetch"];
/// Only the first items of an answer count as used, because those are read.
const USED_MAX: usize = 5;
/// Limit per statement.
const ROWS_A_STATEMENT_MAX: usize = 1_000;
const RETRY_AFTER: Duration = Duration::from_secs(1);
const WARN_EVERY: Duration = Duration::from_secs(60);

/// Calls waiting to be written.
#[derive(Default)]
pub struct ActivityQueue {
    waiting: Mutex<WaitingEntries>,
    /// One write at a time, so that a failed batch is put back in order.
    writing: tokio::sync::Mutex<()>,
    has_some: Notify,
    has_many: Notify,
}

#[derive(Default)]
struct WaitingEntries {
    entries: Vec<ActivityEntry>,
    dropped: u64,
    warned_at: Option<Instant>,
}

impl ActivityQueue {
    pub fn push(&self, entry: ActivityEntry) {
        let mut waiting = self.waiting();
        if waiting.entries.len() >= WAITING_ROWS_MAX {
            return waiting.drop_some(1);
        }
        waiting.entries.push(entry);
        match waiting.entries.len() {
            1 => self.has_some.notify_one(),
            WRITE_AT_ROWS => self.has_many.notify_one(),
            _ => {}
        }
    }

    /// Takes all entries, by user, oldest first.
    fn take(&self) -> Vec<ActivityEntry> {
        let mut entries = std::mem::take(&mut self.waiting().entries);
        entries.sort_by_key(|entry| entry.user.0);
        entries
    }

    /// Puts a failed batch back; drops the oldest entries beyond the limit.
    fn put_back(&self, mut entries: Vec<ActivityEntry>) {
        let mut waiting = self.waiting();
        entries.append(&mut waiting.entries);
        entries.sort_by_key(|entry| entry.at);
        let too_many = entries.len().saturating_sub(WAITING_ROWS_MAX);
        entries.drain(..too_many);
        waiting.entries = entries;
        if too_many > 0 {
            waiting.drop_some(too_many as u64);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingEntries> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingEntries {
    fn drop_some(&mut self, rows: u64) {
        self.dropped += rows;
        metrics::activity_dropped(rows);
        if self.warned_at.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            tracing::warn!(
                calls = self.dropped,
                "too many calls wait to be recorded; some are not"
            );
            (self.dropped, self.warned_at) = (0, Some(Instant::now()));
        }
    }
}

impl Activity {
    /// Number of calls waiting to be written.
    pub fn count_waiting(&self) -> usize {
        self.0.queue.waiting().entries.len()
    }

    /// Writes waiting calls until the server ends.
    pub async fn keep_writing(self) {
        loop {
            self.0.queue.has_some.notified().await;
            // Wait for the timeout or a full batch, whichever comes first.
            let many = self.0.queue.has_many.notified();
            tokio::time::timeout(WRITE_AFTER, many).await.ok();
            while self.flush().await.is_err() {
                tokio::time::sleep(RETRY_AFTER).await;
            }
        }
    }

    /// Writes what is waiting now. An error means that the database cannot be reached; unwritten calls keep waiting.
    pub async fn flush(&self) -> Result<(), sqlx::Error> {
        let activity = self.clone();
        // Its own task: if the caller is cancelled, the taken entries must not be lost.
        let written = tokio::spawn(async move { activity.write_waiting().await });
        written.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    async fn write_waiting(&self) -> Result<(), sqlx::Error> {
        let _alone = self.0.queue.writing.lock().await;
        let mut entries = self.0.queue.take();
        let mut settled = 0;
        let written = self.write_all(&entries, &mut settled).await;
        if written.is_err() {
            self.0.queue.put_back(entries.split_off(settled));
        }
        written
    }

    /// Increments `settled` for entries that need no retry.
    async fn write_all(
        &self,
        entries: &[ActivityEntry],
        settled: &mut usize,
    ) -> Result<(), sqlx::Error> {
        let of_one_user = |a: &ActivityEntry, b: &ActivityEntry| a.user == b.user;
        let batches = entries.chunk_by(of_one_user);
        for batch in batches.flat_map(|of_user| of_user.chunks(ROWS_A_STATEMENT_MAX)) {
            match self.write(batch).await {
                Ok(()) => *settled += batch.len(),
                Err(error) if may_pass(&error) => return Err(error),
                Err(_) => self.write_singly(batch, settled).await?,
            }
        }
        Ok(())
    }

    /// Writes entries one by one, so that a bad row costs only itself. It is not retried: it would fail again.
    async fn write_singly(
        &self,
        batch: &[ActivityEntry],
        settled: &mut usize,
    ) -> Result<(), sqlx::Error> {
        let (mut refused, mut sqlstate) = (0, None);
        let mut ended = Ok(());
        for entry in batch.chunks(1) {
            match self.write(entry).await {
                Ok(()) => {}
                Err(error) if may_pass(&error) => {
                    ended = Err(error);
                    break;
                }
                Err(error) => {
                    refused += 1;
                    sqlstate = error.as_database_error().and_then(|e| Some(e.code()?.into_owned()));
                }
            }
            *settled += 1;
        }
        if refused > 0 {
            tracing::error!(?sqlstate, calls = refused, "PostgreSQL refused to record calls");
        }
        ended
    }

    async fn write(&self, batch: &[ActivityEntry]) -> Result<(), sqlx::Error> {
        let Some(first) = batch.first() else {
            return Ok(());
        };
        let mut tx = self.0.db.as_user(first.user).await?;
        store::commit_without_waiting(&mut tx).await?;
        let batch = without_erased(&mut tx, first.user, batch).await?;
        store::insert(&mut tx, first.user, &batch).await?;
        let uses = uses_in(&batch);
        if !uses.is_empty() {
            count_if_free(&mut tx, first.user, &uses).await?;
        }
        tx.commit().await
    }
}

/// These calls without what was erased since, and without the query of a call that found some of it.
async fn without_erased<'a>(
    conn: &mut PgConnection,
    user: UserId,
    batch: &'a [ActivityEntry],
) -> Result<Cow<'a, [ActivityEntry]>, sqlx::Error> {
    let mut named: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for entry in batch {
        let (lender, lent) = lent_in(entry);
        named.entry(lender.0).or_default().extend(lent);
        let own = entry.items.iter().filter(|id| !lent.contains(id));
        named.entry(user.0).or_default().extend(own);
    }
    let mut there = HashSet::new();
    for (owner, ids) in named.iter().filter(|(_, ids)| !ids.is_empty()) {
        let ids: Vec<i64> = ids.iter().copied().collect();
        there.extend(store::list_still_there(&mut *conn, UserId(*owner), &ids).await?);
    }
    if named.values().flatten().all(|id| there.contains(id)) {
        return Ok(Cow::Borrowed(batch));
    }
    let mut left = batch.to_vec();
    for entry in &mut left {
        let has_gone = lent_in(entry).1.iter().chain(&entry.items).any(|id| !there.contains(id));
        entry.query.take_if(|_| has_gone);
        entry.items.retain(|id| there.contains(id));
        if let Some(TeamRead::Lent(_, ids)) = entry.of_team.as_deref_mut() {
            ids.retain(|id| there.contains(id));
        }
    }
    Ok(Cow::Owned(left))
}

/// Whose items the call's agent was lent, and which of them it read.
fn lent_in(entry: &ActivityEntry) -> (UserId, &[i64]) {
    match entry.of_team.as_deref() {
        Some(TeamRead::Lent(lender, ids)) => (*lender, ids),
        _ => (entry.user, &[]),
    }
}

/// Counts uses, but gives up after a short wait for a lock: uses are hints, and waiting could deadlock with a writer that locks
/// items in another order. The calls are recorded anyway.
async fn count_if_free(
    conn: &mut PgConnection,
    user: UserId,
    uses: &[(i64, i64, OffsetDateTime)],
) -> Result<(), sqlx::Error> {
    let mut counting = conn.begin().await?;
    store::wait_a_moment_for_locks(&mut counting).await?;
    match store::count_uses(&mut counting, user, uses).await {
        Ok(()) => counting.commit().await,
        Err(error)
            if error.as_database_error().and_then(|e| e.code()).as_deref()
                == Some(LOCK_NOT_AVAILABLE) =>
        {
            counting.rollback().await
        }
        Err(error) => Err(error),
    }
}

/// The first items of each answer, by id: number of uses and the last time.
fn uses_in(batch: &[ActivityEntry]) -> Vec<(i64, i64, OffsetDateTime)> {
    let mut uses: BTreeMap<i64, (i64, OffsetDateTime)> = BTreeMap::new();
    let is_use = |entry: &&ActivityEntry| entry.outcome == OK && USING.contains(&entry.tool);
    for entry in batch.iter().filter(is_use) {
        for id in entry.items.iter().take(USED_MAX) {
            let (count, last) = uses.entry(*id).or_insert((0, entry.at));
            (*count, *last) = (*count + 1, entry.at.max(*last));
        }
    }
    let flat = uses.into_iter().map(|(id, (count, last))| (id, count, last));
    flat.collect()
}

const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Transient SQLSTATE classes: connection, transaction state (a read-only standby), authorization, rollback, resources, locks,
/// operator intervention, system errors.
const PASSING: [&str; 9] = ["08", "25", "28", "3D", "40", "53", "55", "57", "58"];

/// Whether the error is transient, so that a retry may succeed.
fn may_pass(error: &sqlx::Error) -> bool {
    let Some(error) = error.as_database_error() else {
        return true;
    };
    let class = |code: &str| PASSING.iter().any(|class| code.starts_with(class));
    error.code().is_some_and(|code| class(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::model::{ITEMS_MAX, KEPT_QUERY_CHARS_MAX, TeamRead};

    /// A newer call gets a lower user id.
    fn entry(n: i64) -> ActivityEntry {
        ActivityEntry {
            user: UserId(1_000_000 - n),
            agent: None,
            at: OffsetDateTime::UNIX_EPOCH + Duration::from_secs(n as u64),
            tool: "memory_search",
            outcome: "ok",
            duration_us: 1,
            items: Vec::new(),
            query: None,
            of_team: None,
        }
    }

    fn seconds(entries: &[ActivityEntry]) -> Vec<i64> {
        entries.iter().map(|e| e.at.unix_timestamp()).collect()
    }

    #[test]
    fn no_more_wait_than_the_bound_whoever_comes_or_comes_back() {
        let queue = ActivityQueue::default();
        let bound = WAITING_ROWS_MAX as i64;
        for n in 0..bound + 5 {
            queue.push(entry(n));
        }
        let taken = queue.take();
        let newest_first: Vec<i64> = (0..bound).rev().collect();
        assert_eq!(seconds(&taken), newest_first, "by user");
        for n in 0..3 {
            queue.push(entry(bound + n));
        }
        queue.put_back(taken);
        let left: Vec<i64> = (3..bound + 3).collect();
        assert_eq!(seconds(&queue.waiting().entries), left, "the oldest go");
    }

    #[test]
    fn what_waits_takes_no_more_memory_than_is_said() {
        // A growing vector may have twice the needed capacity.
        let row = 2 * size_of::<ActivityEntry>() + 8 * ITEMS_MAX;
        assert!(WAITING_ROWS_MAX * row <= MEGABYTE * 14, "{row}");
        let lent = size_of::<TeamRead>() + 8 * ITEMS_MAX;
        let words = 4 * KEPT_QUERY_CHARS_MAX;
        assert!(WAITING_ROWS_MAX * (row + lent + words) <= MEGABYTE * 63);
    }

    const MEGABYTE: usize = 1_000_000;
}
