//! Imports through the page: the uploaded file is stored in the data folder, one per user at a time, and
//! imported in the background; a row holds the progress. The file has no name, so nothing of it remains when
//! the server stops. The row then says that the import was interrupted; it can be repeated without
//! duplicates.

mod store;

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use time::{Duration, OffsetDateTime};
use tokio::io::AsyncWriteExt;

use super::store::find_email;
use super::{FileOrigin, ImportOutcome, ImportReport, ImportSource, Importer, is_signed};
use crate::db::{Db, UserId};
use crate::embedding::Embeddings;
use crate::input::sentence;
use crate::quota::{QuotaError, estimate};

pub const UPLOAD_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Limit on what a form has around its file.
pub const FORM_BYTES_MAX: u64 = 64 * 1024;
/// Per server, each of at most [`UPLOAD_BYTES_MAX`].
const UPLOADS_AT_ONCE: usize = 8;
/// Per server: each keeps a database connection busy.
const IMPORTS_AT_ONCE: usize = 2;
/// Of each user: reports of older imports are forgotten.
const REPORTS_KEPT: i64 = 10;
/// Of a file's name: its end says what it is.
const NAME_CHARS_MAX: usize = 200;
/// A running import updates its row far more often.
const SILENT_AFTER: Duration = Duration::seconds(30);

#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    #[error("an import of yours is under way; wait until it is done")]
    UnderWay,
    #[error("another upload of yours is under way; wait until it is done")]
    Uploading,
    #[error("this server receives {UPLOADS_AT_ONCE} files right now; try again in a moment")]
    TooManyUploads,
    #[error("the file has over {} MiB, which is the most; on the server itself `keepsake import` takes any size", UPLOAD_BYTES_MAX / 1024 / 1024)]
    TooLarge,
    #[error(
        "the server has no room to put the file aside; nothing was taken in. Tell its admin, or try again later"
    )]
    NoRoom(#[source] std::io::Error),
    #[error("this server takes in {IMPORTS_AT_ONCE} files right now; try again in a moment")]
    TooMany,
    #[error("the file could not be read again; upload it once more")]
    File(#[source] std::io::Error),
    #[error(transparent)]
    Quota(#[from] QuotaError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    Running,
    Done,
    Failed,
    /// Its server stopped.
    Interrupted,
}

/// An import, as the page shows it.
#[derive(Clone, Debug)]
pub struct ImportStatus {
    pub id: i64,
    pub state: ImportState,
    pub bytes_total: u64,
    /// `None` until it is known, and for imports of earlier versions.
    pub origin: Option<FileOrigin>,
    pub outcome: ImportOutcome,
    /// There is a report to download.
    pub has_report: bool,
    /// Why it stopped.
    pub error: Option<String>,
    pub started_at: OffsetDateTime,
}

/// Cheap to clone; created once at the start.
#[derive(Clone)]
pub struct Imports {
    db: Db,
    embeddings: Embeddings,
    /// On disk, while the system's temporary folder is often a RAM disk.
    folder: PathBuf,
    uploading: Arc<Mutex<HashSet<UserId>>>,
    under_way: Arc<AtomicUsize>,
}

impl Imports {
    pub fn new(db: &Db, embeddings: &Embeddings, folder: PathBuf) -> Self {
        Self {
            db: db.clone(),
            embeddings: embeddings.clone(),
            folder,
            uploading: Arc::default(),
            under_way: Arc::default(),
        }
    }

    /// Checks the limits before anything of an upload is read. `declared_bytes` is the request's
    /// `Content-Length`.
    pub async fn admit(
        &self,
        user: UserId,
        declared_bytes: Option<u64>,
    ) -> Result<Upload, UploadError> {
        if declared_bytes.is_some_and(|bytes| bytes > UPLOAD_BYTES_MAX + FORM_BYTES_MAX) {
            return Err(UploadError::TooLarge);
        }
        let slot = UploadPermit::take(&self.uploading, user)?;
        self.embeddings.quota().take(user, estimate(0, 1)).await?;
        let last = self.last(user).await?;
        if last.is_some_and(|last| last.state == ImportState::Running) {
            return Err(UploadError::UnderWay);
        }
        let file = std::fs::create_dir_all(&self.folder)
            .and_then(|()| tempfile::tempfile_in(&self.folder))
            .map_err(UploadError::NoRoom)?;
        Ok(Upload { user, file: tokio::fs::File::from_std(file), name: None, bytes: 0, slot })
    }

    /// Starts to import the file in the background. `is_vouched`: the person says that its words are theirs.
    pub async fn begin(&self, upload: Upload, is_vouched: bool) -> Result<(), UploadError> {
        let Upload { user, file, name, bytes, slot: _slot } = upload;
        let mut file = file.into_std().await;
        file.rewind().map_err(UploadError::File)?;
        let turn = ImportPermit::take(&self.under_way).ok_or(UploadError::TooMany)?;
        let now = self.embeddings.now();
        let mut tx = self.db.as_user(user).await?;
        store::end_silent(&mut tx, user, now, now - SILENT_AFTER).await?;
        let id = store::insert(&mut tx, user, bytes as i64, now).await?;
        let id = id.ok_or(UploadError::UnderWay)?;
        let email = find_email(&mut tx, user).await?;
        tx.commit().await?;
        let imports = self.clone();
        tokio::spawn(async move {
            imports.run((user, email), id, (file, name), is_vouched).await;
            drop(turn);
        });
        Ok(())
    }

    async fn run(
        &self,
        (user, email): (UserId, Option<String>),
        id: i64,
        (file, name): (File, Option<String>),
        is_vouched: bool,
    ) {
        let sealer = self.embeddings.sealer().clone();
        let looked = tokio::task::spawn_blocking(move || {
            let email = email.unwrap_or_default();
            let is_signed = is_signed(BufReader::new(&file), &sealer, &email)?;
            (&file).rewind()?;
            Ok((file, is_signed))
        });
        let looked = looked.await.unwrap_or_else(|error| Err(error.into()));
        let (file, origin) = match looked {
            Ok((file, true)) => (file, FileOrigin::Signed),
            Ok((file, false)) if is_vouched => (file, FileOrigin::Vouched),
            Ok((file, false)) => (file, FileOrigin::Unknown),
            Err(error) => {
                return self.end(user, id, &sentence(&UploadError::File(error).to_string())).await;
            }
        };
        let noted = async {
            let mut tx = self.db.as_user(user).await?;
            store::set_origin(&mut tx, user, id, origin.as_str()).await?;
            tx.commit().await
        };
        let _: Result<(), sqlx::Error> = noted.await;
        let tell = |outcome: ImportOutcome| {
            let imports = self.clone();
            async move {
                imports.note(user, id, &outcome, false).await;
            }
        };
        let importer = Importer::new(&self.db, &self.embeddings, user, origin);
        let report = importer.report();
        match importer.run(ImportSource::File { file, name }, tell).await {
            Ok(outcome) => {
                self.note_report(user, id, &report, (&outcome, None)).await;
                self.note(user, id, &outcome, true).await;
            }
            Err(error) => {
                tracing::warn!(%error, "an import stopped");
                let error = sentence(&error.to_string());
                let last = self.last(user).await.ok().flatten();
                let outcome = last.map(|last| last.outcome).unwrap_or_default();
                self.note_report(user, id, &report, (&outcome, Some(&error))).await;
                self.end(user, id, &error).await;
            }
        }
    }

    /// Without it the import stays as it is.
    async fn note_report(
        &self,
        user: UserId,
        id: i64,
        report: &ImportReport,
        (outcome, error): (&ImportOutcome, Option<&str>),
    ) {
        let lines = report.lines(outcome, error);
        let noted = async {
            let mut tx = self.db.as_user(user).await?;
            store::set_report(&mut tx, user, id, &lines, REPORTS_KEPT).await?;
            tx.commit().await
        };
        let _: Result<(), sqlx::Error> = noted.await;
    }

    /// The report of an import, as JSON Lines; `None` if there is none, or it is another user's.
    pub async fn find_report(&self, user: UserId, id: i64) -> Result<Option<String>, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        let found = store::find_report(&mut tx, user, id).await?;
        tx.commit().await?;
        Ok(found)
    }

    /// If the row cannot be updated, the next batch does it, or the import is shown as interrupted.
    async fn note(&self, user: UserId, id: i64, outcome: &ImportOutcome, is_done: bool) {
        let note = async {
            let mut tx = self.db.as_user(user).await?;
            let now = self.embeddings.now();
            store::update(&mut tx, user, id, outcome, is_done, now).await?;
            tx.commit().await
        };
        let _: Result<(), sqlx::Error> = note.await;
    }

    async fn end(&self, user: UserId, id: i64, error: &str) {
        let end = async {
            let mut tx = self.db.as_user(user).await?;
            store::fail(&mut tx, user, id, error, self.embeddings.now()).await?;
            tx.commit().await
        };
        let _: Result<(), sqlx::Error> = end.await;
    }

    /// The user's latest import.
    pub async fn last(&self, user: UserId) -> Result<Option<ImportStatus>, sqlx::Error> {
        let found = self.db.for_user(user, store::find_last).await?;
        let silent_since = self.embeddings.now() - SILENT_AFTER;
        Ok(found.map(|row| {
            let state = match row.state.as_str() {
                "running" if row.updated_at < silent_since => ImportState::Interrupted,
                "running" => ImportState::Running,
                "done" => ImportState::Done,
                _ => ImportState::Failed,
            };
            ImportStatus {
                id: row.id,
                state,
                bytes_total: row.bytes_total as u64,
                origin: row.origin,
                outcome: ImportOutcome {
                    bytes: row.bytes_done as u64,
                    added: row.added as u64,
                    known: row.known as u64,
                    failed: row.failed as u64,
                    documents: row.documents as u64,
                    changed: row.changed as u64,
                    skipped: row.skipped as u64,
                    problems: serde_json::from_value(row.problems).unwrap_or_default(),
                },
                has_report: row.has_report,
                error: row.error,
                started_at: row.started_at,
            }
        }))
    }
}

/// A permit for one running import; released on drop.
struct ImportPermit(Arc<AtomicUsize>);

impl ImportPermit {
    fn take(under_way: &Arc<AtomicUsize>) -> Option<Self> {
        let one_more = |n: usize| (n < IMPORTS_AT_ONCE).then_some(n + 1);
        under_way.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).ok()?;
        Some(Self(under_way.clone()))
    }
}

impl Drop for ImportPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A file that is being uploaded.
pub struct Upload {
    user: UserId,
    file: tokio::fs::File,
    name: Option<String>,
    bytes: u64,
    slot: UploadPermit,
}

impl Upload {
    /// What its person calls the file.
    pub fn set_name(&mut self, name: &str) {
        let chars = name.chars().count();
        self.name = Some(name.chars().skip(chars.saturating_sub(NAME_CHARS_MAX)).collect());
    }

    /// Appends a chunk.
    ///
    /// # Errors
    /// [`UploadError::TooLarge`] beyond [`UPLOAD_BYTES_MAX`], before the chunk is written, or a failed write.
    pub async fn write(&mut self, chunk: &[u8]) -> Result<(), UploadError> {
        self.bytes += chunk.len() as u64;
        if self.bytes > UPLOAD_BYTES_MAX {
            return Err(UploadError::TooLarge);
        }
        self.file.write_all(chunk).await.map_err(UploadError::NoRoom)
    }

    pub async fn flush(&mut self) -> Result<(), UploadError> {
        self.file.flush().await.map_err(UploadError::NoRoom)
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

/// A permit for the user's only upload; released on drop.
struct UploadPermit {
    uploading: Arc<Mutex<HashSet<UserId>>>,
    user: UserId,
}

impl UploadPermit {
    fn take(uploading: &Arc<Mutex<HashSet<UserId>>>, user: UserId) -> Result<Self, UploadError> {
        let mut users = uploading.lock().unwrap_or_else(PoisonError::into_inner);
        if users.contains(&user) {
            return Err(UploadError::Uploading);
        }
        if users.len() >= UPLOADS_AT_ONCE {
            return Err(UploadError::TooManyUploads);
        }
        users.insert(user);
        let uploading = uploading.clone();
        Ok(Self { uploading, user })
    }
}

impl Drop for UploadPermit {
    fn drop(&mut self) {
        let mut users = self.uploading.lock().unwrap_or_else(PoisonError::into_inner);
        users.remove(&self.user);
    }
}
