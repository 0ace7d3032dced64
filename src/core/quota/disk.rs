//! Free space of the disk that holds the data. Looked at in the background every few seconds, not by requests: below the floor
//! nothing is added, and a quarter above it adding goes on, so that it does not alternate.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{QuotaError, in_words};

const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The floor is the smaller of this share and [`FLOOR_BYTES_MAX`]: a large disk need not keep 5 % free, a small one not 1 GiB.
const FLOOR_SHARE: u64 = 20;
const FLOOR_BYTES_MAX: u64 = 1 << 30;
/// Writing goes on above the floor by this share of it.
const RECOVERED_SHARE: u64 = 4;

/// A disk, in bytes; free is what is left to a process without privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    pub free: u64,
    pub total: u64,
}

/// Where free space is read from.
pub trait Disk: Send + Sync + 'static {
    fn space(&self) -> io::Result<DiskSpace>;
}

/// The disk of a folder.
pub struct FolderDisk(pub PathBuf);

impl Disk for FolderDisk {
    fn space(&self) -> io::Result<DiskSpace> {
        let disk = rustix::fs::statvfs(&self.0)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Ok(DiskSpace { free: bytes(disk.f_bavail), total: bytes(disk.f_blocks) })
    }
}

/// What was seen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskState {
    pub space: DiskSpace,
    /// In bytes.
    pub floor: u64,
    /// Nothing is added.
    pub is_full: bool,
}

impl DiskState {
    /// `floor` is the configured one; `None`: by the disk's size.
    fn of(space: DiskSpace, floor: Option<u64>, was_full: bool) -> Self {
        let floor = floor.unwrap_or((space.total / FLOOR_SHARE).min(FLOOR_BYTES_MAX));
        let needed = match was_full {
            true => floor.saturating_add(floor / RECOVERED_SHARE),
            false => floor,
        };
        Self { space, floor, is_full: space.free < needed }
    }

    /// How much more is free than has to be.
    fn margin(&self) -> i128 {
        i128::from(self.space.free) - i128::from(self.floor)
    }
}

/// Cheap to clone. Without a disk nothing is full.
#[derive(Clone, Default)]
pub struct DiskWatch(Arc<Mutex<WatchedDisks>>);

#[derive(Default)]
struct WatchedDisks {
    disks: Vec<Arc<dyn Disk>>,
    floor: Option<u64>,
    state: Option<DiskState>,
}

impl DiskWatch {
    /// Watches these disks from now on; `floor_bytes` as configured.
    pub fn watch(&self, disks: Vec<Arc<dyn Disk>>, floor_bytes: Option<u64>) {
        *self.watched() = WatchedDisks { disks, floor: floor_bytes, state: None };
        self.look();
    }

    /// The fullest disk, as it was seen last; `None` if none could be looked at.
    pub fn state(&self) -> Option<DiskState> {
        self.watched().state
    }

    /// # Errors
    /// [`QuotaError::Disk`] below the floor.
    pub fn check(&self) -> Result<(), QuotaError> {
        match self.state() {
            Some(DiskState { space, floor, is_full: true }) => {
                Err(QuotaError::Disk { free: space.free, floor })
            }
            _ => Ok(()),
        }
    }

    /// Blocks while a disk does not answer.
    pub fn look(&self) {
        let (disks, floor, before) = {
            let watched = self.watched();
            (watched.disks.clone(), watched.floor, watched.state)
        };
        let was_full = before.is_some_and(|state| state.is_full);
        let spaces = disks.iter().filter_map(|disk| {
            let space = disk.space();
            space.inspect_err(|error| tracing::warn!(%error, "free disk space is unknown")).ok()
        });
        let states = spaces.map(|space| DiskState::of(space, floor, was_full));
        let state = states.min_by_key(DiskState::margin);
        self.watched().state = state;
        let is_full = state.is_some_and(|state| state.is_full);
        if is_full == was_full {
            return;
        }
        let (free, floor) = state.map_or((0, 0), |state| (state.space.free, state.floor));
        match is_full {
            true => tracing::error!(
                "only {} of the disk are free, less than {}: nothing is added until there is room",
                in_words(free),
                in_words(floor)
            ),
            false => tracing::info!("the disk has room again: adding goes on"),
        }
    }

    /// Looks until the process ends.
    pub async fn keep_looking(self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let watch = self.clone();
            tokio::task::spawn_blocking(move || watch.look()).await.ok();
        }
    }

    fn watched(&self) -> MutexGuard<'_, WatchedDisks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_floor_is_the_smaller_of_a_share_and_a_gibibyte_and_writing_goes_on_a_quarter_above() {
        let (small, large) = (10 * GIB, 10_000 * GIB);
        for (total, floor, was_full, free, is_full) in [
            (small, None, false, GIB / 2, false),
            (small, None, false, GIB / 2 - 1, true),
            (small, None, true, GIB / 2, true),
            (small, None, true, GIB / 8 * 5, false),
            (large, None, false, GIB, false),
            (large, None, false, GIB - 1, true),
            (large, None, true, GIB / 4 * 5 - 1, true),
            (large, None, true, GIB / 4 * 5, false),
            (large, Some(0), false, 0, false),
            (large, Some(u64::MAX), false, large, true),
        ] {
            let state = DiskState::of(DiskSpace { free, total }, floor, was_full);
            assert_eq!(state.is_full, is_full, "{free} of {total}, {floor:?}, {was_full}");
        }
    }
}
