//! Archives expired memories, lets those that begin to hold take their place, and deletes expired episodes.

use super::{BackgroundJob, JobWork, NextDue};
use crate::consolidation::episodes;
use crate::memories;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "expire",
    title: "Expiry",
    about: "Archives expired memories, lets what begins take the place of what held, and removes expired episodes.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = memories::users_with_expired(&context.db, now).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 2,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                let archived = memories::archive_expired(&context.db, user, context.now()).await?;
                let turned = memories::turn(&context.db, user, context.now()).await?;
                let removed = episodes::remove_expired(&context.db, user, context.now()).await?;
                match archived + turned + removed {
                    0 => return Ok(NextDue::Done),
                    ended => slice.note(ended, 0),
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
