//! The server's lifecycle: start, answer, drain, stop. On SIGTERM `/readyz` returns 503 at once, while new
//! requests are still answered until load balancers notice. Then the server stops accepting, finishes
//! requests in progress and stops the database. A second signal ends the process at once.

use std::time::Duration;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::config::Config;
use crate::jobs;
use crate::metrics;
use crate::postgres;
use crate::services::Services;
pub use crate::web::Workers;
use crate::web::{self, AppState, ConnectionLimits, Gate, ProcessInfo, Readiness};
use crate::wiring::{self, Database};

/// From the signal to the end of the last request; slower requests are cut off.
const DRAIN_MAX: Duration = Duration::from_secs(30);

pub async fn serve(config: &Config, workers: Workers) -> anyhow::Result<()> {
    metrics::begin();
    allow_many_files();
    let mut signals = StopSignals::listen()?;
    let database = tokio::select! {
        started = Database::of_server(config) => started?,
        _ = signals.first() => return stop_starting(signals).await,
    };
    let served = serve_until(config, &database, workers, signals).await;
    database.close().await?;
    served
}

/// After a start was cancelled.
async fn stop_starting(signals: StopSignals) -> anyhow::Result<()> {
    signals.end_at_the_second();
    tracing::info!("stopping before the start has ended");
    // Otherwise the runtime ends first, and with it the supervision.
    postgres::all_stopped().await;
    Ok(())
}

/// Many systems default to 1,024 open files per process, fewer than the client and database connections that
/// may be open.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// Runs jobs without serving requests.
pub async fn work(config: &Config) -> anyhow::Result<()> {
    let mut signals = StopSignals::listen()?;
    // Until PostgreSQL runs or, after a cancelled start, has stopped.
    let starting = Database::command_lock(config).await?;
    let database = tokio::select! {
        started = Database::of_command(config) => started?,
        _ = signals.first() => return stop_starting(signals).await,
    };
    drop(starting);
    let worked = async {
        let services = database.services(config)?;
        wiring::watch_disk(&services);
        let crew = JobWorkers::start(services.for_jobs());
        tracing::info!("running background jobs");
        signals.first().await;
        signals.end_at_the_second();
        tracing::info!("stopping: finishing running jobs");
        crew.stop().await;
        anyhow::Ok(())
    }
    .await;
    database.close().await?;
    worked
}

/// The job workers of this process.
struct JobWorkers {
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl JobWorkers {
    fn start(services: Services) -> Self {
        let (stop, stopped) = watch::channel(false);
        let running = tokio::spawn(jobs::run(services, stopped));
        Self { stop, running }
    }

    /// Begins no further job; jobs in progress put their remaining work back.
    fn stop_claiming(&self) {
        self.stop.send(true).ok();
    }

    async fn stop(self) {
        self.stop_claiming();
        self.running.await.ok();
    }
}

async fn serve_until(
    config: &Config,
    database: &Database,
    workers: Workers,
    mut signals: StopSignals,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {} (KEEPSAKE_LISTEN)", config.listen))?;
    let readiness = Readiness::new(ProcessInfo { workers: Some(workers) });
    let services = database.services(config)?;
    wiring::watch_disk(&services);
    let activity = services.activity.clone();
    let state = wiring::app_state(config, services.clone(), readiness.clone());
    let crew = (workers == Workers::Here).then(|| JobWorkers::start(services.for_jobs()));
    let recorder = tokio::spawn(activity.clone().keep_writing());
    let warming = services.embeddings.clone();
    tokio::spawn(async move { warming.warm_up().await });
    announce(config, &state);
    let (gate, door) = Gate::new(listener, ConnectionLimits::default());
    let (drained_send, drained) = tokio::sync::oneshot::channel::<()>();
    let drained = async {
        drained.await.ok();
    };
    let mut server = tokio::spawn(web::serve(gate, web::router(state), drained));
    tokio::select! {
        ended = &mut server => ended.context("the server stopped unexpectedly")?,
        stop = signals.first() => {
            let began = Instant::now();
            readiness.drain();
            signals.end_at_the_second();
            if let Some(crew) = &crew {
                crew.stop_claiming();
            }
            tracing::info!("stopping: finishing running requests");
            // Ctrl-C at a terminal: there is no load balancer to wait for.
            if stop == StopSignal::Terminate {
                tokio::time::sleep(config.stop_grace).await;
            }
            door.close().await;
            drained_send.send(()).ok();
            if tokio::time::timeout_at(began + DRAIN_MAX, &mut server).await.is_err() {
                tracing::warn!("some requests took longer than {} s and were aborted", DRAIN_MAX.as_secs());
                server.abort();
            }
        }
    }
    if activity.flush().await.is_err() {
        tracing::warn!("the last calls could not be recorded: the database is unreachable");
    }
    recorder.abort();
    if let Some(crew) = crew {
        crew.stop().await;
    }
    Ok(())
}

fn announce(config: &Config, state: &AppState) {
    let islands =
        if state.site.islands_built { "" } else { " (as plain HTML: the islands are not built)" };
    tracing::info!("Keepsake is at {}{islands}", config.public_url.as_str());
}

/// The signal that asked the process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopSignal {
    /// SIGTERM
    Terminate,
    /// Ctrl-C
    Interrupt,
}

impl StopSignal {
    /// 128 plus the signal's number, as shells do.
    fn exit_code(self) -> i32 {
        match self {
            Self::Terminate => 143,
            Self::Interrupt => 130,
        }
    }
}

struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?,
        })
    }

    async fn first(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.interrupt.recv() => StopSignal::Interrupt,
        }
    }

    /// As safe as `kill -9`: what was acknowledged is in the database.
    fn end_at_the_second(mut self) {
        tokio::spawn(async move {
            let again = self.first().await;
            tracing::warn!("second signal: stopping at once");
            std::process::exit(again.exit_code());
        });
    }
}
