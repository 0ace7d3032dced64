//! Backups of the whole database: made while the server runs, verified in a throwaway database, and restored into
//! an empty one (docs/backup.md). In reading order: `model.rs` is the manifest, [`file`](BackupFile) the archive,
//! `signature.rs` says who made it, `programs.rs` runs pg_dump and pg_restore, `make.rs` and `load.rs` are the two commands,
//! `contents.rs` and `loader.rs` what is loaded and as whom, `folder.rs` says which files are kept; `erasures.rs` writes and
//! reads what was erased and revoked since, and `repeat.rs` repeats it; here is what the job does every minute.
//!
//! A backup is every user's memory: it must never be served over the web. It never holds the secret key.

mod contents;
mod erasures;
mod file;
mod folder;
mod load;
mod loader;
mod make;
mod model;
mod programs;
mod repeat;
mod signature;
mod store;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use time::OffsetDateTime;

use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::db::Db;
use crate::queue::{self, SERVER};
use crate::seal::Sealer;
pub use erasures::{ErasuresFile, ErasuresSince, erasures_beside};
pub use file::BackupFile;
pub use folder::next_night;
use folder::{BackupFolder, FolderListing};
pub use load::{Restored, check, restore};
pub use make::{BackupOrder, make};
pub use model::{BackupError, BackupProgress, ERASURES, Manifest};
pub use repeat::{Repeated, repeat};
pub use signature::FileTrust;
pub use store::{BackupState, ListedBackup, list, state};

/// The job's name.
pub const JOB: &str = "backup";
/// For one backup or verification of the job; then it is retried.
const RUN_MAX: Duration = Duration::from_secs(6 * 3_600);
/// Of servers that share a folder.
const CLOCKS_DIFFER_MAX: time::Duration = time::Duration::hours(1);

/// What the job needs: the database as the role of the URL, and the backup folder.
#[derive(Clone)]
pub struct Backups {
    options: PgConnectOptions,
    folder: PathBuf,
    data_dir: PathBuf,
    sealer: Sealer,
}

impl Backups {
    pub fn new(
        options: PgConnectOptions,
        folder: PathBuf,
        data_dir: PathBuf,
        sealer: Sealer,
    ) -> Self {
        Self { options, folder, data_dir, sealer }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes noted erasures and revocations to their file, makes a backup if a night has come or an admin asked, and verifies the
    /// newest if an admin asked. Returns how much was done. `go_on` returns false when the process stops.
    ///
    /// # Errors
    /// Each says what to do, and is shown on the page; what an admin asked for stays asked, except a verification.
    pub async fn run(
        &self,
        db: &Db,
        now: OffsetDateTime,
        go_on: impl Fn() -> bool + Clone + Send + 'static,
    ) -> Result<usize, BackupError> {
        let ran = self.run_all(db, now, go_on).await;
        if let Err(error) = &ran
            && !matches!(error, BackupError::Interrupted | BackupError::Database(_))
        {
            let mut conn = db.system_connection().await?;
            store::note_problem(&mut conn, &error.to_string(), now).await?;
        }
        ran
    }

    async fn run_all(
        &self,
        db: &Db,
        now: OffsetDateTime,
        go_on: impl Fn() -> bool + Clone + Send + 'static,
    ) -> Result<usize, BackupError> {
        let listed = list(&mut *db.system_connection().await?).await?;
        let names: Vec<String> = listed.into_iter().map(|one| one.name).collect();
        self.in_folder(move |folder| folder.must_be_that_of(&names)).await?;
        let mut done = self.write_erasures(db).await?;
        let state = {
            let mut conn = db.system_connection().await?;
            store::begin_nights(&mut conn, now).await?;
            state(&mut conn).await?
        };
        let listed = self.list_again(db, now).await?;
        if is_due(&state, &listed, now) {
            within(self.make_one(&listed, now, go_on.clone())).await?;
            let mut conn = db.system_connection().await?;
            store::note_made(&mut conn, now).await?;
            drop(conn);
            self.rotate(db, now).await?;
            done += 1;
        }
        if state.verify_asked_at.is_some() {
            self.verify(db, now, go_on).await?;
            done += 1;
        }
        Ok(done)
    }

    async fn write_erasures(&self, db: &Db) -> Result<usize, BackupError> {
        erasures::drain(db, &self.sealer, async |lines: String| {
            self.in_folder(move |folder| erasures::append(folder.0, &lines)).await
        })
        .await
    }

    async fn make_one(
        &self,
        listed: &[ListedBackup],
        now: OffsetDateTime,
        go_on: impl Fn() -> bool,
    ) -> Result<(), BackupError> {
        let last = listed.first().map_or(0, |last| last.bytes);
        let last = u64::try_from(last).unwrap_or(0);
        self.in_folder(move |folder| folder.prepare(last)).await?;
        let path = self.folder.join(folder::name_for(now));
        let order = BackupOrder {
            options: &self.options,
            sealer: &self.sealer,
            data_dir: &self.data_dir,
            path: &path,
            replace: true,
        };
        let (manifest, bytes) = make(order, now, |_| go_on()).await?;
        tracing::info!(bytes, rows = manifest.rows_total(), "a backup was made");
        Ok(())
    }

    async fn rotate(&self, db: &Db, now: OffsetDateTime) -> Result<(), BackupError> {
        let listed = self.list_again(db, now).await?;
        let all = listed.into_iter().map(|one| (one.name, one.made_at));
        let gone = folder::superfluous(all.collect());
        let names = gone.clone();
        self.in_folder(move |folder| gone.iter().try_for_each(|name| folder.remove(name))).await?;
        let mut conn = db.system_connection().await?;
        Ok(store::remove(&mut conn, &names).await?)
    }

    /// The newest backup, into a throwaway database. What a backup lacks is its outcome, not a failure of the job.
    async fn verify(
        &self,
        db: &Db,
        now: OffsetDateTime,
        go_on: impl Fn() -> bool + Clone + Send + 'static,
    ) -> Result<(), BackupError> {
        let newest = self.list_again(db, now).await?.into_iter().next();
        let name = newest.map(|newest| newest.name).unwrap_or_default();
        let verified = match name.as_str() {
            "" => Err(BackupError::Nothing(self.folder.clone())),
            name => within(self.verify_one(name, go_on)).await,
        };
        let problem = match verified {
            Ok(()) => None,
            Err(BackupError::Interrupted) => return Err(BackupError::Interrupted),
            Err(error) => Some(error.to_string()),
        };
        let mut conn = db.system_connection().await?;
        store::note_verified(&mut conn, &name, problem.as_deref(), now).await?;
        match &problem {
            None => tracing::info!("a backup was verified"),
            Some(problem) => tracing::warn!(problem, "a backup could not be verified"),
        }
        Ok(())
    }

    async fn verify_one(
        &self,
        name: &str,
        go_on: impl Fn() -> bool + Clone + Send + 'static,
    ) -> Result<(), BackupError> {
        let path = self.folder.join(name);
        let opened = tokio::task::spawn_blocking(move || BackupFile::open(&path));
        let file = opened.await.unwrap_or(Err(BackupError::Interrupted))?;
        file.check_signature(&self.sealer)?;
        let go_on_checking = go_on.clone();
        check(&file, move |_| go_on_checking()).await?;
        load::verify(&file, &self.options, &self.data_dir, go_on).await
    }

    /// Brings the list in line with the folder. Newest first.
    async fn list_again(
        &self,
        db: &Db,
        now: OffsetDateTime,
    ) -> Result<Vec<ListedBackup>, BackupError> {
        let listed = list(&mut *db.system_connection().await?).await?;
        let known: BTreeSet<String> = listed.iter().map(|one| one.name.clone()).collect();
        let FolderListing { known: there, found } =
            self.in_folder(move |folder| folder.list(&known)).await?;
        let gone: Vec<String> = listed
            .iter()
            .map(|one| one.name.clone())
            .filter(|name| !there.contains(name))
            .collect();
        if gone.is_empty() && found.is_empty() {
            return Ok(listed);
        }
        let mut conn = db.system_connection().await?;
        store::remove(&mut conn, &gone).await?;
        for (name, file) in found {
            store::insert(&mut conn, &self.listed_as(name, &file, now)).await?;
        }
        Ok(list(&mut conn).await?)
    }

    /// One that this server has not signed is never loaded, which the list says at once.
    fn listed_as(&self, name: String, file: &BackupFile, now: OffsetDateTime) -> ListedBackup {
        let verify_problem =
            file.check_signature(&self.sealer).err().map(|error| error.to_string());
        ListedBackup {
            name,
            made_at: file.manifest.made_at,
            bytes: i64::try_from(file.bytes).unwrap_or(i64::MAX),
            version: file.manifest.keepsake.clone(),
            rows_total: file.manifest.rows_total(),
            verified_at: verify_problem.as_ref().map(|_| now),
            verify_problem,
        }
    }

    async fn in_folder<T: Send + 'static>(
        &self,
        work: impl FnOnce(&BackupFolder) -> Result<T, BackupError> + Send + 'static,
    ) -> Result<T, BackupError> {
        let folder = self.folder.clone();
        let worked = tokio::task::spawn_blocking(move || work(&BackupFolder(&folder)));
        worked.await.unwrap_or(Err(BackupError::Interrupted))
    }
}

async fn within<T>(work: impl Future<Output = Result<T, BackupError>>) -> Result<T, BackupError> {
    let done = tokio::time::timeout(RUN_MAX, work).await;
    done.unwrap_or(Err(BackupError::TooSlow(RUN_MAX.as_secs() / 3_600)))
}

/// A missed night is made up for once. A backup of a clock that was ahead does not count.
fn is_due(state: &BackupState, listed: &[ListedBackup], now: OffsetDateTime) -> bool {
    let mut made = listed.iter().map(|one| one.made_at);
    let last = made.find(|at| *at <= now + CLOCKS_DIFFER_MAX);
    let last = last.or(state.since);
    state.asked_at.is_some() || last.is_some_and(|last| last < folder::last_night(now))
}

/// An admin's wish for a backup now; the job follows at once.
pub async fn ask(db: &Db, now: OffsetDateTime) -> Result<(), sqlx::Error> {
    let mut tx = db.as_system().await?;
    store::ask(&mut tx, now).await?;
    queue::push_now(&mut tx, SERVER, JOB, now).await?;
    record(&mut tx, JOB, now).await?;
    tx.commit().await
}

/// An admin's wish to verify the newest backup.
pub async fn ask_to_verify(db: &Db, now: OffsetDateTime) -> Result<(), sqlx::Error> {
    let mut tx = db.as_system().await?;
    store::ask_to_verify(&mut tx, now).await?;
    queue::push_now(&mut tx, SERVER, JOB, now).await?;
    record(&mut tx, "backup verification", now).await?;
    tx.commit().await
}

async fn record(
    conn: &mut sqlx::PgConnection,
    what: &'static str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let (by, subject) = (AdminActor::current(), AdminSubject::Job(what));
    admin_events::record(conn, by, AdminAction::RunJob, subject, now).await
}
