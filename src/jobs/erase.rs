//! Erases the accounts whose erasure has begun, a bounded step after another. It needs
//! no job: it looks at the receipts that are open, of which there is rarely one, and
//! whatever was killed in the middle is found there again.

use std::time::Duration;

use tokio::sync::watch;

use super::JobContext;
use crate::erasure::{self, Step};

const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn keep_erasing(context: JobContext, stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        match erasure::step(&context.db, context.embeddings.now()).await {
            Ok(Step::More) => continue,
            Ok(Step::Finished) => tracing::info!("an account was erased"),
            Ok(Step::Nothing | Step::Waiting) => {}
            // The database may be just starting again; or somebody was adding to what goes.
            Err(error) => {
                tracing::warn!(%error, "a step of an erasure failed; trying again in a moment");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
