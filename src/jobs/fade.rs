//! At night memories that nobody has used for long are archived, after sessions were read.

use time::macros::time;

use super::{Job, Next, Work};
use crate::clock::Schedule;
use crate::memories::fading;

pub static JOB: Job = Job {
    name: "fade",
    title: "Fading",
    about: "Archives memories that nobody has used for so long that they are weak, for users who have it on.",
    work: Work::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let nights = context.rounds(&JOB).await?;
            let users = fading::users_due(&context.db, &nights).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: Some(Schedule::daily(time!(4:00))),
    at_once: 2,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                match fading::fade(&context.db, user, context.now()).await? {
                    0 => return Ok(Next::Done),
                    faded => slice.note(faded, 0),
                }
                if slice.is_over() {
                    return Ok(Next::More(1));
                }
            }
        })
    },
};
