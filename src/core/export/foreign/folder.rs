//! A folder of files, as `keepsake import --folder` gets it. Links are not followed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use time::OffsetDateTime;

use super::collection::{ENTRIES_MAX, ListedFile, Unreadable, is_hidden};
use super::{ForeignReader, ReadResult};

const DEPTH_MAX: usize = 32;

impl ForeignReader<'_> {
    /// # Errors
    /// The folder cannot be read, or nobody wants more.
    pub fn read_folder(&mut self, root: &Path) -> ReadResult {
        let (mut listed, mut files, mut beyond) = (Vec::new(), Vec::new(), 0);
        list(root, root, 0, &mut |path, file, about| {
            if listed.len() >= ENTRIES_MAX {
                beyond += 1;
                return;
            }
            listed.push(ListedFile {
                path,
                packed_bytes: about.len(),
                modified: about.modified().ok().map(OffsetDateTime::from),
                at: files.len(),
            });
            files.push(file);
        })?;
        self.read_collection(listed, beyond, false, |at, most| {
            let file = fs::File::open(&files[at]).map_err(|_| Unreadable::Damaged)?;
            let mut bytes = Vec::new();
            let read = file.take(most + 1).read_to_end(&mut bytes);
            match read {
                Ok(_) if bytes.len() as u64 > most => Err(Unreadable::TooLong),
                Ok(_) => Ok(bytes),
                Err(_) => Err(Unreadable::Damaged),
            }
        })
    }
}

/// Files below, by name; hidden folders are listed as one entry each.
fn list(
    root: &Path,
    folder: &Path,
    depth: usize,
    each: &mut impl FnMut(String, PathBuf, fs::Metadata),
) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for entry in entries {
        let Ok(about) = fs::symlink_metadata(&entry) else {
            continue;
        };
        let names = entry.strip_prefix(root).unwrap_or(&entry).components();
        let names: Vec<_> = names.map(|name| name.as_os_str().to_string_lossy()).collect();
        let path = names.join("/");
        match about.is_dir() {
            true if is_hidden(&path) => each(path, entry, about),
            true if depth < DEPTH_MAX => list(root, &entry, depth + 1, each)?,
            true => {}
            false if about.is_file() => each(path, entry, about),
            false => {}
        }
    }
    Ok(())
}
