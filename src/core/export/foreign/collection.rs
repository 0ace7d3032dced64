//! Many files at once, of an archive or a folder: which are read, in which order, and what is said of the others.

use time::OffsetDateTime;

use super::{FILE_BYTES_MAX, ForeignReader, NOT_A_FORM, ReadResult, WHOLE_FILE, ending_of};
use crate::documents::CONTENT_BYTES_MAX;
use crate::input::Invalid;
use crate::memories::mentions::normal::visible;

/// Files of an archive or folder that are imported.
pub const ENTRIES_MAX: usize = 20_000;
/// Unpacked bytes of all files of an archive or folder.
pub const UNPACKED_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Of a path in a report.
const SHOWN_CHARS_MAX: usize = 200;

/// A file of an archive or folder.
pub struct ListedFile {
    /// With slashes, relative.
    pub path: String,
    pub packed_bytes: u64,
    pub modified: Option<OffsetDateTime>,
    /// Its number for whoever reads it.
    pub at: usize,
}

/// Why the bytes of a file cannot be had.
pub enum Unreadable {
    Damaged,
    TooLong,
}

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    /// Becomes a document.
    Note,
    /// May hold memories.
    Data,
    Hidden,
    Other,
}

/// What programs keep for themselves.
pub fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| {
        name.starts_with('.')
            || ["__MACOSX", "Thumbs.db", "desktop.ini", "node_modules"].contains(&name)
    })
}

/// A path for a report: without what cannot be seen, not too long.
pub fn shown_path(path: &str) -> String {
    visible(path).chars().filter(|c| !c.is_control()).take(SHOWN_CHARS_MAX).collect()
}

fn kind_of(path: &str) -> FileKind {
    if is_hidden(path) {
        return FileKind::Hidden;
    }
    match ending_of(path.trim_end_matches(".gz")).as_str() {
        "md" | "markdown" | "txt" => FileKind::Note,
        "json" | "jsonl" | "ndjson" | "csv" | "tsv" => FileKind::Data,
        _ => FileKind::Other,
    }
}

/// `projects.json` and `projects/…` of Claude: names that its memories refer to.
fn is_read_first(path: &str) -> bool {
    let mut names = path.rsplit('/');
    names.any(|name| name == "projects" || name.starts_with("projects") && name.ends_with(".json"))
}

impl ForeignReader<'_> {
    /// `beyond`: files that are not listed. `has_folder`: the folder around all files is not part of their paths.
    pub(super) fn read_collection(
        &mut self,
        mut listed: Vec<ListedFile>,
        beyond: u64,
        has_folder: bool,
        mut read: impl FnMut(usize, u64) -> Result<Vec<u8>, Unreadable>,
    ) -> ReadResult {
        let around = if has_folder { around(&listed) } else { String::new() };
        let readable = listed
            .iter()
            .filter(|one| matches!(kind_of(&one.path), FileKind::Note | FileKind::Data));
        let is_alone = readable.count() == 1;
        listed.sort_by_key(|one| !is_read_first(&one.path));
        let (mut hidden, mut known, mut unpacked) = (0u64, 0u64, 0u64);
        for one in &listed {
            let path = one.path.strip_prefix(&around).unwrap_or(&one.path);
            self.bytes += one.packed_bytes;
            let kind = kind_of(&one.path);
            if kind == FileKind::Hidden {
                hidden += 1;
                continue;
            }
            let shown = shown_path(path);
            if kind == FileKind::Other {
                self.skip(&shown, "Files of this kind are not imported.")?;
                continue;
            }
            let most = match kind {
                FileKind::Note if !is_alone => CONTENT_BYTES_MAX as u64,
                _ => FILE_BYTES_MAX,
            };
            let bytes = match read(one.at, most) {
                Ok(bytes) => bytes,
                Err(unreadable) => {
                    let sentence = match unreadable {
                        Unreadable::Damaged => "It is damaged, or cannot be read.".to_owned(),
                        Unreadable::TooLong => {
                            format!("It has over {} MiB, which is the most.", most >> 20)
                        }
                    };
                    self.refuse(&shown, Invalid::new("file", "invalid_file", sentence))?;
                    unpacked += if matches!(unreadable, Unreadable::TooLong) { most } else { 0 };
                    known += 1;
                    continue;
                }
            };
            unpacked += bytes.len() as u64;
            self.cost += bytes.len() as u64;
            if unpacked > UNPACKED_BYTES_MAX {
                let sentence = format!(
                    "Its files have over {} MiB, which is the most; what follows is not read.",
                    UNPACKED_BYTES_MAX >> 20
                );
                self.refuse(WHOLE_FILE, Invalid::new("file", "too_long", sentence))?;
                break;
            }
            self.path = (!is_alone).then(|| shown.clone());
            let is_known = match kind {
                FileKind::Note if !is_alone => self.read_note_file(path, bytes, one.modified),
                _ => self.read_bytes(Some(path), bytes),
            };
            self.path = None;
            match is_known? {
                true => known += 1,
                false => self.skip(&shown, "It is in no form that is known here.")?,
            }
        }
        if hidden > 0 {
            let sentence = format!("{hidden} hidden files or folders are not imported.");
            self.skip(WHOLE_FILE, sentence)?;
        }
        if beyond > 0 {
            let sentence =
                format!("{beyond} more files are not read: {ENTRIES_MAX} at once are the most.");
            self.refuse(WHOLE_FILE, Invalid::new("file", "too_many", sentence))?;
        }
        if known == 0 {
            self.refuse(WHOLE_FILE, Invalid::new("file", "unknown_form", NOT_A_FORM))?;
        }
        self.finish()
    }
}

/// The folder, with its slash, that is around all files that are not hidden.
fn around(listed: &[ListedFile]) -> String {
    let mut paths = listed.iter().map(|one| &one.path).filter(|path| !is_hidden(path));
    let first = paths.next().and_then(|path| path.split_once('/'));
    let folder = first.map(|(first, _)| format!("{first}/")).unwrap_or_default();
    if paths.all(|path| path.starts_with(&folder)) { folder } else { String::new() }
}
