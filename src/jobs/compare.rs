//! Compares what agents add or correct with what was held before.

use time::Duration;

use super::{BackgroundJob, JobWork, NextDue};
use crate::consolidation::ComparedItems;

/// Until a chat model that did not answer is asked again.
const ASKED_AGAIN: Duration = Duration::minutes(10);

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
    run: |context, user, slice| {
        Box::pin(async move {
            let consolidation = &context.consolidation;
            consolidation.tell_endpoint(user, &slice).await?;
            loop {
                match consolidation.compare_some(user).await? {
                    ComparedItems::Some(0) => return Ok(NextDue::Done),
                    ComparedItems::Some(compared) => slice.note(compared, 0),
                    ComparedItems::NoAnswer => {
                        slice.say("the chat model did not answer; it is asked again later");
                        return Ok(NextDue::At(context.now() + ASKED_AGAIN));
                    }
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
