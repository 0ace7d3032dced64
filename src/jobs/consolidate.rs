//! Reads completed sessions, a few at once and one of a user at a time. It needs no job:
//! the ledger says what is due, and whatever was killed in the middle is due again once
//! its lease is over.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::watch;

use super::JobContext;
use crate::consolidation::Consolidation;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Mostly they wait for a model.
const READ_AT_ONCE: usize = 4;

pub(super) async fn keep_reading(context: JobContext, stop: watch::Receiver<bool>) {
    let consolidation = Consolidation::new(context.db, context.embeddings);
    while !*stop.borrow() {
        let due = match consolidation.due().await {
            Ok(due) => due,
            // The database may be just starting again.
            Err(error) => {
                tracing::warn!(%error, "the sessions to be read could not be looked up; trying again in a moment");
                Vec::new()
            }
        };
        let is_idle = due.is_empty();
        let reading = futures_util::stream::iter(due).for_each_concurrent(READ_AT_ONCE, |one| {
            let (consolidation, stop) = (&consolidation, &stop);
            async move {
                if *stop.borrow() {
                    return;
                }
                match consolidation.extract(one).await {
                    Err(error) if !error.is_of_a_gone_user() => {
                        tracing::warn!(user = one.user.0, %error, "a session could not be read; trying again after its lease");
                    }
                    _ => {}
                }
            }
        });
        reading.await;
        if is_idle {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
