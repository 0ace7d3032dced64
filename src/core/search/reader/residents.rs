//! The cache of indexes and their memory use. Evicts the least recently used.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;

use super::{Resident, ResidentKey};
use crate::db::UserId;
use crate::metrics;

/// Limit on the cached indexes, regardless of size.
const RESIDENTS_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");
/// An unused index is dropped after this time.
const KEPT_FOR: Duration = Duration::from_secs(600);

pub struct Residents {
    bytes_max: usize,
    by_use: LruCache<ResidentKey, ResidentEntry>,
    /// Size of all indexes, including reservations.
    bytes: usize,
}

struct ResidentEntry {
    resident: Arc<Resident>,
    bytes: usize,
    /// When it was found too large to keep.
    large_since: Option<Instant>,
    asked_at: Instant,
}

impl Residents {
    /// Limits all indexes together to this size.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, by_use: LruCache::new(RESIDENTS_MAX), bytes: 0 }
    }

    /// The index of this key, possibly not built yet, and whether it is known to be too large to keep.
    pub fn ask_for(&mut self, key: ResidentKey) -> (Arc<Resident>, bool) {
        if self.by_use.len() == RESIDENTS_MAX.get() && !self.by_use.contains(&key) {
            self.drop_oldest();
        }
        let entry = self.by_use.get_or_insert_mut(key, || ResidentEntry {
            resident: Arc::default(),
            bytes: 0,
            large_since: None,
            asked_at: Instant::now(),
        });
        entry.asked_at = Instant::now();
        // Try again after a while: it may have become smaller.
        entry.large_since.take_if(|since| since.elapsed() > KEPT_FOR);
        (Arc::clone(&entry.resident), entry.large_since.is_some())
    }

    pub fn forget(&mut self, user: UserId) {
        let all = self.by_use.iter().map(|(key, _)| *key);
        let of_user: Vec<ResidentKey> = all.filter(|key| key.0 == user).collect();
        for key in of_user {
            if let Some(dropped) = self.by_use.pop(&key) {
                self.bytes -= dropped.bytes;
            }
        }
    }

    /// Number of indexes and their size in bytes.
    pub fn held(&self) -> (usize, usize) {
        (self.by_use.len(), self.bytes)
    }

    fn drop_oldest(&mut self) {
        if let Some((_, dropped)) = self.by_use.pop_lru() {
            self.bytes -= dropped.bytes;
            metrics::index_dropped();
        }
    }

    /// Records the size of an index and evicts the least recently used if all together are too large. Returns false if this
    /// one alone is too large. Ignores an index that was evicted meanwhile.
    pub fn note(&mut self, key: ResidentKey, resident: &Arc<Resident>, bytes: usize) -> bool {
        let entry = self.by_use.get_mut(&key);
        let Some(entry) = entry.filter(|entry| Arc::ptr_eq(&entry.resident, resident)) else {
            return bytes <= self.bytes_max;
        };
        let is_large = bytes > self.bytes_max;
        let bytes = if is_large { 0 } else { bytes };
        if is_large {
            // Searches that use it now keep their own reference.
            entry.resident = Arc::default();
            entry.large_since = Some(Instant::now());
        }
        self.bytes = self.bytes - std::mem::replace(&mut entry.bytes, bytes) + bytes;
        while self.bytes > self.bytes_max {
            self.drop_oldest();
        }
        !is_large
    }

    /// Drops indexes unused for a while; their user may have been deleted.
    pub fn drop_unasked(&mut self) {
        let is_unasked =
            |(_, entry): (&ResidentKey, &ResidentEntry)| entry.asked_at.elapsed() > KEPT_FOR;
        while self.by_use.peek_lru().is_some_and(is_unasked) {
            self.drop_oldest();
        }
    }
}
