//! The embedded PostgreSQL: finds the fetched tree, initialises a cluster in the data folder once, starts it
//! or adopts one that a killed server left running, restarts it when it ends, and stops it on exit.
//!
//! It must never run two postmasters on one folder, never delete a cluster, never weaken durability, and
//! never let user content reach PostgreSQL's log.
//!
//! In reading order: [`lock`] decides who owns the folder; [`locate`] finds files, [`account`] the OS user it
//! runs as, [`tree`] the programs, [`endpoint`] the connection; [`cluster`] initialises; [`process`]
//! distinguishes our postmaster from a process that reuses its id; [`supervisor`] starts, watches and stops
//! it.

mod account;
mod cluster;
mod endpoint;
mod files;
mod locate;
mod lock;
mod process;
mod setup;
mod supervisor;
mod tree;

pub use lock::CommandLock;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sqlx::migrate::MigrateDatabase;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use endpoint::OWN_SETTINGS;
use locate::Home;
use lock::FolderLock;
use setup::PostgresSetup;
use supervisor::Supervisor;

/// Why the embedded PostgreSQL cannot be used. Each message says how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    #[error(
        "Keepsake{} already runs on the data folder {}: stop it or wait until it is ready, or name \
         another folder in KEEPSAKE_DATA_DIR",
        .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(),
        .folder.display()
    )]
    Owned { folder: PathBuf, pid: Option<u32> },

    #[error(
        "the data folder {} belongs to another user: start Keepsake as that user, or name another \
         folder in KEEPSAKE_DATA_DIR",
        .folder.display()
    )]
    NotYours { folder: PathBuf },

    #[error(
        "there is no PostgreSQL in {}: fetch it with `python3 tools/fetch_postgres.py --into {}`, or \
         name a PostgreSQL of your own in KEEPSAKE_DATABASE_URL",
        .runtime.display(), .runtime.display()
    )]
    NotFetched { runtime: PathBuf },

    #[error(
        "the PostgreSQL in {} does not run here ({reason}): remove that folder and fetch it again \
         with `python3 tools/fetch_postgres.py`",
        .tree.display()
    )]
    Unusable { tree: PathBuf, reason: String },

    #[error(
        "the database in {} was made by PostgreSQL {cluster_major} and the fetched one is \
         {tree_major}: fetch PostgreSQL {cluster_major} again, or move the data with pg_upgrade",
        .cluster.display()
    )]
    OtherMajor { cluster: PathBuf, cluster_major: u32, tree_major: u32 },

    #[error(
        "PostgreSQL refuses to run as root, and {reason}: add a system user named keepsake \
         (`useradd --system keepsake`), or start Keepsake as an ordinary user"
    )]
    NoAccount { reason: String },

    #[error(
        "the database that {} names is missing from {}: bring it back, or remove that file to begin \
         with an empty one",
        .recorded.display(), .cluster.display()
    )]
    ClusterMissing { recorded: PathBuf, cluster: PathBuf },

    #[error(
        "{} is missing, and with it the password of the database in {}: restore the file from a \
         backup of the data folder",
        .file.display(), .cluster.display()
    )]
    PasswordMissing { file: PathBuf, cluster: PathBuf },

    #[error(
        "PostgreSQL refuses the password in {}: restore that file from the same backup as the database",
        .file.display()
    )]
    PasswordRefused { file: PathBuf },

    #[error("initdb could not make a database in {}: {reason}", .home.display())]
    NotInitialised { home: PathBuf, reason: String },

    #[error("PostgreSQL did not start: {reason} (more in {})", .log.display())]
    NotStarted { reason: String, log: PathBuf },

    #[error("PostgreSQL (process {pid}) does not stop: its data is safe, look at {}", .log.display())]
    NotStopped { pid: i32, log: PathBuf },

    #[error("cannot {doing} {}: {source}", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },

    #[error("PostgreSQL runs, but its database `keepsake` cannot be made: {0}")]
    Database(#[from] sqlx::Error),
}

/// For `map_err`: adds the action and the path to an I/O error.
fn failed_to(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PostgresError {
    move |source| PostgresError::Io { doing, path: path.to_path_buf(), source }
}

/// A running, supervised PostgreSQL of our own, until [`stop`](Self::stop). Dropping it requests the same
/// stop without waiting.
pub struct EmbeddedPostgres {
    options: PgConnectOptions,
    stop: oneshot::Sender<()>,
    supervision: JoinHandle<Result<(), PostgresError>>,
}

/// Prints no fields: the options hold the password.
impl fmt::Debug for EmbeddedPostgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedPostgres").finish_non_exhaustive()
    }
}

impl EmbeddedPostgres {
    /// Locks `data_dir` (created if missing), initialises its PostgreSQL, starts or adopts it, and returns
    /// once the database `keepsake` exists. PostgreSQL is restarted whenever it ends. Dropping this future
    /// stops what it started.
    ///
    /// # Errors
    /// [`PostgresError::Owned`] if another Keepsake holds the folder; otherwise what failed.
    pub async fn start(data_dir: &Path) -> Result<Self, PostgresError> {
        let folder = FolderLock::take(data_dir).await?;
        let (site, locks) = PostgresSetup::prepare(folder).await?;
        let options = site.connect_options();
        let (stop, asked_to_stop) = oneshot::channel();
        let (tell_ready, ready) = oneshot::channel();
        let supervised = Supervised::begin();
        let supervision = tokio::spawn(async move {
            let _supervised = supervised;
            let outcome = Supervisor::new(site).run(asked_to_stop, tell_ready).await;
            drop(locks);
            outcome
        });
        let postgres = Self { options, stop, supervision };
        if ready.await.is_err() {
            postgres.stop().await?;
            return Err(supervision_died());
        }
        if let Err(error) = create_database(&postgres.options).await {
            postgres.stop().await?;
            return Err(error);
        }
        Ok(postgres)
    }

    /// Connects to the database `keepsake` as the superuser `postgres`. The options do not change while this
    /// value lives, even when PostgreSQL restarts.
    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// Stops PostgreSQL (fast shutdown, then immediate shutdown after 30 s) and releases the folder.
    ///
    /// # Errors
    /// [`PostgresError::NotStopped`] if PostgreSQL survived both.
    pub async fn stop(self) -> Result<(), PostgresError> {
        // The receiver is gone only if supervision has already ended.
        let _ = self.stop.send(());
        self.supervision.await.unwrap_or_else(|_panicked| Err(supervision_died()))
    }
}

/// How many supervisions of this process have not ended.
static SUPERVISIONS: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);

/// Counts a supervision until it is dropped.
struct Supervised;

impl Supervised {
    fn begin() -> Self {
        SUPERVISIONS.send_modify(|n| *n += 1);
        Self
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        SUPERVISIONS.send_modify(|n| *n -= 1);
    }
}

/// Returns once every PostgreSQL that this process started has stopped: also those that nobody holds any more, since
/// their start was cancelled.
pub async fn all_stopped() {
    // The sender is never dropped.
    let _ = SUPERVISIONS.subscribe().wait_for(|n| *n == 0).await;
}

/// For a command that runs while a server does: how to reach the PostgreSQL that another process runs on
/// `data_dir`. `None` if no other process holds the folder, or its PostgreSQL is not up yet.
///
/// # Errors
/// If the folder's files cannot be read.
pub fn of_running_server(data_dir: &Path) -> Result<Option<PgConnectOptions>, PostgresError> {
    if !FolderLock::is_held_by_another(data_dir)? {
        return Ok(None);
    }
    let data_dir = data_dir.canonicalize().map_err(failed_to("find", data_dir))?;
    let home = Home::recorded(&data_dir)?.unwrap_or_else(|| Home::within(&data_dir));
    if process::running_postmaster(&home.cluster())?.is_none() {
        return Ok(None);
    }
    let password = cluster::read_password(&data_dir, &home.cluster())?;
    let endpoint = home.endpoint(&data_dir)?;
    Ok(Some(endpoint.connect_options(&password)))
}

/// The folder of pg_dump and its like, of the newest PostgreSQL that was fetched.
pub fn client_programs(data_dir: &Path) -> Option<PathBuf> {
    tree::newest_bin(data_dir)
}

async fn create_database(options: &PgConnectOptions) -> Result<(), PostgresError> {
    use sqlx::ConnectOptions;
    let mut url = options.to_url_lossy();
    // They are not in it.
    for (name, value) in OWN_SETTINGS {
        url.query_pairs_mut().append_pair(&format!("options[{name}]"), value);
    }
    if !sqlx::Postgres::database_exists(url.as_str()).await? {
        sqlx::Postgres::create_database(url.as_str()).await?;
    }
    Ok(())
}

fn supervision_died() -> PostgresError {
    let source = io::Error::other("its supervision ended without a word; this is a bug");
    failed_to("supervise PostgreSQL of", Path::new("the data folder"))(source)
}
