//! At night, before sessions are completed, the chat model reads memories that name few entities.

use time::macros::time;

use super::{BackgroundJob, JobWork};
use crate::clock::Schedule;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "enrich",
    title: "Entity reading",
    about: "Reads memories that name little for people, projects and places with the chat model, 50 of a user a night.",
    work: JobWork::OfUsers(|context| Box::pin(async move { context.due(&JOB).await })),
    schedule: Some(Schedule::daily(time!(2:00))),
    // Runs mostly wait for a model.
    at_once: 4,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            let consolidation = &context.consolidation;
            consolidation.tell_endpoint(user, &slice).await?;
            consolidation.enrich(user, &slice).await?;
            context.done(&JOB, user).await
        })
    },
};
