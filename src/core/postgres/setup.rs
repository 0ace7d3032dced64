//! Finds or creates what one PostgreSQL needs to start.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use sqlx::postgres::PgConnectOptions;

use super::account::OsUser;
use super::endpoint::PostgresEndpoint;
use super::files::make_dir;
use super::locate::Home;
use super::lock::{FolderLock, take_lock};
use super::tree::Tree;
use super::{PostgresError, cluster};

/// What is needed to start one PostgreSQL. Not `Debug`: it holds the password.
pub(super) struct PostgresSetup {
    pub(super) data_dir: PathBuf,
    pub(super) home: Home,
    pub(super) tree: Tree,
    pub(super) account: Option<OsUser>,
    pub(super) endpoint: PostgresEndpoint,
    pub(super) password: String,
}

/// Held while PostgreSQL is ours: the lock of the data folder, and that of a home outside it.
pub(super) type Locks = (FolderLock, Option<File>);

impl PostgresSetup {
    /// Finds or creates everything that PostgreSQL needs to start, including the cluster.
    pub(super) async fn prepare(folder: FolderLock) -> Result<(Self, Locks), PostgresError> {
        let data_dir = folder.data_dir.clone();
        let (home, account) = Home::find(&data_dir)?;
        let home_lock = match home.path.parent() {
            Some(place) if place != data_dir => {
                if !place.exists() {
                    make_dir(place, 0o755)?;
                }
                Some(take_lock(&home.path.with_extension("lock"), &data_dir).await?)
            }
            _ => None,
        };
        let tree = Tree::find(&data_dir, &home, account.as_ref())?;
        // Owned by root if we are root: no other user may place a symlink where root writes.
        make_dir(&home.path, if account.is_some() { 0o711 } else { 0o700 })?;
        let password = cluster::ensure(&data_dir, &home, &tree, account.as_ref()).await?;
        home.record(&data_dir)?;
        let endpoint = home.choose_endpoint(&data_dir, account.as_ref())?;
        let site = Self { data_dir, home, tree, account, endpoint, password };
        Ok((site, (folder, home_lock)))
    }

    pub(super) fn connect_options(&self) -> PgConnectOptions {
        self.endpoint.connect_options(&self.password)
    }

    /// A program of the tree, run as the cluster's user.
    pub(super) fn command(&self, program: &str) -> Command {
        self.tree.command(program, &self.home.path, self.account.as_ref())
    }
}
