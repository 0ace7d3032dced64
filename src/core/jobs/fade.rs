//! At night, after sessions were read, archives memories that nobody has used for long.

use time::macros::time;

use super::{BackgroundJob, JobWork, NextDue};
use crate::clock::Schedule;
use crate::memories::fading;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "fade",
    title: "Fading",
    about: "Archives memories that have faded because they were not used, for users who switched this on.",
    work: JobWork::OfUsers(|context| Box::pin(async move { context.due(&JOB).await })),
    schedule: Some(Schedule::daily(time!(4:00))),
    at_once: 2,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                match fading::fade(&context.db, user, context.now()).await? {
                    0 => return context.done(&JOB, user).await,
                    faded => slice.note(faded, 0),
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
