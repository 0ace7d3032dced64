//! The backup folder: which files are kept, and how much disk a backup needs.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration as StdDuration;

use time::format_description::BorrowedFormatItem;
use time::macros::{format_description, time};
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

use super::file::{BackupFile, UNFINISHED};
use super::model::{BackupError, ERASURES, failed_to};
use crate::seal::Sealer;

/// Newest first, whenever they were made.
const KEPT_ALWAYS: usize = 3;
/// The newest of each day, and of each week of seven days.
const KEPT_DAYS: usize = 7;
const KEPT_WEEKS: usize = 4;
/// Beside twice the size of the last backup.
const FREE_MIN_BYTES: u64 = 256 << 20;
/// What a killed server left unfinished.
const UNFINISHED_KEPT: StdDuration = StdDuration::from_secs(24 * 3_600);
/// Of a backup that the job makes, in UTC.
const NAME: &[BorrowedFormatItem<'_>] =
    format_description!("keepsake-[year]-[month]-[day]T[hour][minute][second]Z.tar");

/// The last time that a nightly backup was due: 02:30 UTC.
pub(super) fn last_night(now: OffsetDateTime) -> OffsetDateTime {
    let tonight = now.to_offset(time::UtcOffset::UTC).replace_time(time!(2:30));
    match tonight <= now {
        true => tonight,
        false => tonight - Duration::days(1),
    }
}

/// The next time that a nightly backup is due.
pub fn next_night(now: OffsetDateTime) -> OffsetDateTime {
    last_night(now) + Duration::days(1)
}

pub(super) fn name_for(now: OffsetDateTime) -> String {
    let name = now.to_offset(time::UtcOffset::UTC).format(NAME);
    name.unwrap_or_default()
}

/// Whether the job gave it this name: what a person put there under another one stays.
fn is_ours(name: &str) -> bool {
    PrimitiveDateTime::parse(name, NAME).is_ok_and(|at| name_for(at.assume_utc()) == name)
}

/// Names of files that rotation removes, of all backups in the folder.
pub(super) fn superfluous(mut all: Vec<(String, OffsetDateTime)>) -> Vec<String> {
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
    let (mut days, mut weeks) = (BTreeSet::new(), BTreeSet::new());
    let mut removed = Vec::new();
    for (rank, (name, made_at)) in all.into_iter().enumerate() {
        let day = made_at.to_offset(time::UtcOffset::UTC).date().to_julian_day();
        let of_day = days.len() < KEPT_DAYS && days.insert(day);
        let of_week = weeks.len() < KEPT_WEEKS && weeks.insert(day.div_euclid(7));
        if rank >= KEPT_ALWAYS && !of_day && !of_week {
            removed.push(name);
        }
    }
    removed
}

/// The folder with its backups. All of its functions block.
pub(super) struct BackupFolder<'a>(pub(super) &'a Path);

impl BackupFolder<'_> {
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// An error if this cannot be the folder with the backups of these names, such as the place of a disk that is not mounted:
    /// erasures that are written there would be missing when an older backup is restored.
    pub(super) fn must_be_that_of(&self, names: &[String]) -> Result<(), BackupError> {
        let is_there = |name: &str| self.path_of(name).exists();
        match names.is_empty() || is_there(ERASURES) || names.iter().any(|name| is_there(name)) {
            true => Ok(()),
            false => {
                Err(BackupError::OtherFolder { folder: self.0.to_path_buf(), backups: names.len() })
            }
        }
    }

    /// Creates the folder if it is missing, for its owner only, and checks the free disk.
    pub(super) fn prepare(&self, last_bytes: u64) -> Result<(), BackupError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(self.0);
        made.map_err(failed_to("make the folder", self.0))?;
        let disk = rustix::fs::statvfs(self.0)
            .map_err(|error| failed_to("look into", self.0)(error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let needed = last_bytes.saturating_mul(2).saturating_add(FREE_MIN_BYTES);
        match free >= needed {
            true => Ok(()),
            false => Err(BackupError::NoSpace {
                folder: self.0.to_path_buf(),
                free_mb: free >> 20,
                needed_mb: needed >> 20,
            }),
        }
    }

    /// Backups that can be read; a missing folder has none. `known` ones are not read again.
    pub(super) fn list(&self, known: &BTreeSet<String>) -> Result<FolderListing, BackupError> {
        let mut listing = FolderListing::default();
        let entries = match fs::read_dir(self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(listing),
            entries => entries.map_err(failed_to("look into", self.0))?,
        };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.starts_with(UNFINISHED) && is_old(&entry.path()) {
                fs::remove_file(entry.path()).ok();
            } else if is_ours(&name) && known.contains(&name) {
                listing.known.insert(name);
            } else if is_ours(&name)
                && let Ok(file) = BackupFile::open(&entry.path())
            {
                listing.found.push((name, file));
            }
        }
        Ok(listing)
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), BackupError> {
        let path = self.path_of(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed_to("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Default)]
pub(super) struct FolderListing {
    pub(super) known: BTreeSet<String>,
    pub(super) found: Vec<(String, BackupFile)>,
}

fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|about| about.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > UNFINISHED_KEPT))
}

/// The last lines of `erasures.jsonl` that backups beside it know which this server has signed, and made after this time.
pub(super) fn known_to_newer(
    erasures: &Path,
    sealer: &Sealer,
    made_at: OffsetDateTime,
) -> Vec<String> {
    let folder = erasures.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let backups = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "tar"))
        .filter_map(|path| BackupFile::open(&path).ok())
        .filter(|file| file.manifest.made_at > made_at && file.check_signature(sealer).is_ok());
    backups.filter_map(|file| file.manifest.erasures).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn rotation_keeps_three_a_week_of_days_and_four_weeks() {
        let now = datetime!(2026-12-31 02:30 UTC);
        let nightly: Vec<_> =
            (0..60).map(|ago| (format!("{ago:02}"), now - Duration::days(ago))).collect();
        let removed = superfluous(nightly.clone());
        let kept: Vec<&str> = nightly
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !removed.iter().any(|gone| gone == name))
            .collect();
        assert_eq!(kept.len(), KEPT_DAYS + KEPT_WEEKS - 2, "{kept:?}");
        assert_eq!(&kept[..7], ["00", "01", "02", "03", "04", "05", "06"]);
        // Made by hand on one day: three, and one of each earlier day.
        let by_hand = (0..10).map(|n| (format!("h{n}"), now - Duration::minutes(n)));
        let removed =
            superfluous(by_hand.chain([("old".to_owned(), now - Duration::days(1))]).collect());
        assert_eq!(removed, ["h3", "h4", "h5", "h6", "h7", "h8", "h9"]);
        assert!(superfluous(Vec::new()).is_empty());
    }

    #[test]
    fn a_night_is_at_half_past_two() {
        let night = datetime!(2026-12-31 02:30 UTC);
        assert_eq!(last_night(night), night);
        assert_eq!(last_night(night - Duration::SECOND), night - Duration::DAY);
        assert_eq!(next_night(night), night + Duration::DAY);
        let name = name_for(night);
        assert_eq!(name, "keepsake-2026-12-31T023000Z.tar");
        assert!(is_ours(&name));
        for theirs in [
            "keepsake-before-0.3.tar",
            "keepsake-2026-12-31T023000Z-old.tar",
            "keepsake-2026-13-31T023000Z.tar",
            "keepsake-+2026-12-31T023000Z.tar",
            "keepsake-.tar",
        ] {
            assert!(!is_ours(theirs), "{theirs}");
        }
    }
}
