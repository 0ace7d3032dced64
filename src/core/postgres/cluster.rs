//! Creates the cluster once, and stores its password. An interrupted initdb must leave nothing that looks
//! like a cluster: it works in a temporary folder, which is renamed when everything is done.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::account::OsUser;
use super::files::{make_dir, read_if_there, sync_dir, write_durably};
use super::locate::Home;
use super::tree::Tree;
use super::{PostgresError, failed_to};

/// In the data folder, readable by its owner only.
const PASSWORD_FILE: &str = "postgres.password";
const PASSWORD_BYTES: usize = 32;
/// Folders with this prefix are unfinished clusters, which never held a row.
const UNFINISHED: &str = "initdb-";

/// Written to postgresql.conf, where an admin may change them later.
const SETTINGS: [&str; 7] = [
    "shared_buffers=128MB",
    "max_connections=100",
    "password_encryption=scram-sha-256",
    "timezone=UTC",
    "log_timezone=UTC",
    // JIT costs tens of milliseconds, while our statements take a few.
    "jit=off",
    // Search over new vectors is two to three times slower until vacuum has processed them.
    "autovacuum_naptime=15s",
];

/// Creates the cluster of `home` if it is missing. Returns the superuser's password.
pub(super) async fn ensure(
    data_dir: &Path,
    home: &Home,
    tree: &Tree,
    account: Option<&OsUser>,
) -> Result<String, PostgresError> {
    remove_unfinished(home);
    if home.cluster_major()?.is_some() {
        return read_password(data_dir, &home.cluster());
    }
    tracing::info!("Creating the database in {}; this happens once.", home.path.display());
    let file = data_dir.join(PASSWORD_FILE);
    // Stored before a cluster uses it, so that the two cannot differ.
    let password = match read_if_there(&file)? {
        Some(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => {
            let password = generate_password();
            write_durably(&file, 0o600, &format!("{password}\n"))?;
            password
        }
    };
    initialise(home, tree, account, &password).await?;
    Ok(password)
}

/// The superuser's password of an existing cluster.
pub(super) fn read_password(data_dir: &Path, cluster: &Path) -> Result<String, PostgresError> {
    let file = data_dir.join(PASSWORD_FILE);
    match read_if_there(&file)? {
        Some(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(PostgresError::PasswordMissing { file, cluster: cluster.to_path_buf() }),
    }
}

pub(super) fn password_file(data_dir: &Path) -> PathBuf {
    data_dir.join(PASSWORD_FILE)
}

async fn initialise(
    home: &Home,
    tree: &Tree,
    account: Option<&OsUser>,
    password: &str,
) -> Result<(), PostgresError> {
    let work = home.path.join(format!("{UNFINISHED}{:016x}", rand::random::<u64>()));
    make_dir(&work, 0o700)?;
    let pwfile = work.join("password");
    write_durably(&pwfile, 0o600, &format!("{password}\n"))?;
    if let Some(account) = account {
        // The folder last: root works in it until then.
        account.give(&pwfile)?;
        account.give(&work)?;
    }

    let made = work.join("cluster");
    let mut command = tree.command("initdb", &work, account);
    command.args(initdb_arguments(&made, &pwfile));
    let output = tokio::process::Command::from(command)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(failed_to("run initdb in", &work))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let is_reason = |line: &&str| line.contains("error:") || line.contains("FATAL:");
        let reason = said.lines().find(is_reason).or(said.lines().next_back());
        return Err(PostgresError::NotInitialised {
            home: home.path.clone(),
            reason: reason.unwrap_or("it said nothing").to_owned(),
        });
    }
    let cluster = home.cluster();
    fs::rename(&made, &cluster)
        .and_then(|()| sync_dir(&home.path))
        .map_err(failed_to("make", &cluster))?;
    remove_unfinished(home);
    Ok(())
}

fn initdb_arguments(cluster: &Path, pwfile: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--auth=scram-sha-256",
        "--username=postgres",
        "--data-checksums",
        "--no-instructions",
    ]
    .map(OsString::from)
    .into();
    arguments.extend(SETTINGS.iter().flat_map(|&setting| ["--set", setting]).map(OsString::from));
    for (option, path) in [("--pwfile", pwfile), ("--pgdata", cluster)] {
        arguments.extend([option.into(), path.into()]);
    }
    arguments
}

/// Removes what interrupted starts left. An initdb that is still alive may be writing there; then the rest is
/// removed at the next start.
fn remove_unfinished(home: &Home) {
    for entry in fs::read_dir(&home.path).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn generate_password() -> String {
    let bytes: [u8; PASSWORD_BYTES] = rand::random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
