//! Builds every part once and connects them. Commands get their parts from here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sqlx::postgres::PgConnectOptions;

use crate::accounts::Accounts;
use crate::activity::Activity;
use crate::backup::{BackupError, Backups};
use crate::clock::{SharedClock, WallClock};
use crate::config::{Config, beside_the_program};
use crate::db::{self, DatabaseError, Db};
use crate::embedding::QUERY_DEADLINE;
use crate::memories::quota::ItemQuota;
use crate::postgres::{self, CommandLock, EmbeddedPostgres};
use crate::providers::{Embedder, EndpointUrl, SystemNames, builtin};
use crate::quota::{Disk, FolderDisk};
use crate::seal::Sealer;
use crate::search::Reader;
use crate::services::{ServiceParts, Services};
use crate::web::{AppState, Readiness, ServerParts, SiteFiles};

/// How long a start waits for a database that is itself starting.
const DATABASE_PATIENCE: Duration = Duration::from_secs(60);
const DATABASE_CLOSE_MAX: Duration = Duration::from_secs(3);
const DATABASE_RETRY: Duration = Duration::from_millis(500);

/// The database of this run: connected, migrated, and stopped at the end if it is embedded.
pub struct Database {
    pub db: Db,
    options: PgConnectOptions,
    embedded: Option<EmbeddedPostgres>,
    /// Of a command that uses an embedded PostgreSQL.
    shared: Option<CommandLock>,
}

impl Database {
    /// For a server: starts the embedded PostgreSQL unless a URL is configured.
    pub async fn of_server(config: &Config) -> anyhow::Result<Self> {
        match &config.database_url {
            Some(url) => Self::of_url(url).await,
            None => Self::start_embedded(config).await,
        }
    }

    /// For a command: uses the database of a running server or command, or else starts it, until the last command
    /// that uses it has ended.
    pub async fn of_command(config: &Config) -> anyhow::Result<Self> {
        let shared = Self::command_lock(config).await?;
        let database = match Self::of_running_server(config)? {
            Some(options) => {
                db::prepare(&options).await?;
                Self::connected(options)
            }
            None => Self::of_server(config).await?,
        };
        Ok(Self { db: database.db.with_job_timeout(), shared, ..database })
    }

    /// Runs a command, then closes its database. What `command` prints is seen while others still use PostgreSQL.
    pub async fn run<T>(
        config: &Config,
        command: impl AsyncFnOnce(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let database = Self::of_command(config).await?;
        let ran = command(&database).await;
        let closed = database.close().await;
        let ran = ran?;
        closed?;
        Ok(ran)
    }

    /// For a restore: no server may run, and commands wait.
    pub async fn of_restore(config: &Config) -> anyhow::Result<Self> {
        let shared = Self::command_lock(config).await?;
        if Self::of_running_server(config)?.is_some() {
            bail!(BackupError::InUse);
        }
        Ok(Self { shared, ..Self::of_server(config).await? })
    }

    /// Held while a command uses an embedded PostgreSQL.
    pub async fn command_lock(config: &Config) -> anyhow::Result<Option<CommandLock>> {
        Ok(match config.database_url {
            Some(_) => None,
            None => Some(CommandLock::share(&config.data_dir).await?),
        })
    }

    fn of_running_server(config: &Config) -> anyhow::Result<Option<PgConnectOptions>> {
        Ok(match config.database_url {
            Some(_) => None,
            None => postgres::of_running_server(&config.data_dir)?,
        })
    }

    fn connected(options: PgConnectOptions) -> Self {
        Self { db: Db::new(&options), options, embedded: None, shared: None }
    }

    async fn start_embedded(config: &Config) -> anyhow::Result<Self> {
        let embedded = EmbeddedPostgres::start(&config.data_dir).await?;
        let options = embedded.connect_options();
        if let Err(error) = db::prepare(&options).await {
            embedded.stop().await?;
            return Err(error.into());
        }
        Ok(Self { embedded: Some(embedded), ..Self::connected(options) })
    }

    async fn of_url(url: &str) -> anyhow::Result<Self> {
        let options: PgConnectOptions =
            url.parse().context("KEEPSAKE_DATABASE_URL cannot be read as a PostgreSQL URL")?;
        prepare_with_retries(&options).await?;
        Ok(Self::connected(options))
    }

    pub fn services(&self, config: &Config) -> anyhow::Result<Services> {
        services(config, &self.db, &self.options)
    }

    /// As the role of the URL, for backups.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    pub async fn close(self) -> anyhow::Result<()> {
        // A request that was cut off may still hold a connection.
        let _ = tokio::time::timeout(DATABASE_CLOSE_MAX, self.db.close()).await;
        if let Some(embedded) = self.embedded {
            if let Some(shared) = &self.shared {
                shared.alone().await?;
            }
            embedded.stop().await?;
        }
        Ok(())
    }
}

/// Retries while the database cannot be reached; fails at once if it is unusable.
async fn prepare_with_retries(options: &PgConnectOptions) -> Result<(), DatabaseError> {
    let start = Instant::now();
    loop {
        match db::prepare(options).await {
            Err(DatabaseError::Sql(error))
                if is_unreachable(&error) && start.elapsed() < DATABASE_PATIENCE =>
            {
                tracing::info!("waiting for the database at KEEPSAKE_DATABASE_URL");
                tokio::time::sleep(DATABASE_RETRY).await;
            }
            other => return other,
        }
    }
}

fn is_unreachable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        // cannot_connect_now: starting up or shutting down
        sqlx::Error::Database(e) => e.code().as_deref() == Some("57P03"),
        _ => false,
    }
}

/// Of the server, which makes a key where there is none.
pub fn sealer(config: &Config) -> anyhow::Result<Sealer> {
    Sealer::of(config.secret_key.as_ref(), &config.old_secret_keys, &config.data_dir)
}

/// `None` where there is no key.
pub fn existing_sealer(config: &Config) -> anyhow::Result<Option<Sealer>> {
    Sealer::of_existing(config.secret_key.as_ref(), &config.old_secret_keys, &config.data_dir)
}

/// For a command that records no calls.
pub fn activity(db: &Db) -> Activity {
    Activity::new(db.clone(), wall_clock())
}

pub fn accounts(config: &Config, db: &Db) -> Accounts {
    Accounts::new(db.clone(), wall_clock(), config.sign_up)
}

/// For a server, a worker or a command. The options are those of the database's own role, for backups.
pub fn services(config: &Config, db: &Db, options: &PgConnectOptions) -> anyhow::Result<Services> {
    let clock = wall_clock();
    let offered = config
        .llamacpp_url
        .as_ref()
        .map(|url| EndpointUrl::parse("KEEPSAKE_LLAMACPP_URL", url.as_str()))
        .transpose()?;
    let builtin = builtin::find(&config.data_dir);
    let sealer = sealer(config)?;
    let backups = config.backup_dir.clone().map(|folder| {
        Backups::new(options.clone(), folder, config.data_dir.clone(), sealer.clone())
    });
    let services = Services::new(ServiceParts {
        accounts: accounts(config, db),
        db: db.clone(),
        embedder: Embedder::new(Some(builtin), Arc::new(SystemNames), clock.clone()),
        clock,
        sealer,
        offered,
        query_deadline: QUERY_DEADLINE,
        reader: Reader::new(config.reader_bytes),
        quota: ItemQuota::default(),
        backups,
        public_url: config.public_url.clone(),
    });
    services.embeddings.quota().disk().watch(disks(config), config.disk_free_bytes);
    Ok(services)
}

/// What writes fill: the data folder's disk, and that of a PostgreSQL beside this server.
fn disks(config: &Config) -> Vec<Arc<dyn Disk>> {
    let folders = std::iter::once(config.data_dir.clone()).chain(config.database_dir.clone());
    folders.map(|folder| Arc::new(FolderDisk(folder)) as Arc<dyn Disk>).collect()
}

/// Watches free disk while the process runs.
pub fn watch_disk(services: &Services) {
    tokio::spawn(services.embeddings.quota().disk().clone().keep_looking());
}

pub fn app_state(config: &Config, services: Services, readiness: Readiness) -> AppState {
    let parts = ServerParts {
        readiness,
        trusted_proxies: config.trusted_proxies.clone(),
        metrics_token: config.metrics_token.clone(),
        site: SiteFiles::at(find_site(config), &config.public_url),
        data_dir: config.data_dir.clone(),
    };
    AppState::new(services, parts)
}

/// For commands, which do not need the clock otherwise.
pub fn now() -> time::OffsetDateTime {
    wall_clock().now()
}

fn wall_clock() -> SharedClock {
    Arc::new(WallClock)
}

/// `KEEPSAKE_SITE_DIR`, or `site` beside the program or in the build folder, or where a package installs it.
fn find_site(config: &Config) -> PathBuf {
    let places = [
        config.site_dir.clone(),
        beside_the_program("site"),
        beside_the_program("../site"),
        Some(PathBuf::from("target/site")),
        Some(PathBuf::from("/usr/share/keepsake/site")),
    ];
    let mut found = places.into_iter().flatten().filter(|place| place.join("pkg").is_dir());
    found.next().unwrap_or_else(|| {
        tracing::warn!("no stylesheet found: run `make build`, or set KEEPSAKE_SITE_DIR to the folder that contains pkg/");
        PathBuf::from("target/site")
    })
}
