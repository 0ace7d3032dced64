//! Writes recorded calls a moment later, many at once, one transaction a user. A
//! crash loses what waits here; a database that is away does not, up to a bound.
//! It must never keep a call waiting.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Activity, Entry, store};

/// From the first call that waits to the write of all that came meanwhile.
const WRITE_AFTER: Duration = Duration::from_millis(300);
/// So many are written sooner.
const WRITE_AT_ROWS: usize = 1_000;
/// Past it a call is not recorded; some 10 MB.
const WAITING_ROWS_MAX: usize = 20_000;
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

    fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.waiting().entries)
    }

    /// Before what came meanwhile; where it does not fit the oldest go.
    fn put_back(&self, mut entries: Vec<Entry>) {
        let mut waiting = self.waiting();
        entries.append(&mut waiting.entries);
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
        let _alone = self.0.queue.writing.lock().await;
        let mut entries = self.0.queue.take();
        entries.sort_by_key(|entry| entry.user.0);
        let of_one_user = |a: &Entry, b: &Entry| a.user == b.user;
        let mut written = 0;
        let batches = entries.chunk_by(of_one_user);
        for batch in batches.flat_map(|of_user| of_user.chunks(ROWS_A_STATEMENT_MAX)) {
            match self.write(batch).await {
                Ok(()) => {}
                Err(error) if is_away(&error) => {
                    self.0.queue.put_back(entries.split_off(written));
                    return Err(error);
                }
                // It would be refused again; the others are not to wait for it.
                Err(error) => {
                    let sqlstate = error.as_database_error().and_then(|e| e.code());
                    tracing::error!(
                        ?sqlstate,
                        calls = batch.len(),
                        "PostgreSQL refused to record calls"
                    );
                }
            }
            written += batch.len();
        }
        Ok(())
    }

    async fn write(&self, batch: &[Entry]) -> Result<(), sqlx::Error> {
        let Some(first) = batch.first() else {
            return Ok(());
        };
        let mut tx = self.0.db.as_user(first.user).await?;
        store::commit_without_waiting(&mut tx).await?;
        store::insert(&mut tx, first.user, batch).await?;
        tx.commit().await
    }
}

/// Whether the same might succeed when the database is back.
fn is_away(error: &sqlx::Error) -> bool {
    match error.as_database_error() {
        // Connections, access, resources, an operator's doing, the system's.
        Some(error) => error.code().is_some_and(|code| {
            ["08", "28", "3D", "53", "57", "58"]
                .iter()
                .any(|class| code.starts_with(class))
        }),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;
    use crate::accounts::UserId;

    fn entry(n: i64) -> Entry {
        Entry {
            user: UserId(n),
            agent: None,
            at: OffsetDateTime::UNIX_EPOCH,
            tool: "memory_search",
            outcome: "ok",
            duration_us: 1,
            items: Vec::new(),
            query: None,
        }
    }

    #[test]
    fn no_more_wait_than_the_bound_whoever_comes_or_comes_back() {
        let queue = Queue::default();
        let bound = WAITING_ROWS_MAX as i64;
        for n in 0..bound + 5 {
            queue.push(entry(n));
        }
        let taken = queue.take();
        assert_eq!(taken.len(), WAITING_ROWS_MAX);
        assert_eq!(taken.last().map(|e| e.user), Some(UserId(bound - 1)));
        for n in 0..3 {
            queue.push(entry(bound + n));
        }
        queue.put_back(taken);
        let all = queue.take();
        assert_eq!(all.len(), WAITING_ROWS_MAX);
        let ends = all.first().zip(all.last()).map(|(a, b)| (a.user, b.user));
        assert_eq!(ends, Some((UserId(3), UserId(bound + 2))), "the oldest go");
    }
}
