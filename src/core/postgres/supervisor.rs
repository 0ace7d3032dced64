//! Starts or adopts PostgreSQL, restarts it whenever it ends, and stops it. It must never start a second one
//! while a first may be alive, and never stop it harder than necessary.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use sqlx::{Connection, PgConnection};
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::setup::PostgresSetup;
use super::{PostgresError, cluster, failed_to, process};

/// How long PostgreSQL may be unresponsive while it starts; one that reports recovery may take as long as it
/// needs.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(60);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long to wait until a killed postmaster's shared memory is released.
const RELEASE_PATIENCE: Duration = Duration::from_secs(30);
const RELEASE_PAUSE: Duration = Duration::from_millis(200);
const RESTART_PAUSE_FIRST: Duration = Duration::from_millis(100);
const RESTART_PAUSE_LONGEST: Duration = Duration::from_secs(5);
/// After this time, an end does not count as a failed start.
const SETTLED_AFTER: Duration = Duration::from_secs(60);
const ADOPTED_POLL: Duration = Duration::from_millis(250);
const FAST_STOP_PATIENCE: Duration = Duration::from_secs(30);
const IMMEDIATE_STOP_PATIENCE: Duration = Duration::from_secs(15);
const LOG_LIMIT_BYTES: u64 = 10 * 1024 * 1024;
const LOG_TAIL_BYTES: u64 = 16 * 1024;

/// Settings that an admin must not change, since durability or secrecy depends on them. PostgreSQL logs no
/// statements, parameters or details, and no client errors, since their text quotes user content.
const SETTINGS: [&str; 15] = [
    "fsync=on",
    "full_page_writes=on",
    "logging_collector=off",
    "log_destination=stderr",
    "log_min_messages=log",
    "log_min_error_statement=panic",
    "log_error_verbosity=terse",
    "log_statement=none",
    "log_min_duration_statement=-1",
    "log_duration=off",
    "log_parameter_max_length=0",
    "log_parameter_max_length_on_error=0",
    "log_checkpoints=off",
    "log_autovacuum_min_duration=-1",
    "log_temp_files=-1",
];

pub(super) struct Supervisor {
    site: PostgresSetup,
    postmaster: Option<Postmaster>,
}

enum Postmaster {
    /// Our child: its process id cannot be reused before we wait for it.
    Child { child: Child, pid: Pid },
    /// Left running by a server that was killed.
    Adopted { pid: Pid },
}

/// Why a PostgreSQL that was started does not accept connections.
enum NotAccepting {
    Ended,
    Failed(PostgresError),
}

impl Supervisor {
    pub(super) fn new(site: PostgresSetup) -> Self {
        Self { site, postmaster: None }
    }

    /// Starts PostgreSQL, signals that it is ready, and keeps it running until asked to stop (or until the
    /// other end of the channel is dropped); then stops it.
    pub(super) async fn run(
        mut self,
        mut asked_to_stop: oneshot::Receiver<()>,
        tell_ready: oneshot::Sender<()>,
    ) -> Result<(), PostgresError> {
        tokio::select! {
            _ = &mut asked_to_stop => return self.shut_down().await,
            up = self.bring_up() => if let Err(error) = up {
                self.shut_down().await?;
                return Err(error);
            },
        }
        // The receiver is gone only if the start was cancelled; then we are also asked to stop.
        let _ = tell_ready.send(());
        tokio::select! {
            _ = &mut asked_to_stop => {}
            () = self.keep_up() => {}
        }
        self.shut_down().await
    }

    async fn keep_up(&mut self) {
        let mut pause = RESTART_PAUSE_FIRST;
        loop {
            let begun = Instant::now();
            if let Some(postmaster) = &mut self.postmaster {
                postmaster.ended(&self.site).await;
            }
            self.postmaster = None;
            if begun.elapsed() > SETTLED_AFTER {
                pause = RESTART_PAUSE_FIRST;
            }
            let tail = log_tail(&self.site.home.log(), 0);
            let last_line = tail.lines().next_back();
            tracing::error!(last_line, "PostgreSQL stopped unexpectedly; restarting it.");
            loop {
                sleep(pause).await;
                pause = (pause * 2).min(RESTART_PAUSE_LONGEST);
                match self.bring_up().await {
                    Ok(()) => break,
                    Err(error) => tracing::error!(%error, "PostgreSQL is still down."),
                }
            }
        }
    }

    /// Returns once PostgreSQL accepts connections. Waits for resources that a killed predecessor still
    /// holds.
    async fn bring_up(&mut self) -> Result<(), PostgresError> {
        let begun = Instant::now();
        loop {
            let log = self.site.home.log();
            let log_length = fs::metadata(&log).map_or(0, |file| file.len());
            let was_adopted = self.find_or_launch()?;
            match self.wait_until_accepting().await {
                Ok(()) => {
                    tracing::info!(
                        took_ms = begun.elapsed().as_millis(),
                        "PostgreSQL accepts connections."
                    );
                    return Ok(());
                }
                Err(NotAccepting::Failed(error)) => return Err(error),
                Err(NotAccepting::Ended) => self.postmaster = None,
            }
            let reason = reason_to_end(&log_tail(&log, log_length));
            let is_held = was_adopted
                || reason.contains("pre-existing shared memory block")
                || reason.contains("lock file");
            if !is_held || begun.elapsed() > RELEASE_PATIENCE {
                return Err(PostgresError::NotStarted { reason, log });
            }
            self.release().await?;
        }
    }

    /// Between two attempts: ends the backends of a postmaster that has ended.
    async fn release(&self) -> Result<(), PostgresError> {
        sleep(RELEASE_PAUSE).await;
        let cluster = self.site.home.cluster();
        if process::running_postmaster(&cluster)?.is_none() {
            process::end_orphaned_backends(&cluster);
        }
        Ok(())
    }

    /// Returns whether there was one to adopt.
    fn find_or_launch(&mut self) -> Result<bool, PostgresError> {
        if let Some(postmaster) = &self.postmaster {
            return Ok(matches!(postmaster, Postmaster::Adopted { .. }));
        }
        let cluster = self.site.home.cluster();
        if let Some(pid) = process::running_postmaster(&cluster)? {
            tracing::info!(
                pid = pid.as_raw_pid(),
                "Using the PostgreSQL that an earlier server left running."
            );
            self.postmaster = Some(Postmaster::Adopted { pid });
            return Ok(true);
        }
        process::clear_stale_lock(&process::postmaster_pid(&cluster), &cluster)?;
        if let Some(lock) = self.site.endpoint.socket_lock() {
            process::clear_stale_lock(&lock, &cluster)?;
        }
        self.postmaster = Some(launch(&self.site)?);
        Ok(false)
    }

    async fn wait_until_accepting(&mut self) -> Result<(), NotAccepting> {
        let Self { site, postmaster } = self;
        let Some(postmaster) = postmaster else {
            return Err(NotAccepting::Ended);
        };
        tokio::select! {
            biased;
            () = postmaster.ended(site) => Err(NotAccepting::Ended),
            accepting = accepting(site) => accepting.map_err(NotAccepting::Failed),
        }
    }

    async fn shut_down(&mut self) -> Result<(), PostgresError> {
        let Self { site, postmaster } = self;
        let Some(postmaster) = postmaster else {
            return Ok(());
        };
        let pid = postmaster.pid();
        for (signal, patience) in
            [(Signal::INT, FAST_STOP_PATIENCE), (Signal::QUIT, IMMEDIATE_STOP_PATIENCE)]
        {
            postmaster.signal(site, signal);
            if timeout(patience, postmaster.ended(site)).await.is_ok() {
                tracing::info!("PostgreSQL has stopped.");
                return Ok(());
            }
            tracing::warn!(waited_s = patience.as_secs(), "PostgreSQL is slow to stop.");
        }
        Err(PostgresError::NotStopped { pid: pid.as_raw_pid(), log: site.home.log() })
    }
}

impl Postmaster {
    fn pid(&self) -> Pid {
        let (Self::Child { pid, .. } | Self::Adopted { pid }) = self;
        *pid
    }

    async fn ended(&mut self, site: &PostgresSetup) {
        match self {
            Self::Child { child, .. } => {
                if let Err(error) = child.wait().await {
                    tracing::error!(%error, "The PostgreSQL process cannot be watched.");
                }
            }
            Self::Adopted { pid } => {
                while process::is_postmaster_of(*pid, &site.home.cluster()) {
                    sleep(ADOPTED_POLL).await;
                }
            }
        }
    }

    fn signal(&self, site: &PostgresSetup, signal: Signal) {
        match self {
            Self::Child { child, pid } if child.id().is_some() => process::signal(*pid, signal),
            Self::Adopted { pid } if process::is_postmaster_of(*pid, &site.home.cluster()) => {
                process::signal(*pid, signal);
            }
            _ => {}
        }
    }
}

/// Starts a postmaster in its own process group, so that Ctrl-C reaches only the server.
fn launch(site: &PostgresSetup) -> Result<Postmaster, PostgresError> {
    let path = site.home.log();
    let log = open_log(&path)?;
    let errors = log.try_clone().map_err(failed_to("open", &path))?;
    let mut command = site.command("postgres");
    command.arg("-D").arg(site.home.cluster());
    for setting in SETTINGS.map(str::to_owned).iter().chain(&site.endpoint.settings()) {
        command.args(["-c", setting]);
    }
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    let child = tokio::process::Command::from(command)
        .spawn()
        .map_err(failed_to("run PostgreSQL in", &site.home.path))?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    match pid {
        Some(pid) => Ok(Postmaster::Child { child, pid }),
        None => {
            Err(PostgresError::NotStarted { reason: "it has no process id".to_owned(), log: path })
        }
    }
}

/// Opens the log for appending; rotates it first if it is long.
fn open_log(path: &Path) -> Result<File, PostgresError> {
    if fs::metadata(path).is_ok_and(|log| log.len() > LOG_LIMIT_BYTES) {
        let old = path.with_extension("log.1");
        fs::rename(path, &old).map_err(failed_to("put aside", path))?;
    }
    File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(failed_to("open", path))
}

/// The last part of what was logged after the first `offset_bytes`.
fn log_tail(log: &Path, offset_bytes: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        // A shorter log was rotated.
        let from = if offset_bytes > length { 0 } else { offset_bytes };
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(LOG_TAIL_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The line that says why PostgreSQL ended, or else the last line.
fn reason_to_end(tail: &str) -> String {
    let is_reason = |line: &&str| line.contains("FATAL: ") || line.contains("PANIC: ");
    let reason = tail.lines().rfind(is_reason).or(tail.lines().next_back());
    reason.unwrap_or("it logged nothing").to_owned()
}

/// Returns once PostgreSQL accepts our password.
async fn accepting(site: &PostgresSetup) -> Result<(), PostgresError> {
    let options = site.connect_options().database("postgres");
    let mut silent_since = Instant::now();
    loop {
        let attempt = timeout(ACCEPT_PATIENCE, PgConnection::connect_with(&options)).await;
        let error = match attempt {
            Ok(Ok(connection)) => {
                let _ = connection.close().await;
                return Ok(());
            }
            Ok(Err(error)) => error,
            Err(_elapsed) => sqlx::Error::PoolTimedOut,
        };
        let code = error.as_database_error().and_then(|error| error.code());
        match code.as_deref() {
            // cannot_connect_now: it is starting or recovering, or an adopted one is about to end.
            Some("57P03") => silent_since = Instant::now(),
            Some(code) if code.starts_with("28") => {
                return Err(PostgresError::PasswordRefused {
                    file: cluster::password_file(&site.data_dir),
                });
            }
            _ if silent_since.elapsed() > ACCEPT_PATIENCE => {
                return Err(PostgresError::NotStarted {
                    reason: format!("it accepts no connection, {error}"),
                    log: site.home.log(),
                });
            }
            _ => {}
        }
        sleep(ACCEPT_PAUSE).await;
    }
}
