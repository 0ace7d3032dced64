//! The server's life: start, answer, drain, stop. On SIGTERM or Ctrl-C ready
//! goes 503 at once, requests under way are finished, then the database stops.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::db::Db;
use crate::embedding::Embeddings;
use crate::jobs::{self, JobContext};
use crate::web::{self, AppState, Readiness};
use crate::wiring::{self, Database};

/// Requests that take longer are cut off when the server stops.
const DRAIN_MAX: Duration = Duration::from_secs(30);
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);

/// Whether a process also works off jobs, or leaves them to `keepsake work`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    Here,
    Elsewhere,
}

pub async fn serve(config: &Config, workers: Workers) -> anyhow::Result<()> {
    let mut stop = std::pin::pin!(stop_signal()?);
    let database = tokio::select! {
        started = Database::of_server(config) => started?,
        () = &mut stop => return Ok(()),
    };
    let served = serve_until(config, &database, workers, stop).await;
    database.close().await?;
    served
}

/// Works off jobs, and serves nobody.
pub async fn work(config: &Config) -> anyhow::Result<()> {
    let mut stop = std::pin::pin!(stop_signal()?);
    let database = tokio::select! {
        started = Database::of_command(config) => started?,
        () = &mut stop => return Ok(()),
    };
    let worked = async {
        let embeddings = wiring::embeddings(config, &database.db)?;
        let crew = Crew::start(&database.db, &embeddings);
        tracing::info!("working off jobs");
        stop.await;
        tracing::info!("stopping: finishing the jobs under way");
        crew.stop().await;
        anyhow::Ok(())
    }
    .await;
    database.close().await?;
    worked
}

/// The workers of this process.
struct Crew {
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl Crew {
    fn start(db: &Db, embeddings: &Embeddings) -> Self {
        let (stop, stopped) = watch::channel(false);
        let context = JobContext {
            db: db.clone(),
            embeddings: embeddings.clone(),
        };
        let running = tokio::spawn(jobs::run(context, stopped));
        Self { stop, running }
    }

    async fn stop(self) {
        self.stop.send(true).ok();
        self.running.await.ok();
    }
}

async fn serve_until(
    config: &Config,
    database: &Database,
    workers: Workers,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {} (KEEPSAKE_LISTEN)", config.listen))?;
    let readiness = Readiness::default();
    let embeddings = wiring::embeddings(config, &database.db)?;
    let state = wiring::app_state(config, &database.db, &embeddings, readiness.clone());
    let crew = (workers == Workers::Here).then(|| Crew::start(&database.db, &embeddings));
    let sweeper = tokio::spawn(sweep(state.clone()));
    let activity = state.activity.clone();
    let recorder = tokio::spawn(activity.clone().keep_writing());
    let warming = embeddings.clone();
    tokio::spawn(async move { warming.warm_up().await });
    announce(config, &state);
    let (drained_send, drained) = tokio::sync::oneshot::channel::<()>();
    let service = web::router(state).into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener, service).with_graceful_shutdown(async {
        drained.await.ok();
    });
    let mut server = std::pin::pin!(server.into_future());
    tokio::select! {
        ended = &mut server => ended.context("the server ended by itself")?,
        () = stop => {
            tracing::info!("stopping: finishing the requests under way");
            readiness.drain();
            drained_send.send(()).ok();
            if tokio::time::timeout(DRAIN_MAX, server).await.is_err() {
                tracing::warn!("some requests took longer than {} s and were cut off", DRAIN_MAX.as_secs());
            }
        }
    }
    sweeper.abort();
    if activity.flush().await.is_err() {
        tracing::warn!("the last calls could not be recorded: the database cannot be reached");
    }
    recorder.abort();
    if let Some(crew) = crew {
        crew.stop().await;
    }
    Ok(())
}

fn announce(config: &Config, state: &AppState) {
    let islands = if state.site.islands_built {
        ""
    } else {
        " (as plain HTML: the islands are not built)"
    };
    tracing::info!("Keepsake is at {}{islands}", config.public_url.origin());
}

async fn sweep(state: AppState) {
    let mut tick = tokio::time::interval(SWEEP_EVERY);
    loop {
        tick.tick().await;
        if let Err(error) = state.accounts.sweep_web_sessions().await {
            tracing::warn!(%error, "web sessions that ran out could not be removed; trying again in an hour");
        }
        if let Err(error) = state.accounts.sweep_invitations().await {
            tracing::warn!(%error, "old invitations could not be removed; trying again in an hour");
        }
        if let Err(error) = state.activity.prune().await {
            tracing::warn!(%error, "old activity could not be removed; trying again in an hour");
        }
    }
}

/// SIGTERM or Ctrl-C.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
