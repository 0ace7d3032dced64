//! On Sunday night, when sessions are completed, the chat model writes what the week was about.

use time::macros::time;
use time::{Duration, Weekday};

use super::{BackgroundJob, JobWork};
use crate::clock::Schedule;
use crate::consolidation::Round;

/// After the model did not answer.
const AGAIN_AFTER: Duration = Duration::hours(1);

pub static JOB: BackgroundJob = BackgroundJob {
    name: "reflect",
    title: "Reflection",
    about: "Writes what a week was about with the chat model, of users of whom three memories or more were kept in it.",
    work: JobWork::OfUsers(|context| Box::pin(async move { context.due(&JOB).await })),
    schedule: Some(Schedule::weekly(Weekday::Sunday, time!(3:00))),
    // Runs mostly wait for a model.
    at_once: 4,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            let consolidation = &context.consolidation;
            consolidation.tell_endpoint(user, &slice).await?;
            match consolidation.reflect(user).await? {
                Round::Written => slice.note(1, 0),
                Round::Nothing(why) => drop(why.map(|why| slice.say(why))),
                Round::Later(why) => {
                    slice.say(why);
                    return context.later(&JOB, user, AGAIN_AFTER).await;
                }
            }
            context.done(&JOB, user).await
        })
    },
};
