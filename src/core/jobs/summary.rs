//! Writes the summaries that are due.

use super::{BackgroundJob, JobWork, NextDue};
use crate::queue;

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::SUMMARY,
    title: "Summaries",
    about: "Writes the summary after a user's memories have changed.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let consolidation = &context.consolidation;
            consolidation.sweep_summaries().await?;
            let users = consolidation.due_summaries().await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 4,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            let consolidation = &context.consolidation;
            consolidation.tell_endpoint(user, &slice).await?;
            if consolidation.summarize(user).await? {
                slice.note(1, 0);
            }
            Ok(NextDue::Done)
        })
    },
};
