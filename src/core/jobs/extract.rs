//! Extracts memories from completed sessions. The ledger holds what is due.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use super::{BackgroundJob, JobFailure, JobWork, NextDue};
use crate::consolidation::ConsolidationError;
use crate::queue;

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::EXTRACT,
    title: "Sessions",
    about: "Extracts memories from completed sessions with the chat model.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let consolidation = &context.consolidation;
            let users = consolidation.users_with_sessions_due().await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    // Runs mostly wait for a model.
    at_once: 8,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            let consolidation = &context.consolidation;
            consolidation.tell_endpoint(user, &slice).await?;
            while let Some((due, at)) = consolidation.next_due(user).await? {
                if at > context.now() {
                    return Ok(NextDue::At(at));
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
                let reading = AssertUnwindSafe(consolidation.extract(due)).catch_unwind();
                match reading.await {
                    Ok(ended) => ended?,
                    Err(_) => consolidation.record_panic(due).await?,
                }
                slice.note(1, 0);
            }
            Ok(NextDue::Done)
        })
    },
};

impl From<ConsolidationError> for JobFailure {
    fn from(error: ConsolidationError) -> Self {
        match error {
            ConsolidationError::Database(error) => error.into(),
            error if error.is_of_a_gone_user() => Self::Gone,
            other => Self::Other(other.to_string()),
        }
    }
}
