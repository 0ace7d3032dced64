//! Writes recorded calls a moment later, many at once, one transaction a user, and counts with them how often items
//! were used, by which they fade (`memories/fading`). A
//! crash loses what waits here; a database that is away does not, up to a bound.
//! It must never keep a call waiting.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use time::OffsetDateTime;
use tokio::sync::Notify;

use super::{Activity, Entry, OK, store};
use crate::accounts::UserId;
use crate::metrics;

/// From the first call that waits to the write of all that came meanwhile.
const WRITE_AFTER: Duration = Duration::from_millis(300);
/// So many are written sooner.
const WRITE_AT_ROWS: usize = 1_000;
/// Past it a call is not recorded. A row takes 0.7 kB at most, 0.5 kB more where all of its items are lent, and up to 2 kB
/// more for the words of a search where its user keeps them: some 14 MB, 63 MB at the very worst; and
/// as much again while so many are being written and as many have come meanwhile.
const WAITING_ROWS_MAX: usize = 20_000;
/// Items of one answer that count as used: the first ones, which are read.
const USED_MAX: usize = 5;
/// One statement's.
const ROWS_A_STATEMENT_MAX: usize = 1_000;
const RETRY_AFTER: Duration = Duration::from_secs(1);
const WARN_EVERY: Duration = Duration::from_secs(60);

/// What waits to be written.
#[derive(Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    /// One write at a time, so that what a failed one puts back is put back in order.
    writing: tokio::sync::Mutex<()>,
    has_some: Notify,
    has_many: Notify,
}

#[derive(Default)]
struct Waiting {
    entries: Vec<Entry>,
    dropped: u64,
    warned_at: Option<Instant>,
}

impl Queue {
    pub fn push(&self, entry: Entry) {
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

    /// By user, and of each in the order of their coming.
    fn take(&self) -> Vec<Entry> {
        let mut entries = std::mem::take(&mut self.waiting().entries);
        entries.sort_by_key(|entry| entry.user.0);
        entries
    }

    /// Where not all fit, the oldest go, whosever they are.
    fn put_back(&self, mut entries: Vec<Entry>) {
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

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
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
    /// Calls that are still to be written.
    pub fn count_waiting(&self) -> usize {
        self.0.queue.waiting().entries.len()
    }

    /// Writes what waits, again and again; ends with the server.
    pub async fn keep_writing(self) {
        loop {
            self.0.queue.has_some.notified().await;
            // Elapsed or many at once, it is time.
            let many = self.0.queue.has_many.notified();
            tokio::time::timeout(WRITE_AFTER, many).await.ok();
            while self.flush().await.is_err() {
                tokio::time::sleep(RETRY_AFTER).await;
            }
        }
    }

    /// Writes what waits now. An error is a database that cannot be reached: what
    /// could not be written waits on.
    pub async fn flush(&self) -> Result<(), sqlx::Error> {
        let activity = self.clone();
        // A task of its own: whoever asked may go away, and what it has taken with them.
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

    /// `settled` counts those that need no second try.
    async fn write_all(&self, entries: &[Entry], settled: &mut usize) -> Result<(), sqlx::Error> {
        let of_one_user = |a: &Entry, b: &Entry| a.user == b.user;
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

    /// One bad row is not to cost the others of its batch. It would be refused again.
    async fn write_singly(&self, batch: &[Entry], settled: &mut usize) -> Result<(), sqlx::Error> {
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
                    sqlstate = error
                        .as_database_error()
                        .and_then(|e| Some(e.code()?.into_owned()));
                }
            }
            *settled += 1;
        }
        if refused > 0 {
            tracing::error!(
                ?sqlstate,
                calls = refused,
                "PostgreSQL refused to record calls"
            );
        }
        ended
    }

    async fn write(&self, batch: &[Entry]) -> Result<(), sqlx::Error> {
        let Some(first) = batch.first() else {
            return Ok(());
        };
        let mut tx = self.0.db.as_user(first.user).await?;
        store::commit_without_waiting(&mut tx).await?;
        store::insert(&mut tx, first.user, batch).await?;
        let uses = uses_in(batch);
        if !uses.is_empty() {
            count_if_free(&mut tx, first.user, &uses).await?;
        }
        tx.commit().await
    }
}

/// Uses are hints and a writer's locks are not: where one holds an item for longer than a moment, these uses are not counted,
/// and the calls are recorded without them. Two that lock items in different orders would otherwise wait for each other.
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

/// Of answers, the items at the beginning of each: how often, and when last; by their ids.
fn uses_in(batch: &[Entry]) -> Vec<(i64, i64, OffsetDateTime)> {
    let mut uses: BTreeMap<i64, (i64, OffsetDateTime)> = BTreeMap::new();
    for entry in batch.iter().filter(|entry| entry.outcome == OK) {
        for id in entry.items.iter().take(USED_MAX) {
            let (count, last) = uses.entry(*id).or_insert((0, entry.at));
            (*count, *last) = (*count + 1, entry.at.max(*last));
        }
    }
    let flat = uses
        .into_iter()
        .map(|(id, (count, last))| (id, count, last));
    flat.collect()
}

const LOCK_NOT_AVAILABLE: &str = "55P03";

/// SQLSTATE classes: connections, transactions (a standby that takes over reads only),
/// access, rollbacks, resources, locks, an operator's doing, the system's.
const PASSING: [&str; 9] = ["08", "25", "28", "3D", "40", "53", "55", "57", "58"];

/// Whether the same might succeed a moment later.
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
    use crate::activity::model::{ITEMS_MAX, KEPT_QUERY_CHARS_MAX, OfTeam};

    /// The older its call, the higher the user's id.
    fn entry(n: i64) -> Entry {
        Entry {
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

    fn seconds(entries: &[Entry]) -> Vec<i64> {
        entries.iter().map(|e| e.at.unix_timestamp()).collect()
    }

    #[test]
    fn no_more_wait_than_the_bound_whoever_comes_or_comes_back() {
        let queue = Queue::default();
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
        // A list that grows may be twice as long as what is in it.
        let row = 2 * size_of::<Entry>() + 8 * ITEMS_MAX;
        assert!(WAITING_ROWS_MAX * row <= MEGABYTE * 14, "{row}");
        let lent = size_of::<OfTeam>() + 8 * ITEMS_MAX;
        let words = 4 * KEPT_QUERY_CHARS_MAX;
        assert!(WAITING_ROWS_MAX * (row + lent + words) <= MEGABYTE * 63);
    }

    const MEGABYTE: usize = 1_000_000;
}
