//! Notices that PostgreSQL does not answer any more without being gone: it is stopped, its machine hangs, or the network drops
//! everything. A statement that was sent then waits forever, since a timeout of the database runs in the database. While
//! somebody waits and nothing is answered, a connection of its own is tried; if that is not answered either, the database is
//! *frozen*: nobody gets a connection, and [`Pulse::given_up`] ends requests that still wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// Of [`StatementTimeouts`]. With [`GRACE`] and the time of an answer less than the 8 s after which requests are ended
/// (src/web/frozen.rs).
const SILENCE: Duration = Duration::from_secs(5);
/// The shares of it: after the first somebody is asked, who has the second for an answer, and then somebody else.
const ASKED_AFTER: f32 = 0.3;
const ASKED_FOR: f32 = 0.35;
/// Between two questions of a frozen database, besides [`ASKED_FOR`].
const PROBE_AGAIN_AFTER: Duration = Duration::from_millis(250);
/// How long what was told to fail may take for its answer.
const GRACE: Duration = Duration::from_secs(1);

/// How long one statement may run, including waiting for locks, before PostgreSQL cancels it.
#[derive(Clone, Copy, Debug)]
pub struct StatementTimeouts {
    pub request: Duration,
    /// For background jobs and commands, which work in steps.
    pub job: Duration,
    /// Somebody waits, and nothing at all is answered: after this the database counts as frozen.
    pub silence: Duration,
}

impl Default for StatementTimeouts {
    fn default() -> Self {
        Self { request: Duration::from_secs(5), job: Duration::from_secs(60), silence: SILENCE }
    }
}

#[derive(Clone)]
pub(super) struct Pulse(Arc<PulseState>);

struct PulseState {
    options: PgConnectOptions,
    silence: Duration,
    is_frozen: watch::Sender<bool>,
    /// Connections that are in use or waited for.
    waits: AtomicUsize,
    watched: Mutex<Watched>,
}

struct Watched {
    by_a_task: bool,
    answered_at: Instant,
}

/// Somebody has a connection or waits for one.
pub(super) struct DatabaseWait(Pulse);

impl Drop for DatabaseWait {
    fn drop(&mut self) {
        self.0.0.waits.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The watching task, whose runtime may end before it.
struct WatchTask {
    pulse: Pulse,
    is_over: bool,
}

impl WatchTask {
    fn end(&mut self) {
        self.is_over = true;
    }
}

impl Drop for WatchTask {
    fn drop(&mut self) {
        if !self.is_over {
            self.pulse.watched().by_a_task = false;
            self.pulse.0.is_frozen.send_if_modified(std::mem::take);
        }
    }
}

impl Pulse {
    pub fn new(options: PgConnectOptions, silence: Duration) -> Self {
        let watched = Watched { by_a_task: false, answered_at: Instant::now() };
        Self(Arc::new(PulseState {
            options,
            silence,
            is_frozen: watch::Sender::new(false),
            waits: AtomicUsize::new(0),
            watched: Mutex::new(watched),
        }))
    }

    /// Until the returned value is dropped, answers are expected.
    pub fn wait(&self) -> DatabaseWait {
        let is_first = self.0.waits.fetch_add(1, Ordering::Relaxed) == 0;
        let mut watched = self.watched();
        if is_first {
            watched.answered_at = Instant::now();
        }
        if !watched.by_a_task
            && let Ok(runtime) = Handle::try_current()
        {
            watched.by_a_task = true;
            let mut task = WatchTask { pulse: self.clone(), is_over: false };
            runtime.spawn(async move {
                task.pulse.watch().await;
                task.end();
            });
        }
        DatabaseWait(self.clone())
    }

    pub fn note_answer(&self) {
        self.watched().answered_at = Instant::now();
    }

    pub fn is_frozen(&self) -> bool {
        *self.0.is_frozen.borrow()
    }

    /// Whether nothing was answered for this long; an error of the network is an answer.
    pub fn is_silent_for(&self, past: Duration) -> bool {
        self.watched().answered_at.elapsed() >= past
    }

    pub async fn frozen(&self) {
        // The sender lives as long as this.
        self.0.is_frozen.subscribe().wait_for(|frozen| *frozen).await.ok();
    }

    pub async fn thawed(&self) {
        self.0.is_frozen.subscribe().wait_for(|frozen| !*frozen).await.ok();
    }

    /// Ends once the database was frozen for [`GRACE`] meanwhile, in which whoever asks for a connection gets an error.
    pub async fn given_up(&self) {
        loop {
            self.frozen().await;
            sleep(GRACE).await;
            if self.is_frozen() {
                return;
            }
        }
    }

    /// Runs while somebody waits, and a little longer.
    async fn watch(&self) {
        let mut probe = None;
        loop {
            let silent = self.watched().answered_at.elapsed();
            let asked_after = self.0.silence.mul_f32(ASKED_AFTER);
            if silent < asked_after {
                sleep(asked_after - silent).await;
                // Under the lock with which the next one looks for this task.
                let mut watched = self.watched();
                if self.0.waits.load(Ordering::Relaxed) == 0 {
                    watched.by_a_task = false;
                    return;
                }
                continue;
            }
            if self.is_answered(&mut probe).await || self.is_answered(&mut None).await {
                self.note_answer();
                continue;
            }
            self.0.is_frozen.send_replace(true);
            tracing::error!("the database does not answer; requests get 503 until it does");
            while !self.is_answered(&mut probe).await {
                sleep(PROBE_AGAIN_AFTER).await;
            }
            self.note_answer();
            self.0.is_frozen.send_replace(false);
            tracing::info!("the database answers again");
        }
    }

    /// Whether anything is answered within [`ASKED_FOR`], to this question or another. Keeps the connection if it is good.
    async fn is_answered(&self, probe: &mut Option<PgConnection>) -> bool {
        let asked_at = Instant::now();
        let asked = async {
            match probe.take() {
                Some(mut conn) => conn.ping().await.map(|()| conn),
                None => PgConnection::connect_with(&self.0.options).await,
            }
        };
        match timeout(self.0.silence.mul_f32(ASKED_FOR), asked).await {
            Ok(Ok(conn)) => {
                *probe = Some(conn);
                true
            }
            // A refusal is an answer. If PostgreSQL is gone, statements end by themselves.
            Ok(Err(error)) => !is_silence(&error),
            Err(_) => self.watched().answered_at > asked_at,
        }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the network has lost PostgreSQL.
fn is_silence(error: &sqlx::Error) -> bool {
    use std::io::ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
    match error {
        sqlx::Error::Io(error) => {
            matches!(error.kind(), HostUnreachable | NetworkUnreachable | TimedOut)
        }
        _ => false,
    }
}
