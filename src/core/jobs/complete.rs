//! Completes sessions after 30 idle minutes, and at night after a short pause.

use time::macros::time;

use super::{BackgroundJob, JobWork, NextDue};
use crate::clock::Schedule;
use crate::sessions;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "complete",
    title: "Completion",
    about: "Completes sessions that have been inactive for 30 minutes. At the time of its schedule, 2 minutes are enough.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let nights = context.rounds(&JOB).await?;
            let users = sessions::users_with_still(&context.db, &nights, now).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: Some(Schedule::daily(time!(3:00))),
    at_once: 2,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            let night = context.schedule(&JOB).await?;
            loop {
                let now = context.now();
                match sessions::complete_still(&context.db, user, night, now).await? {
                    0 => return Ok(NextDue::Done),
                    completed => slice.note(completed, 0),
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
