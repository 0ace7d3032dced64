//! Compares what agents add or correct with what was held before.

use super::{BackgroundJob, JobFailure, JobWork, NextDue};
use crate::consolidation::ComparedItems;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "compare",
    title: "Comparison",
    about: "Compares what agents add with what is held, so that what is no longer true is archived.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = context.consolidation.users_uncompared().await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    // Runs mostly wait for a model.
    at_once: 4,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            let consolidation = &context.consolidation;
            consolidation.tell_endpoint(user, &slice).await?;
            loop {
                match consolidation.compare_some(user).await? {
                    ComparedItems::Some(0) => return Ok(NextDue::Done),
                    ComparedItems::Some(compared) => slice.note(compared, 0),
                    ComparedItems::NoAnswer => {
                        // Tried again later and later.
                        let why = "the chat model did not answer; it is asked again later";
                        return Err(JobFailure::Other(why.to_owned()));
                    }
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
