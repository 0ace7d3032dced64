//! The workers: apalis fetches jobs, and each calls one operation of the domain.
//! They end only when the server does: whatever ends a worker, it is started
//! again, under a new name.
//!
//! What apalis 1.0 needs (FACTS), besides what `queue` does:
//! - *a restart under the same name strands its jobs*: a name is unique for
//!   each start of a worker;
//! - *orphans wait five minutes*: the heartbeat is short, and the sweep does not
//!   wait for orphans at all, since a running job holds no key;
//! - *a job that kills its worker comes back for ever*: attempts are counted here;
//! - *an idle worker looks every 30 s*: it listens, and looks every second;
//! - *any database error ends the worker*: it is started again.

mod consolidate;
mod embed;
mod erase;
mod summarize;
mod sweep;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::{BackendExt, Strategy, WorkerBuilder, WorkerBuilderExt, WorkerContext};
use apalis_postgres::{Config, PostgresStorage, Pubsub};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use crate::db::Db;
use crate::embedding::Embeddings;
use crate::queue::EMBED_QUEUE;

/// Most of them gather (`embed`).
const JOBS_AT_ONCE: usize = 16;
const POLL_EVERY: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_secs(5);
const HEARTBEATS_MISSED: usize = 4;
const RESTART_AFTER: Duration = Duration::from_secs(1);
/// A job under way when the server stops has this long.
const DRAIN_MAX: Duration = Duration::from_secs(25);

/// What jobs work with.
#[derive(Clone)]
pub struct JobContext {
    pub db: Db,
    pub embeddings: Embeddings,
}

/// Runs the workers, the sweep, what erases accounts, what reads sessions and makes their
/// turns, and what writes summaries, until `stop` turns true.
pub async fn run(context: JobContext, stop: watch::Receiver<bool>) {
    let ended_once = Arc::new(Notify::new());
    let sweeping = tokio::spawn(sweep::every_minute(
        context.clone(),
        stop.clone(),
        ended_once.clone(),
    ));
    let reading = tokio::spawn(consolidate::keep_reading(context.clone(), stop.clone()));
    let making = tokio::spawn(turns::keep_making(context.clone(), stop.clone()));
    let summarizing = tokio::spawn(summarize::keep_summarizing(context.clone(), stop.clone()));
    let erasing = tokio::spawn(erase::keep_erasing(context.clone(), stop.clone()));
    let turns = embed::Turns::default();
    while !*stop.borrow() {
        let ended = run_worker(&context, &turns, stop.clone()).await;
        if !*stop.borrow() {
            let reason = ended.err().map(|error| error.to_string());
            tracing::warn!(reason, "the worker ended; starting another");
            // What it was at, nobody is at now.
            ended_once.notify_one();
            tokio::time::sleep(RESTART_AFTER).await;
        }
    }
    sweeping.abort();
    erasing.abort();
    reading.abort();
    making.abort();
    summarizing.abort();
}

/// One sweep, as [`run`] makes every minute; false where a step failed.
pub async fn sweep(context: &JobContext) -> bool {
    sweep::once(context).await
}

async fn run_worker(
    context: &JobContext,
    turns: &embed::Turns,
    mut stop: watch::Receiver<bool>,
) -> Result<(), apalis::prelude::WorkerError> {
    let config = Config::default()
        .queue(EMBED_QUEUE)
        .batch_size(JOBS_AT_ONCE)
        .heartbeat_interval(HEARTBEAT)
        .missed_heartbeats(HEARTBEATS_MISSED);
    let backend = PostgresStorage::new(context.db.worker_pool())
        .with_config(config)
        .poll_with_strategy(
            Strategy::new()
                .stream(Pubsub::new(
                    context.db.worker_pool().clone(),
                    EMBED_QUEUE.to_owned(),
                ))
                .interval(POLL_EVERY),
        );
    let worker_context = WorkerContext::new(&format!("{EMBED_QUEUE}-{}", Uuid::new_v4()));
    let worker = WorkerBuilder::new(&worker_context)
        .backend(backend)
        .concurrency(JOBS_AT_ONCE)
        .data(context.clone())
        .data(turns.clone())
        .build(embed::run);
    let mut running = std::pin::pin!(worker.run());
    tokio::select! {
        ended = &mut running => ended,
        () = stopped(&mut stop) => {
            worker_context.stop().ok();
            tokio::time::timeout(DRAIN_MAX, running).await.unwrap_or(Ok(()))
        }
    }
}

/// A sender that is gone means the same.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    stop.wait_for(|stop| *stop).await.ok();
}
