//! Durable atomic file writes, and folders with a known mode.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::{PostgresError, failed_to};

/// Creates a folder with exactly this mode, whatever the umask; an existing one is changed to it. The parent
/// must not belong to another user, who could put a symlink in its place.
pub(super) fn make_dir(path: &Path, mode: u32) -> Result<(), PostgresError> {
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(failed_to("make the folder", path))
}

/// Writes a file atomically: after a power cut it is either complete or missing.
pub(super) fn write_durably(path: &Path, mode: u32, text: &str) -> Result<(), PostgresError> {
    let unfinished = path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(true).mode(mode);
        let mut file = options.open(&unfinished)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        path.parent().map_or(Ok(()), sync_dir)
    };
    write().map_err(failed_to("write", path))
}

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn read_if_there(path: &Path) -> Result<Option<String>, PostgresError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(failed_to("read", path)),
    }
}
