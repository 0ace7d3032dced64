//! Erases accounts in bounded steps.

use time::Duration;

use super::{Job, Next, Work};
use crate::erasure::{self, Step};
use crate::queue;

/// Retry delay while another job of the account runs.
const LOOK_AGAIN_AFTER: Duration = Duration::seconds(1);

pub static JOB: Job = Job {
    name: queue::ERASE,
    title: "Erasure",
    about: "Deletes accounts permanently, as requested.",
    work: Work::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = erasure::users_due(&context.db).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 1,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                let now = context.now();
                context.search.reader().forget(user);
                match erasure::step(&context.db, user, now).await? {
                    Step::More if slice.is_over() => return Ok(Next::More(1)),
                    Step::More => {}
                    Step::Waiting => return Ok(Next::At(now + LOOK_AGAIN_AFTER)),
                    Step::Finished => {
                        tracing::info!("an account was erased");
                        return Ok(Next::Done);
                    }
                    Step::Nothing => return Ok(Next::Done),
                }
            }
        })
    },
};
