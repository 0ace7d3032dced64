//! `erasures.jsonl` beside the backups: what a restore of an older one repeats. The job appends each note as a line with a
//! MAC over it and the MAC of the line before, so that a changed, added or missing line shows.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use time::Duration;

use super::file::{BackupFile, sync_folder_of};
use super::model::{BackupError, ERASURES, failed_to};
use super::{folder, signature, store};
use crate::db::Db;
use crate::replay::{self, Note};
use crate::seal::{MacRefusal, Sealer};

/// Notes that are written at once.
const NOTES_AT_ONCE: i64 = 1_000;
/// More than what is appended at once.
const TAIL_MAX_BYTES: u64 = 1 << 20;
/// An act is noted with the time at which it began. One that began this long before a backup has ended before it.
const ACT_MAX: Duration = Duration::hours(1);
/// How a line goes on behind what is signed.
const BEFORE_MAC: &str = ",\"mac\":\"";

/// Gives lines to `write` and deletes their notes when it has succeeded. Returns how many; a batch at most.
///
/// The MACs are stored first: after a crash the same lines are written again. What the database calls the last line is in
/// the file.
pub(super) async fn drain(
    db: &Db,
    sealer: &Sealer,
    write: impl AsyncFnOnce(String) -> Result<(), BackupError>,
) -> Result<usize, BackupError> {
    let mut tx = db.as_system().await?;
    let mut last = store::last_mac(&mut tx).await?.unwrap_or_default();
    let notes = replay::store::list(&mut tx, NOTES_AT_ONCE).await?;
    if notes.is_empty() {
        return Ok(0);
    }
    let (mut rows, mut macs, mut lines) = (Vec::new(), Vec::new(), String::new());
    for stored in notes {
        let line = serde_json::to_string(&stored.note).unwrap_or_default();
        last = stored.mac.unwrap_or_else(|| signature::sign_note(sealer, &last, &line));
        let open = line.strip_suffix('}').unwrap_or_default();
        lines += &format!("{open}{BEFORE_MAC}{last}\"}}\n");
        rows.push(stored.row);
        macs.push(last.clone());
    }
    replay::store::set_macs(&mut tx, &rows, &macs).await?;
    tx.commit().await?;
    write(lines).await?;
    let mut tx = db.as_system().await?;
    replay::store::remove(&mut tx, &rows).await?;
    store::set_last_mac(&mut tx, &last).await?;
    tx.commit().await?;
    Ok(rows.len())
}

/// Appends whole lines, durably.
pub(super) fn append(folder: &Path, lines: &str) -> Result<(), BackupError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(failed_to("make the folder", folder))?;
    let path = folder.join(ERASURES);
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    let opened =
        options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let written = opened.and_then(|mut file| {
        // A crash in the middle of a line: it is among these again.
        let end = end_of_lines(&mut file)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(lines.as_bytes())?;
        file.sync_all()
    });
    written.map_err(failed_to("write", &path))?;
    if is_new {
        sync_folder_of(&path)?;
    }
    Ok(())
}

/// After the last line that is whole.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let begin = bytes.saturating_sub(TAIL_MAX_BYTES);
    file.seek(SeekFrom::Start(begin))?;
    let mut tail = Vec::new();
    file.take(TAIL_MAX_BYTES).read_to_end(&mut tail)?;
    let last = tail.iter().rposition(|byte| *byte == b'\n');
    Ok(begin + last.map_or(0, |at| at as u64 + 1))
}

/// The file, as it was read.
pub struct ErasuresFile {
    path: PathBuf,
    /// With their numbers in the file, from 1.
    lines: Vec<(usize, ErasureLine)>,
}

struct ErasureLine {
    note: Note,
    /// Without the MAC.
    signed: String,
    /// Empty if it has none.
    mac: String,
}

impl ErasureLine {
    fn parse(text: &str) -> Option<Self> {
        let note = serde_json::from_str(text).ok()?;
        let parts = text.strip_suffix("\"}").and_then(|text| text.rsplit_once(BEFORE_MAC));
        let (signed, mac) = match parts {
            Some((open, mac)) => (format!("{open}}}"), mac.to_owned()),
            None => (text.to_owned(), String::new()),
        };
        Some(Self { note, signed, mac })
    }
}

/// What a restore repeats, and the MAC of the last line if all were checked.
#[derive(Default)]
pub struct ErasuresSince {
    pub notes: Vec<Note>,
    pub last_mac: Option<String>,
}

impl ErasuresFile {
    /// A missing file has no lines. A last line that was cut off by a crash is skipped.
    pub fn read(path: &Path) -> Result<Self, BackupError> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(failed_to("read", path))?,
        };
        let (mut lines, mut bad) = (Vec::new(), None);
        for (n, text) in text.lines().enumerate() {
            if let Some(line) = bad {
                return Err(BackupError::BadErasure { path: path.to_path_buf(), line });
            }
            match ErasureLine::parse(text) {
                Some(line) => lines.push((n + 1, line)),
                None if text.trim().is_empty() => {}
                None => bad = Some(n + 1),
            }
        }
        Ok(Self { path: path.to_path_buf(), lines })
    }

    pub fn is_there(&self) -> bool {
        self.path.exists()
    }

    /// What a backup may lack, by the time alone: nothing is checked.
    pub fn unchecked(&self, backup: &BackupFile) -> ErasuresSince {
        let since = backup.manifest.made_at - ACT_MAX;
        let notes = self.lines.iter().map(|(_, line)| line.note.clone());
        let notes = notes.filter(|note| note.at > since).collect();
        ErasuresSince { notes, last_mac: None }
    }

    /// What was noted after the last line that the backup knows: all lines from there on are this server's, and none of
    /// them is missing, up to the last that a newer backup beside the file knows.
    ///
    /// # Errors
    /// [`BackupError::ErasuresLack`], [`BackupError::ErasureUnsigned`], [`BackupError::ErasureOtherKey`],
    /// [`BackupError::ErasureForged`].
    pub fn since(
        &self,
        backup: &BackupFile,
        sealer: &Sealer,
    ) -> Result<ErasuresSince, BackupError> {
        let known = backup.manifest.erasures.as_deref();
        let lacks = || BackupError::ErasuresLack { path: self.path.clone() };
        let begin = match known {
            None => 0,
            Some(mac) => {
                let found = self.lines.iter().position(|(_, line)| line.mac == mac);
                found.ok_or_else(lacks)? + 1
            }
        };
        let mut seen: HashSet<&str> =
            self.lines[..begin].iter().map(|(_, line)| &*line.mac).collect();
        let (mut before, mut notes) = (known.unwrap_or_default(), Vec::new());
        for (n, line) in &self.lines[begin..] {
            let (path, n) = (self.path.clone(), *n);
            if line.mac.is_empty() {
                // Version 0.2.0 signed none, and wrote none after the first that is signed.
                if known.is_none() && seen.is_empty() && line.note.at <= backup.manifest.made_at {
                    continue;
                }
                return Err(BackupError::ErasureUnsigned { path, line: n });
            }
            // Written again after a crash.
            if seen.contains(&*line.mac) {
                continue;
            }
            match signature::check_note(sealer, before, &line.signed, &line.mac) {
                Ok(()) => notes.push(line.note.clone()),
                Err(MacRefusal::OtherKey) => {
                    return Err(BackupError::ErasureOtherKey { path, line: n });
                }
                Err(MacRefusal::Wrong) => {
                    return Err(BackupError::ErasureForged { path, line: n });
                }
            }
            before = &line.mac;
            seen.insert(before);
        }
        let newer = folder::known_to_newer(&self.path, sealer, backup.manifest.made_at);
        match newer.iter().all(|mac| seen.contains(&**mac)) {
            true => Ok(ErasuresSince { notes, last_mac: Some(before.to_owned()) }),
            false => Err(lacks()),
        }
    }
}

/// The file beside a backup, where nobody names another.
pub fn erasures_beside(backup: &Path) -> PathBuf {
    backup.with_file_name(ERASURES)
}
