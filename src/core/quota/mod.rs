//! How much may be kept: bytes of a user over all tables, and free disk. Past either nothing is added; reading,
//! exporting and whatever frees room go on. Must never count a user's rows in a request.
//!
//! A user's row in `user_storage` holds the bytes of the last count, which the job `storage` makes, and what was reserved since.
//! A process reserves an eighth of the room that is left, and adds that much without asking again: so several servers together
//! stay in the limit, and an add costs no statement.

mod disk;
mod store;

pub use disk::{Disk, DiskSpace, DiskState, DiskWatch, FolderDisk};

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use lru::LruCache;
use sqlx::PgConnection;
use sqlx::types::Json;
use time::{Duration, OffsetDateTime};

use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::clock::SharedClock;
use crate::db::{Db, UserId};
use crate::input::Invalid;
use crate::metrics;
use crate::providers::settings;
use crate::queue::{self, Slice};

/// What a process may take of the room that is left, before it looks again.
pub const SHARE_ADDED_BETWEEN_LOOKS: i64 = 8;
/// A count forgets what processes have reserved and not used yet: at most this much of each.
const RESERVED_MAX: i64 = 64 << 20;
const USERS_REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");
/// What a text takes, with its history, search index and vectors, by the bytes of the text and the rows that it becomes. A count
/// corrects it.
const STORED_PER_BYTE: i64 = 4;
const STORED_PER_ROW: i64 = 2_600;
/// Between two counts of a user: this, and twenty times what the last one took.
const PAUSE: Duration = Duration::seconds(60);
const PAUSE_PER_COUNT: i32 = 20;
/// A user who adds is counted again after a day at the latest, anybody else after a week.
const RECOUNT_ACTIVE_AFTER: Duration = Duration::days(1);
const RECOUNT_AFTER: Duration = Duration::days(7);
/// Users per look-up; the rest follow with the next one.
const USERS_DUE_MAX: i64 = 1_000;
/// A job that is paused for want of room looks again.
const LOOK_AGAIN_AFTER: Duration = Duration::seconds(60);
const PAUSED_BY_LIMIT: &str = "the user's storage limit is reached; it goes on once there is room";
const PAUSED_BY_DISK: &str = "the server's disk is nearly full; it goes on once there is room";
/// Of the list of who takes most.
const LARGEST_SHOWN: i64 = 10;
/// What an admin may set.
const LIMIT_MIB: std::ops::RangeInclusive<i64> = 1..=1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    #[error(
        "the storage limit is reached: {} of at most {} are used; nothing was added: delete memories, sessions or documents that are no longer needed, or ask an admin of this server to raise the limit",
        in_words(*.used), in_words(*.limit)
    )]
    Storage { used: u64, limit: u64 },
    #[error(
        "this server's disk has {} left, and below {} nothing is added; reading, exporting and deleting still work: try again when an admin has freed disk space",
        in_words(*.free), in_words(*.floor)
    )]
    Disk { free: u64, floor: u64 },
    /// PostgreSQL's own refusal, where its disk cannot be looked at.
    #[error(
        "the disk of this server's database is full; nothing was added: try again when an admin has freed disk space"
    )]
    DatabaseDisk,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl QuotaError {
    /// Stable, part of the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Storage { .. } => "storage_full",
            Self::Disk { .. } | Self::DatabaseDisk => "disk_full",
            Self::Database(_) => "database_unavailable",
        }
    }
}

/// "730 bytes", "12.0 KiB", "4.0 GiB"
pub fn in_words(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut shown = bytes as f64 / 1024.0;
    if shown < 1.0 {
        return format!("{bytes} bytes");
    }
    let mut unit = 0;
    while shown >= 1024.0 && unit + 1 < units.len() {
        (shown, unit) = (shown / 1024.0, unit + 1);
    }
    format!("{shown:.1} {}", units[unit])
}

/// What a text of so many bytes takes, which becomes so many rows.
pub fn estimate(bytes: usize, rows: usize) -> i64 {
    let of = |n: usize, each| i64::try_from(n).unwrap_or(i64::MAX).saturating_mul(each);
    of(bytes, STORED_PER_BYTE).saturating_add(of(rows, STORED_PER_ROW))
}

/// Room that each user may still fill in this process before it is looked up again.
pub struct RoomLeft(Mutex<LruCache<UserId, i64>>);

impl Default for RoomLeft {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(USERS_REMEMBERED)))
    }
}

impl RoomLeft {
    /// Returns false if it must be looked up first.
    pub fn take(&self, user: UserId, wanted: i64) -> bool {
        match self.left().get_mut(&user) {
            Some(left) if *left >= wanted => {
                *left -= wanted;
                true
            }
            _ => false,
        }
    }

    pub fn put(&self, user: UserId, left: i64) {
        self.left().put(user, left);
    }

    fn forget(&self, user: UserId) {
        self.left().pop(&user);
    }

    fn forget_all(&self) {
        self.left().clear();
    }

    fn left(&self) -> MutexGuard<'_, LruCache<UserId, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A user's row.
#[derive(Clone, Debug)]
pub struct StorageUse {
    /// At the last count.
    pub bytes: i64,
    /// Reserved since.
    pub added: i64,
    /// Bytes by table.
    pub parts: Json<BTreeMap<String, i64>>,
    pub counted_at: Option<OffsetDateTime>,
    took_ms: i32,
    recount_at: OffsetDateTime,
}

impl StorageUse {
    /// Before this, the user is not counted again.
    fn pause_until(&self) -> Option<OffsetDateTime> {
        let took = Duration::milliseconds(i64::from(self.took_ms));
        self.counted_at.map(|at| at + PAUSE + took * PAUSE_PER_COUNT)
    }
}

/// The storage of all users, for admins.
#[derive(Clone, Debug)]
pub struct StorageOverview {
    /// Who takes most, with their bytes.
    pub largest: Vec<(UserId, i64)>,
    pub total: i64,
    pub limit: i64,
}

/// When a count may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Done,
    /// Not before this time.
    At(OffsetDateTime),
}

/// Cheap to clone; one is created at startup.
#[derive(Clone)]
pub struct Quota(Arc<QuotaInner>);

struct QuotaInner {
    db: Db,
    clock: SharedClock,
    left: RoomLeft,
    disk: DiskWatch,
}

impl Quota {
    pub fn new(db: Db, clock: SharedClock) -> Self {
        let (left, disk) = (RoomLeft::default(), DiskWatch::default());
        Self(Arc::new(QuotaInner { db, clock, left, disk }))
    }

    pub fn disk(&self) -> &DiskWatch {
        &self.0.disk
    }

    /// Reserves room for about so many bytes of the user ([`estimate`]).
    ///
    /// # Errors
    /// [`QuotaError::Storage`] or [`QuotaError::Disk`]: nothing may be added.
    pub async fn take(&self, user: UserId, bytes: i64) -> Result<(), QuotaError> {
        let room = match self.0.disk.check() {
            Ok(()) if self.0.left.take(user, bytes) => return Ok(()),
            // Boxed because it is rare: its state would enlarge every add's future.
            Ok(()) => Box::pin(self.reserve(user, bytes)).await,
            full => full,
        };
        room.inspect_err(|error| match error {
            QuotaError::Database(_) => {}
            full => metrics::storage_refused(full.code()),
        })
    }

    async fn reserve(&self, user: UserId, bytes: i64) -> Result<(), QuotaError> {
        let limit = self.limit().await?;
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_user(user).await?;
        let used = store::hold(&mut tx, user, now).await?;
        let room = limit - used.bytes - used.added;
        let is_full = room < bytes;
        // Before estimates alone fill the room, it is counted.
        let is_uncertain = used.added > 0 && (is_full || used.added >= (limit - used.bytes) / 4);
        if (is_uncertain || used.counted_at.is_none()) && used.recount_at > now {
            store::reserve(&mut tx, user, 0, now).await?;
            queue::push(&mut tx, user, queue::STORAGE, 1, now).await?;
        }
        let reserved = (room / SHARE_ADDED_BETWEEN_LOOKS).min(RESERVED_MAX).max(bytes);
        if !is_full {
            let recount_at = used.counted_at.unwrap_or(now) + RECOUNT_ACTIVE_AFTER;
            store::reserve(&mut tx, user, reserved, recount_at).await?;
        }
        tx.commit().await?;
        if is_full {
            let [used, limit] = [used.bytes + used.added, limit].map(i64::unsigned_abs);
            return Err(QuotaError::Storage { used, limit });
        }
        self.0.left.put(user, reserved - bytes);
        Ok(())
    }

    /// Until when a run that would add to the user's memory waits, since there is no room; the run says why.
    pub async fn full_until(
        &self,
        user: UserId,
        slice: &Slice,
    ) -> Result<Option<OffsetDateTime>, sqlx::Error> {
        slice.say(match self.check(user).await {
            Ok(()) => return Ok(None),
            Err(QuotaError::Database(error)) => return Err(error),
            Err(QuotaError::Storage { .. }) => PAUSED_BY_LIMIT,
            Err(QuotaError::Disk { .. } | QuotaError::DatabaseDisk) => PAUSED_BY_DISK,
        });
        Ok(Some(self.0.clock.now() + LOOK_AGAIN_AFTER))
    }

    /// Whether anything may be added for the user; reserves nothing.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub async fn check(&self, user: UserId) -> Result<(), QuotaError> {
        self.0.disk.check()?;
        let mut conn = self.0.db.system_connection().await?;
        let limit = settings::store::find_bytes_per_user(&mut conn).await?;
        let used = store::find_bytes(&mut conn, user).await?;
        if used >= limit {
            let [used, limit] = [used, limit].map(i64::unsigned_abs);
            return Err(QuotaError::Storage { used, limit });
        }
        Ok(())
    }

    /// Counts the user's bytes in all tables, unless that was done a moment ago. `db` has the statement timeout of jobs.
    pub async fn count(&self, db: &Db, user: UserId) -> Result<Counted, sqlx::Error> {
        let (began, now) = (Instant::now(), self.0.clock.now());
        let mut tx = db.as_user(user).await?;
        let before = store::find(&mut tx, user).await?;
        let paused = before.as_ref().and_then(StorageUse::pause_until);
        if let Some(until) = paused.filter(|until| *until > now) {
            return Ok(Counted::At(until));
        }
        let mut parts = BTreeMap::new();
        for table in store::list_tables(&mut tx).await? {
            let bytes = store::count_bytes(&mut tx, user, &table).await?;
            if bytes > 0 {
                parts.insert(table.name, bytes);
            }
        }
        let added = before.map_or(0, |before| before.added);
        let times = (now, now + RECOUNT_AFTER);
        store::note_count(&mut tx, user, &parts, added, began.elapsed(), times).await?;
        tx.commit().await?;
        self.0.left.forget(user);
        Ok(Counted::Done)
    }

    /// Who is to be counted.
    pub async fn users_due(&self) -> Result<Vec<UserId>, sqlx::Error> {
        let mut conn = self.0.db.system_connection().await?;
        store::list_due(&mut conn, self.0.clock.now(), USERS_DUE_MAX).await
    }

    /// What the user takes, and may take.
    pub async fn of(&self, user: UserId) -> Result<(Option<StorageUse>, i64), sqlx::Error> {
        let limit = self.limit().await?;
        let used = self.0.db.for_user(user, store::find).await?;
        Ok((used, limit))
    }

    /// Bytes of these users, of those that were counted.
    pub async fn bytes_of(&self, users: &[i64]) -> Result<BTreeMap<i64, i64>, sqlx::Error> {
        let mut conn = self.0.db.system_connection().await?;
        Ok(store::list_bytes(&mut conn, users).await?.into_iter().collect())
    }

    pub async fn overview(&self) -> Result<StorageOverview, sqlx::Error> {
        let mut conn = self.0.db.system_connection().await?;
        let (largest, total) = store::list_largest(&mut conn, LARGEST_SHOWN).await?;
        let limit = settings::store::find_bytes_per_user(&mut conn).await?;
        let largest = largest.into_iter().map(|(user, bytes)| (UserId(user), bytes)).collect();
        Ok(StorageOverview { largest, total, limit })
    }

    /// What a user may take, in bytes.
    pub async fn limit(&self) -> Result<i64, sqlx::Error> {
        settings::store::find_bytes_per_user(&mut *self.0.db.system_connection().await?).await
    }

    /// Sets what a user may take, and records who did. Another server has reserved [`RESERVED_MAX`] of a user at most.
    pub async fn set_limit(&self, bytes: i64) -> Result<(), sqlx::Error> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_system().await?;
        if settings::store::set_bytes_per_user(&mut tx, bytes, now).await? {
            let (by, subject) = (AdminActor::current(), AdminSubject::Nobody);
            admin_events::record(&mut tx, by, AdminAction::SetStorage, subject, now).await?;
        }
        tx.commit().await?;
        self.0.left.forget_all();
        Ok(())
    }
}

/// Has the user counted soon, in the transaction that frees room.
pub async fn recount_soon(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::reserve(conn, user, 0, now).await?;
    queue::push(conn, user, queue::STORAGE, 1, now).await
}

/// Parses an admin's limit in MiB; returns bytes.
///
/// # Errors
/// [`Invalid`] naming `mib`.
pub fn parse_limit(mib: &str) -> Result<i64, Invalid> {
    let parsed = mib.trim().replace(',', "").parse().ok().filter(|mib| LIMIT_MIB.contains(mib));
    parsed.map(|mib: i64| mib << 20).ok_or_else(|| {
        let sentence = "`mib` is a whole number of MiB from 1 to 1,048,576, such as 4096.";
        Invalid::new("mib", "out_of_range", sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_limits_are_in_binary_units() {
        let said = [0, 1023, 1024, 1_048_575, 3 << 29, 4 << 30, 1 << 50].map(in_words);
        let expected =
            ["0 bytes", "1023 bytes", "1.0 KiB", "1024.0 KiB", "1.5 GiB", "4.0 GiB", "1024.0 TiB"];
        assert_eq!(said, expected);
        assert_eq!(parse_limit(" 4,096 "), Ok(4 << 30));
        for bad in ["", "0", "-1", "1.5", "1048577", "4 GiB", "9999999999999999999999"] {
            assert_eq!(parse_limit(bad).expect_err(bad).field, "mib");
        }
    }
}
