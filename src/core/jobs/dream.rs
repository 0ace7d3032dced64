//! After several sessions have ended and nothing was added for a while, the chat model reads their episodes
//! together.

use time::Duration;

use super::{BackgroundJob, JobWork};
use crate::consolidation::{Round, dreaming};

/// Users per look-up.
const USERS_MAX: i64 = 1_000;
/// After a dream, whatever its outcome.
const NEXT_AFTER: Duration = dreaming::QUIET_FOR;
/// After the model did not answer.
const AGAIN_AFTER: Duration = Duration::hours(1);

pub static JOB: BackgroundJob = BackgroundJob {
    name: "dream",
    title: "Dreaming",
    about: "Writes what lasts of five sessions or more with the chat model, and proposes which memories belong together.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = dreaming::users_due(&context.db, now, USERS_MAX).await?;
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
            match consolidation.dream(user).await? {
                Round::Written => {
                    slice.note(1, 0);
                    context.done_for(&JOB, user, NEXT_AFTER).await
                }
                Round::Nothing(why) => {
                    if let Some(why) = why {
                        slice.say(why);
                    }
                    context.later(&JOB, user, NEXT_AFTER).await
                }
                Round::Later(why) => {
                    slice.say(why);
                    context.later(&JOB, user, AGAIN_AFTER).await
                }
            }
        })
    },
};
