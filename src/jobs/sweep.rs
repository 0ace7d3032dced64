//! The sweep, at the start, every minute, and after a worker ended. Two servers may both sweep: a user
//! gets one job all the same.

use std::sync::Arc;
use std::time::Duration;

use time::Duration as TimeDuration;
use tokio::sync::{Notify, watch};

use super::JobContext;
use crate::consolidation::Consolidation;
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
            Ok(()) => drop(tokio::time::timeout(SWEEP_EVERY, worker_ended.notified()).await),
            Err(error) => {
                tracing::warn!(%error, "the sweep failed; trying again");
                tokio::time::sleep(RETRY_AFTER).await;
            }
        }
    }
}

async fn once(context: &JobContext) -> anyhow::Result<()> {
    context.embeddings.take_offered().await?;
    context.embeddings.sweep().await?;
    sessions::complete_still(&context.db, context.embeddings.now()).await?;
    sessions::turns::remove_off(&context.db).await?;
    memories::sweep_expired(&context.db, context.embeddings.now()).await?;
    let consolidation = Consolidation::new(context.db.clone(), context.embeddings.clone());
    consolidation.sweep_summaries().await?;
    let mut conn = context.db.system_connection().await?;
    let now = context.embeddings.now();
    queue::store::prune(&mut conn, now - ENDED_JOBS_KEPT).await?;
    metrics::swept(now);
    Ok(())
}
