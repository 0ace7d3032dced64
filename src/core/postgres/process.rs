//! Checks whether the postmaster named in a cluster's `postmaster.pid` is alive and really that. The file
//! alone must never be trusted: after a crash its process id may belong to another process, which must be
//! neither signalled nor adopted.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::files::read_if_there;
use super::{PostgresError, failed_to};

const EMPTY_LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// The process id of the postmaster that runs on `cluster`, if any.
pub(super) fn running_postmaster(cluster: &Path) -> Result<Option<Pid>, PostgresError> {
    let recorded = recorded_pid(&postmaster_pid(cluster))?;
    Ok(recorded.filter(|&pid| is_postmaster_of(pid, cluster)))
}

/// Removes a stale lock file (`postmaster.pid`, or the socket's): its process id belongs to another process or a
/// zombie, or a crash left it empty. If the process is dead or not visible to us, PostgreSQL itself handles the
/// file, and looks for surviving backends. Call only if no postmaster runs on `cluster`.
pub(super) fn clear_stale_lock(lock: &Path, cluster: &Path) -> Result<(), PostgresError> {
    let is_stale = match recorded_pid(lock)? {
        Some(pid) => judge(pid, cluster) == ProcessKind::Stranger,
        // A file that is just being written is filled at once.
        None => fs::metadata(lock).is_ok_and(|file| {
            let age = file.modified().ok().and_then(|time| time.elapsed().ok());
            file.len() == 0 && age.is_some_and(|age| age > EMPTY_LOCK_PATIENCE)
        }),
    };
    if !is_stale {
        return Ok(());
    }
    tracing::info!("Removing {}: the process it names is not our PostgreSQL.", lock.display());
    fs::remove_file(lock).map_err(failed_to("remove", lock))
}

/// Whether `pid` is a live postmaster on `cluster`.
pub(super) fn is_postmaster_of(pid: Pid, cluster: &Path) -> bool {
    judge(pid, cluster) == ProcessKind::Postmaster
}

#[derive(PartialEq)]
enum ProcessKind {
    Postmaster,
    Stranger,
    /// There is no such process, or we may not see it.
    Unknown,
}

/// Decides by the process's command line and working folder.
fn judge(pid: Pid, cluster: &Path) -> ProcessKind {
    if rustix::process::test_kill_process(pid) == Err(Errno::SRCH) {
        return ProcessKind::Unknown;
    }
    let process = PathBuf::from(format!("/proc/{}", pid.as_raw_pid()));
    let is_ours = if Path::new("/proc/self/cmdline").exists() {
        // Empty for a zombie; "postgres: checkpointer" and the like for a backend.
        fs::read(process.join("cmdline")).ok().map(|line| {
            let args: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
            let is_named = args.windows(2).any(|pair| names(pair, cluster));
            is_postgres(args[0]) && (is_named || works_in(&process, cluster))
        })
    } else {
        command_by_ps(pid).map(|line| is_postmaster_line(&line, cluster))
    };
    match is_ours {
        Some(true) => ProcessKind::Postmaster,
        Some(false) => ProcessKind::Stranger,
        None => ProcessKind::Unknown,
    }
}

/// `ps` prints no boundaries between arguments: the program ends at " -D ".
fn is_postmaster_line(line: &[u8], cluster: &Path) -> bool {
    let wanted = [b" -D ", cluster.as_os_str().as_bytes()].concat();
    let found = line.windows(wanted.len()).position(|part| part == wanted);
    found.is_some_and(|position| is_postgres(&line[..position]))
}

/// Sends `signal` to the postmaster; ignores one that has just ended.
pub(super) fn signal(pid: Pid, signal: Signal) {
    if let Err(error) = rustix::process::kill_process(pid, signal) {
        tracing::debug!(pid = pid.as_raw_pid(), %error, "PostgreSQL could not be signalled.");
    }
}

/// Ends backends that outlived a killed postmaster: a long statement would keep the shared memory and so
/// block the next start. Nothing they did was acknowledged. Call only if no postmaster runs on `cluster`;
/// does nothing without /proc.
pub(super) fn end_orphaned_backends(cluster: &Path) {
    let Ok(processes) = fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let pid = process.file_name().to_str().and_then(|pid| pid.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        let title = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if title.starts_with(b"postgres: ") && works_in(&process.path(), cluster) {
            tracing::info!(
                pid = pid.as_raw_pid(),
                "Terminating a PostgreSQL backend whose postmaster has stopped."
            );
            signal(pid, Signal::QUIT);
        }
    }
}

pub(super) fn postmaster_pid(cluster: &Path) -> PathBuf {
    cluster.join("postmaster.pid")
}

fn recorded_pid(lock: &Path) -> Result<Option<Pid>, PostgresError> {
    let text = read_if_there(lock)?.unwrap_or_default();
    // Negative for a single-user backend, empty for a file that is just being written.
    let pid = text.lines().next().and_then(|line| line.trim().parse().ok());
    Ok(pid.filter(|&pid: &i32| pid > 0).and_then(Pid::from_raw))
}

fn is_postgres(program: &[u8]) -> bool {
    Path::new(OsStr::from_bytes(program)).file_name() == Some(OsStr::new("postgres"))
}

fn names(pair: &[&[u8]], cluster: &Path) -> bool {
    pair[0] == b"-D" && pair[1] == cluster.as_os_str().as_bytes()
}

/// Every PostgreSQL process has its cluster's folder as working folder, even if it was moved since.
fn works_in(process: &Path, cluster: &Path) -> bool {
    fs::read_link(process.join("cwd")).is_ok_and(|folder| folder == cluster)
}

/// For systems without /proc.
fn command_by_ps(pid: Pid) -> Option<Vec<u8>> {
    let answer = Command::new("ps")
        .args(["-ww", "-o", "command=", "-p"])
        .arg(pid.as_raw_pid().to_string())
        .output()
        .ok()?;
    answer.status.success().then_some(answer.stdout)
}
