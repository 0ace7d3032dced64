//! The time slice of a run, after which it yields to others.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// A run ends at its first safe point after this time; provider calls are never cut off.
const LENGTH: Duration = Duration::from_secs(2);

/// The limits of a run, and its counts.
#[derive(Debug)]
pub struct Slice {
    ends_at: Option<Instant>,
    stop: Option<watch::Receiver<bool>>,
    done: AtomicU32,
    failed: AtomicU32,
    endpoint: OnceLock<i64>,
    said: OnceLock<&'static str>,
}

impl Slice {
    /// Ends after two seconds, or when `stop` becomes true.
    pub fn begin(stop: watch::Receiver<bool>) -> Self {
        Self { ends_at: Some(Instant::now() + LENGTH), stop: Some(stop), ..Self::whole() }
    }

    /// Never ends by itself, for commands that wait for all of the work.
    pub fn whole() -> Self {
        Self {
            ends_at: None,
            stop: None,
            done: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            endpoint: OnceLock::new(),
            said: OnceLock::new(),
        }
    }

    pub fn is_over(&self) -> bool {
        self.is_stopping() || self.ends_at.is_some_and(|at| Instant::now() >= at)
    }

    /// The process is about to end.
    pub fn is_stopping(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| *stop.borrow())
    }

    /// Records the provider that the run calls. Only the first call counts.
    pub fn calls(&self, endpoint: &str) {
        let digest: [u8; 32] = Sha256::digest(endpoint).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        self.endpoint.get_or_init(|| i64::from_le_bytes([a, b, c, d, e, f, g, h]));
    }

    /// The provider that the run called, as a hash of its address that is equal on all servers.
    pub fn endpoint(&self) -> Option<i64> {
        self.endpoint.get().copied()
    }

    /// Counts rows that succeeded, and rows that failed.
    pub fn note(&self, done: usize, failed: usize) {
        let add = |counter: &AtomicU32, n: usize| {
            counter.fetch_add(u32::try_from(n).unwrap_or(u32::MAX), Ordering::Relaxed)
        };
        add(&self.done, done);
        add(&self.failed, failed);
    }

    /// Records why a successful run did less than it could, as a clause. Only the first call counts.
    pub fn say(&self, why: &'static str) {
        self.said.get_or_init(|| why);
    }

    pub fn said(&self) -> Option<&'static str> {
        self.said.get().copied()
    }

    pub fn counts(&self) -> (u32, u32) {
        let read = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
        (read(&self.done), read(&self.failed))
    }
}
