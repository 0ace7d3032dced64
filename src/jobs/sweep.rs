//! The sweep, at the start, every minute, and after a worker ended. Two servers may both sweep: a user
//! gets one job all the same. One user's trouble holds up no other user and no other step.

use std::sync::Arc;
use std::time::Duration;

use time::{Duration as TimeDuration, OffsetDateTime};
use tokio::sync::{Notify, watch};

use super::JobContext;
use crate::consolidation::Consolidation;
use crate::db::Db;
use crate::{memories, metrics, queue, sessions};

const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// After a failure; the database may be just starting again.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// Ended jobs are kept this long, for whoever looks at the queue.
const ENDED_JOBS_KEPT: TimeDuration = TimeDuration::hours(1);

pub(super) async fn every_minute(
    context: JobContext,
    stop: watch::Receiver<bool>,
    worker_ended: Arc<Notify>,
) {
    while !*stop.borrow() {
        match once(&context).await {
            // Elapsed or notified, it is time for the next one.
            true => drop(tokio::time::timeout(SWEEP_EVERY, worker_ended.notified()).await),
            false => tokio::time::sleep(RETRY_AFTER).await,
        }
    }
}

/// Every step, whatever becomes of those before it; false where one failed.
pub(super) async fn once(context: &JobContext) -> bool {
    let (db, embeddings) = (&context.db, &context.embeddings);
    let now = embeddings.now();
    let consolidation = Consolidation::new(db.clone(), embeddings.clone());
    let is_whole = [
        ended("the offered provider", embeddings.take_offered().await),
        ended("embedding", embeddings.sweep().await),
        ended("sessions", sessions::complete_still(db, now).await),
        ended("turns", sessions::turns::remove_off(db).await),
        ended("expiry", memories::sweep_expired(db, now).await),
        ended("summaries", consolidation.sweep_summaries().await),
        ended("the queue", prune_queue(db, now).await),
    ]
    .into_iter()
    .all(|is_done| is_done);
    if is_whole {
        metrics::swept(now);
    }
    is_whole
}

fn ended<T, E: std::fmt::Display>(step: &'static str, done: Result<T, E>) -> bool {
    if let Err(error) = &done {
        tracing::warn!(%error, step, "a step of the sweep failed; trying again");
    }
    done.is_ok()
}

async fn prune_queue(db: &Db, now: OffsetDateTime) -> Result<(), sqlx::Error> {
    let mut conn = db.system_connection().await?;
    queue::store::prune(&mut conn, now - ENDED_JOBS_KEPT).await?;
    Ok(())
}
