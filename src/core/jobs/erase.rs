//! Erases accounts in bounded steps.

use time::Duration;

use super::{BackgroundJob, JobWork, NextDue};
use crate::erasure::{self, ErasureStep};
use crate::queue;

/// Retry delay while another job of the account runs.
const LOOK_AGAIN_AFTER: Duration = Duration::seconds(1);

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::ERASE,
    title: "Erasure",
    about: "Deletes accounts permanently, as requested.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = erasure::users_due(&context.db).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 1,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                let now = context.now();
                context.search.reader().forget(user);
                match erasure::step(&context.db, user, now).await? {
                    ErasureStep::More if slice.is_over() => return Ok(NextDue::More(1)),
                    ErasureStep::More => {}
                    ErasureStep::Waiting => return Ok(NextDue::At(now + LOOK_AGAIN_AFTER)),
                    ErasureStep::Finished => {
                        tracing::info!("an account was erased");
                        return Ok(NextDue::Done);
                    }
                    ErasureStep::Nothing => return Ok(NextDue::Done),
                }
            }
        })
    },
};
