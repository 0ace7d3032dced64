//! Writes summaries that are due, a few at once. It needs no job: a user's row says when,
//! the sweep notes whose memory has changed, and whatever was killed in the middle is due
//! again once its lease is over.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::watch;

use super::JobContext;
use crate::consolidation::Consolidation;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Mostly they wait for a model; sessions come first.
const WRITTEN_AT_ONCE: usize = 2;

pub(super) async fn keep_summarizing(context: JobContext, stop: watch::Receiver<bool>) {
    let consolidation = Consolidation::new(context.db, context.embeddings);
    while !*stop.borrow() {
        let due = match consolidation.due_summaries().await {
            Ok(due) => due,
            // The database may be just starting again.
            Err(error) => {
                tracing::warn!(%error, "the summaries to be written could not be looked up; trying again in a moment");
                Vec::new()
            }
        };
        let writing = futures_util::stream::iter(due).for_each_concurrent(WRITTEN_AT_ONCE, |user| {
            let (consolidation, stop) = (&consolidation, &stop);
            async move {
                if *stop.borrow() {
                    return;
                }
                match consolidation.summarize(user).await {
                    Err(error) if !error.is_of_a_gone_user() => {
                        tracing::warn!(user = user.0, %error, "a summary could not be written; trying again after its lease");
                    }
                    _ => {}
                }
            }
        });
        writing.await;
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
