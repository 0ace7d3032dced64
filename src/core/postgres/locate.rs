//! Locates the files of the embedded PostgreSQL, and decides how to connect and which OS user runs it.
//! PostgreSQL refuses to run as root: a server that runs as root uses an unprivileged user, and if that user
//! cannot reach the data folder, another place is chosen and recorded. It must never change the owner of a
//! cluster, nor choose again if a choice is recorded.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::account::OsUser;
use super::endpoint::PostgresEndpoint;
use super::files::{make_dir, read_if_there, write_durably};
use super::{PostgresError, failed_to, process};

/// Where a cluster is created if its user cannot reach the data folder.
pub(super) const COMMON_PLACE: &str = "/var/lib/keepsake";
/// In the data folder: the home of a cluster that is elsewhere.
const LOCATION_FILE: &str = "postgres.location";
/// In the data folder: the loopback port of a cluster whose socket path would be too long.
const PORT_FILE: &str = "postgres.port";

/// The folder of a cluster, its socket and its log.
#[derive(Debug, Clone)]
pub(super) struct Home {
    pub(super) path: PathBuf,
}

impl Home {
    pub(super) fn within(data_dir: &Path) -> Self {
        Self { path: data_dir.join("postgres") }
    }

    /// The home outside the data folder that an earlier start chose.
    pub(super) fn recorded(data_dir: &Path) -> Result<Option<Self>, PostgresError> {
        let recorded = read_if_there(&data_dir.join(LOCATION_FILE))?;
        Ok(recorded.map(|text| Self { path: PathBuf::from(text.trim_end_matches('\n')) }))
    }

    pub(super) fn cluster(&self) -> PathBuf {
        self.path.join("cluster")
    }

    /// The major version that created the cluster; `None` if there is no cluster.
    pub(super) fn cluster_major(&self) -> Result<Option<u32>, PostgresError> {
        let cluster = self.cluster();
        if !cluster.try_exists().map_err(failed_to("look into", &cluster))? {
            return Ok(None);
        }
        let path = cluster.join("PG_VERSION");
        let text = fs::read_to_string(&path).map_err(failed_to("read", &path))?;
        let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "it holds no version");
        let major = text.trim().parse();
        major.map(Some).map_err(|_| failed_to("read", &path)(unreadable()))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    fn sockets(&self) -> PathBuf {
        self.path.join("socket")
    }

    /// The home of this data folder's cluster, and the user to run it if we are root.
    pub(super) fn find(data_dir: &Path) -> Result<(Self, Option<OsUser>), PostgresError> {
        let recorded = Self::recorded(data_dir)?;
        let is_recorded = recorded.is_some();
        let home = recorded.unwrap_or_else(|| Self::within(data_dir));
        let cluster = home.cluster();
        let is_there = cluster.try_exists().map_err(failed_to("look into", &cluster))?;
        if is_recorded && !is_there {
            return Err(PostgresError::ClusterMissing {
                recorded: data_dir.join(LOCATION_FILE),
                cluster,
            });
        }
        if !rustix::process::geteuid().is_root() {
            return Ok((home, None));
        }
        if is_there {
            let account = OsUser::owner_of(&cluster)?;
            return Ok((home, Some(account)));
        }
        let account = OsUser::unprivileged()?;
        if account.can_enter(data_dir) {
            return Ok((home, Some(account)));
        }
        let home = Self::elsewhere(data_dir);
        tracing::warn!(
            data_dir = %data_dir.display(),
            "The user {} cannot reach the data folder, so PostgreSQL keeps its data in {}.",
            account.name, home.path.display()
        );
        Ok((home, Some(account)))
    }

    /// Deterministic: the same data folder always gets the same place.
    fn elsewhere(data_dir: &Path) -> Self {
        let digest = Sha256::digest(data_dir.as_os_str().as_encoded_bytes());
        let digest: String = digest[..8].iter().map(|b| format!("{b:02x}")).collect();
        Self { path: Path::new(COMMON_PLACE).join(format!("data-{digest}")) }
    }

    /// Records a home elsewhere, once its cluster exists.
    pub(super) fn record(&self, data_dir: &Path) -> Result<(), PostgresError> {
        if self.path.starts_with(data_dir) || Self::recorded(data_dir)?.is_some() {
            return Ok(());
        }
        let text = format!("{}\n", self.path.display());
        write_durably(&data_dir.join(LOCATION_FILE), 0o644, &text)
    }

    /// How to connect to a running PostgreSQL of this home.
    pub(super) fn endpoint(&self, data_dir: &Path) -> Result<PostgresEndpoint, PostgresError> {
        if let Some(socket) = PostgresEndpoint::socket_in(self.sockets()) {
            return Ok(socket);
        }
        let path = data_dir.join(PORT_FILE);
        let port = read_if_there(&path)?.and_then(|text| text.trim().parse().ok());
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no port is recorded there");
        port.map(PostgresEndpoint::Loopback).ok_or_else(|| failed_to("read", &path)(missing()))
    }

    /// Like [`Self::endpoint`], for a PostgreSQL that is about to start or runs already: keeps a recorded
    /// port that is ours or free, otherwise chooses and records another.
    pub(super) fn choose_endpoint(
        &self,
        data_dir: &Path,
        account: Option<&OsUser>,
    ) -> Result<PostgresEndpoint, PostgresError> {
        if let Some(socket) = PostgresEndpoint::socket_in(self.sockets()) {
            make_dir(&self.sockets(), 0o700)?;
            account.map_or(Ok(()), |account| account.give(&self.sockets()))?;
            return Ok(socket);
        }
        if let Ok(PostgresEndpoint::Loopback(port)) = self.endpoint(data_dir)
            && (process::running_postmaster(&self.cluster())?.is_some()
                || TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        {
            return Ok(PostgresEndpoint::Loopback(port));
        }
        let path = data_dir.join(PORT_FILE);
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(failed_to("find a free loopback port for", &self.path))?
            .port();
        write_durably(&path, 0o644, &format!("{port}\n"))?;
        Ok(PostgresEndpoint::Loopback(port))
    }
}
