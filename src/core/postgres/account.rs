//! The unprivileged OS user that runs PostgreSQL when the server runs as root. It must never be root.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::{PostgresError, failed_to};

/// Tried in this order.
const NAMES: [&str; 3] = ["keepsake", "postgres", "nobody"];

/// An OS user, never root.
#[derive(Debug, Clone)]
pub(super) struct OsUser {
    pub(super) name: String,
    uid: u32,
    gid: u32,
}

impl OsUser {
    /// The first of `keepsake`, `postgres` and `nobody` that exists.
    pub(super) fn unprivileged() -> Result<Self, PostgresError> {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        NAMES
            .iter()
            .find_map(|name| Self::in_passwd(&passwd, name).or_else(|| Self::by_id(name)))
            .ok_or_else(|| PostgresError::NoAccount {
                reason: "there is no user keepsake, postgres or nobody".to_owned(),
            })
    }

    /// The user that owns an existing cluster: only that user may run it.
    pub(super) fn owner_of(cluster: &Path) -> Result<Self, PostgresError> {
        let owner = fs::metadata(cluster).map_err(failed_to("look into", cluster))?;
        let name = format!("number {}", owner.uid());
        Self::new(&name, owner.uid(), owner.gid()).ok_or_else(|| PostgresError::NoAccount {
            reason: format!("{} belongs to root", cluster.display()),
        })
    }

    /// Makes `command` run as this user. The standard library also drops root's supplementary groups.
    pub(super) fn run(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    pub(super) fn give(&self, path: &Path) -> Result<(), PostgresError> {
        chown(path, Some(self.uid), Some(self.gid)).map_err(failed_to("hand over", path))
    }

    /// Whether this user can traverse `folder` and its parents. Asks the kernel, since only it knows ACLs and
    /// mounts.
    pub(super) fn can_enter(&self, folder: &Path) -> bool {
        let mut command = Command::new("/bin/sh");
        self.run(&mut command);
        command.args(["-c", ":"]).current_dir(folder).status().is_ok_and(|status| status.success())
    }

    fn new(name: &str, uid: u32, gid: u32) -> Option<Self> {
        let name = name.to_owned();
        (uid != 0).then_some(Self { name, uid, gid })
    }

    fn in_passwd(passwd: &str, name: &str) -> Option<Self> {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let fields: Vec<&str> = line.split(':').collect();
        Self::new(name, number(fields.get(2)?)?, number(fields.get(3)?)?)
    }

    /// For users of a directory service, and on macOS.
    fn by_id(name: &str) -> Option<Self> {
        let ask = |which: &str| {
            let answer = Command::new("id").args([which, name]).output().ok()?;
            number(String::from_utf8_lossy(&answer.stdout).trim())
        };
        Self::new(name, ask("-u")?, ask("-g")?)
    }
}

/// macOS prints the id of `nobody` as -2.
fn number(text: &str) -> Option<u32> {
    let number: i64 = text.parse().ok()?;
    u32::try_from(number).or_else(|_| i32::try_from(number).map(i32::cast_unsigned)).ok()
}
