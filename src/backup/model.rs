//! What a backup is: its manifest, and why one cannot be made, read or restored.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::db::DatabaseError;
use crate::erasure::ErasureError;

/// Of the file's layout. A reader refuses a higher one.
pub const FORMAT: u32 = 1;

/// The first entry of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// The version of Keepsake that made it.
    pub keepsake: String,
    /// The newest migration of its schema.
    pub schema: i64,
    /// The major version of the pg_dump that wrote it.
    pub postgres: u32,
    #[serde(with = "time::serde::rfc3339")]
    pub made_at: OffsetDateTime,
    /// Rows of each table, as `schema.table`, counted in the snapshot that was dumped.
    pub rows: BTreeMap<String, i64>,
}

impl Manifest {
    pub fn rows_total(&self) -> i64 {
        self.rows.values().sum()
    }
}

/// How far a backup or a restore is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    /// Rows of a backup, bytes of a check or a restore.
    pub done: u64,
    pub total: u64,
}

/// Each message says what to do. None holds content or a password.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} exists already: give another name, or --force to replace it", .0.display())]
    Exists(PathBuf),
    #[error("cannot {doing} {}: {source}", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a backup of Keepsake: give a file that `keepsake backup` wrote", .0.display())]
    NotABackup(PathBuf),
    #[error("{} is damaged or incomplete ({what}): restore another backup", .path.display())]
    Damaged { path: PathBuf, what: &'static str },
    #[error(
        "{} was made by Keepsake {keepsake}, which is newer than this program: restore it with that version", .path.display()
    )]
    Newer { path: PathBuf, keepsake: String },
    #[error("there is no {program}: install the client programs of PostgreSQL {needed}")]
    NoProgram { program: &'static str, needed: String },
    /// pg_restore of PostgreSQL 17 and newer cannot restore into an older server.
    #[error(
        "{program} is of PostgreSQL {found}, and this server needs {needed}: install those client programs and put them into PATH"
    )]
    WrongProgram { program: &'static str, found: u32, needed: String },
    #[error(
        "this backup was made by pg_dump of PostgreSQL {dumped_by}, which a server of PostgreSQL {server} cannot load: restore it into PostgreSQL 17 or newer"
    )]
    ServerTooOld { dumped_by: u32, server: u32 },
    #[error("{program} failed: {said}")]
    ProgramFailed { program: &'static str, said: String },
    #[error(
        "this database is distributed by Citus, whose servers a backup of one does not hold: back up each of them with PostgreSQL's own tools (docs/scaling.md)"
    )]
    Distributed,
    #[error("this server has accounts already: restore into an empty one")]
    NotEmpty,
    #[error("other processes use this database: stop Keepsake's servers and commands first")]
    InUse,
    #[error(
        "the table {table} has {restored} rows and had {dumped}: the backup could not be read back completely"
    )]
    RowsDiffer { table: String, dumped: i64, restored: i64 },
    #[error(
        "a database named {0} exists, and Keepsake did not make it: rename or drop it, so that a backup can be verified there"
    )]
    CheckDatabaseTaken(String),
    #[error(
        "this role may not create databases, and a backup is verified in one: as a superuser run: ALTER ROLE {0} CREATEDB;"
    )]
    MayNotCreateDatabase(String),
    #[error(
        "a new database has no extension {0} and this role may not make it: as a superuser run in the database template1: CREATE EXTENSION {0};"
    )]
    NoExtensionInNewDatabase(&'static str),
    #[error(
        "{} has {free_mb} MB free and a backup may need {needed_mb}: free some space, or name another folder in KEEPSAKE_BACKUP_DIR", .folder.display()
    )]
    NoSpace { folder: PathBuf, free_mb: u64, needed_mb: u64 },
    #[error(
        "{} has none of the {backups} backups that were there, and no erasures.jsonl: mount its disk; if the folder is a new one, copy erasures.jsonl into it from the old, or create an empty one", .folder.display()
    )]
    OtherFolder { folder: PathBuf, backups: usize },
    #[error("there is no backup to verify in {}", .0.display())]
    Nothing(PathBuf),
    #[error(
        "{0}; and what was loaded could not be removed again: drop this database, and restore into an empty one"
    )]
    NotCleared(String),
    #[error("what was erased since the backup could not be erased again")]
    Erasure(#[from] ErasureError),
    #[error("line {line} of {} is not an erasure: mend or remove it", .path.display())]
    BadErasure { path: PathBuf, line: usize },
    #[error("it took longer than {0} hours")]
    TooSlow(u64),
    #[error("it was interrupted")]
    Interrupted,
    #[error(transparent)]
    Prepare(#[from] DatabaseError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// For `map_err`: adds the action and the path to an I/O error.
pub(super) fn failed_to(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    move |source| BackupError::Io { doing, path: path.to_path_buf(), source }
}
