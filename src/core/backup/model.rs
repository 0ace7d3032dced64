//! What a backup is: its manifest, and why one cannot be made, read or restored.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::accounts::AccountError;
use crate::db::DatabaseError;
use crate::erasure::ErasureError;

/// Of the file's layout. A reader refuses a higher one; 1, of version 0.2.0, is not signed.
pub const FORMAT: u32 = 2;

pub const ERASURES: &str = "erasures.jsonl";

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
    /// The MAC of the last line of `erasures.jsonl` that was written when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasures: Option<String>,
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
    #[error("what was revoked since the backup could not be revoked again")]
    Revocation(#[from] AccountError),
    #[error("line {line} of {} is no line of Keepsake: mend or remove it", .path.display())]
    BadErasure { path: PathBuf, line: usize },
    #[error(
        "{} is not signed, as all backups of version 0.2.0, so that anybody may have changed it: restore one that is, or give --unsigned if you know that nobody has", .0.display()
    )]
    Unsigned(PathBuf),
    #[error(
        "{} was signed with another secret key: put the key of the server that made it into the data folder or KEEPSAKE_SECRET_KEY, and keys from before a rotation into KEEPSAKE_SECRET_KEYS_OLD; or give --unsigned if you know that nobody has changed the file", .0.display()
    )]
    OtherKey(PathBuf),
    #[error(
        "{} was changed after it was made: its signature does not fit; restore another backup (--unsigned takes it all the same)", .0.display()
    )]
    Forged(PathBuf),
    #[error(
        "there is no secret key to check the backup with: put that of the lost server into {} or KEEPSAKE_SECRET_KEY; without it, --unsigned restores unchecked", .0.display()
    )]
    NoSecretKey(PathBuf),
    #[error(
        "{} lacks lines that there were when this backup or a newer one beside it was made: give the complete file with --erasures; or give --unsigned, and what the missing lines erased or revoked is back", .path.display()
    )]
    ErasuresLack { path: PathBuf },
    #[error(
        "line {line} of {} is not signed: remove it if this server has not written it, or give --unsigned", .path.display()
    )]
    ErasureUnsigned { path: PathBuf, line: usize },
    #[error(
        "line {line} of {} was signed with another secret key: put keys from before a rotation into KEEPSAKE_SECRET_KEYS_OLD, or give --unsigned", .path.display()
    )]
    ErasureOtherKey { path: PathBuf, line: usize },
    #[error(
        "line {line} of {} was changed, or lines before it are missing: give the file as the server wrote it with --erasures, or give --unsigned", .path.display()
    )]
    ErasureForged { path: PathBuf, line: usize },
    #[error(
        "{} is of the schema {schema}, which no version of Keepsake has: restore another backup", .path.display()
    )]
    UnknownSchema { path: PathBuf, schema: i64 },
    #[error(
        "PostgreSQL does not let the role {role} sign in, as which a backup is loaded without a superuser's rights ({why}): allow roles with a password in pg_hba.conf, or restore as a role that is no superuser (docs/backup.md)"
    )]
    LoaderRefused { role: String, why: String },
    #[error("it took longer than {0} hours")]
    TooSlow(u64),
    #[error("it was interrupted")]
    Interrupted,
    #[error(transparent)]
    Prepare(#[from] DatabaseError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl BackupError {
    /// Whether the file may be whole, and only nobody vouches for it.
    pub(super) fn is_of_trust(&self) -> bool {
        matches!(
            self,
            Self::Unsigned(_)
                | Self::OtherKey(_)
                | Self::Forged(_)
                | Self::NoSecretKey(_)
                | Self::ErasuresLack { .. }
                | Self::ErasureUnsigned { .. }
                | Self::ErasureOtherKey { .. }
                | Self::ErasureForged { .. }
        )
    }
}

/// For `map_err`: adds the action and the path to an I/O error.
pub(super) fn failed_to(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    move |source| BackupError::Io { doing, path: path.to_path_buf(), source }
}
