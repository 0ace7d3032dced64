//! Ownership of a data folder: an advisory lock on a file in it, held while a server lives and released by
//! the kernel however it ends. The content of the file must never be used: the process id in it is for
//! people.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{PostgresError, failed_to};

const LOCK_FILE: &str = "keepsake.lock";
const COMMANDS_FILE: &str = "commands.lock";
/// A command that only checks holds the lock for microseconds, and a server that is ending for a moment.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A data folder that this process owns. The file is closed on exec, so that PostgreSQL cannot inherit it and
/// hold the lock after we have ended.
#[derive(Debug)]
pub(super) struct FolderLock {
    /// The canonical path of the data folder.
    pub(super) data_dir: PathBuf,
    _file: File,
}

impl FolderLock {
    /// Creates the folder if it is missing, and takes its lock.
    pub(super) async fn take(data_dir: &Path) -> Result<Self, PostgresError> {
        make_folder(data_dir)?;
        let data_dir = data_dir.canonicalize().map_err(failed_to("find", data_dir))?;
        let file = take_lock(&data_dir.join(LOCK_FILE), &data_dir).await?;
        Ok(Self { data_dir, _file: file })
    }

    /// Whether another process owns the folder at this moment.
    pub(super) fn is_held_by_another(data_dir: &Path) -> Result<bool, PostgresError> {
        let path = data_dir.join(LOCK_FILE);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(failed_to("open", &path))?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(failed_to("lock", &path)(error)),
        }
    }
}

/// Shared by the commands that use the folder's PostgreSQL, so that the one that started it stops it after the last.
#[derive(Debug)]
pub struct CommandLock {
    path: PathBuf,
    file: File,
}

impl CommandLock {
    /// Creates the folder if it is missing. Waits while another command stops PostgreSQL.
    ///
    /// # Errors
    /// If the lock's file cannot be made or locked.
    pub async fn share(data_dir: &Path) -> Result<Self, PostgresError> {
        make_folder(data_dir)?;
        let path = data_dir.join(COMMANDS_FILE);
        // Reading suffices for a lock: root may have made the file.
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => open_lock(&path, data_dir)?,
            opened => opened.map_err(failed_to("open", &path))?,
        };
        let lock = Self { path, file };
        lock.until(File::try_lock_shared).await?;
        Ok(lock)
    }

    /// Waits until no other command uses PostgreSQL. The next one waits until this lock is dropped.
    ///
    /// # Errors
    /// If the file cannot be locked.
    pub async fn alone(&self) -> Result<(), PostgresError> {
        match self.file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                tracing::info!(
                    "PostgreSQL runs on until the other commands that use it have ended"
                );
                self.until(File::try_lock).await
            }
            other => other.or_else(|error| self.failed(error)),
        }
    }

    async fn until(
        &self,
        attempt: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(), PostgresError> {
        loop {
            match attempt(&self.file) {
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
                other => return other.or_else(|error| self.failed(error)),
            }
        }
    }

    fn failed(&self, error: TryLockError) -> Result<(), PostgresError> {
        Err(failed_to("lock", &self.path)(error.into()))
    }
}

/// Takes the lock in `path` for the data folder `data_dir`, or says who has it.
pub(super) async fn take_lock(path: &Path, data_dir: &Path) -> Result<File, PostgresError> {
    let mut file = open_lock(path, data_dir)?;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if waited < LOCK_PATIENCE => {
                tokio::time::sleep(LOCK_PAUSE).await;
                waited += LOCK_PAUSE;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(PostgresError::Owned {
                    folder: data_dir.to_path_buf(),
                    pid: fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed_to("lock", path)(error)),
        }
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(failed_to("write", path))?;
    Ok(file)
}

fn open_lock(path: &Path, data_dir: &Path) -> Result<File, PostgresError> {
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o644)
        .open(path);
    match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(PostgresError::NotYours { folder: data_dir.to_path_buf() })
        }
        opened => opened.map_err(failed_to("open", path)),
    }
}

/// If root creates the folder, PostgreSQL's unprivileged user must be able to traverse it.
fn make_folder(data_dir: &Path) -> Result<(), PostgresError> {
    let is_root = rustix::process::geteuid().is_root();
    DirBuilder::new()
        .recursive(true)
        .mode(if is_root { 0o711 } else { 0o700 })
        .create(data_dir)
        .map_err(failed_to("make the data folder", data_dir))
}
