//! Deletes memories for good, once their undo period is over.

use super::{BackgroundJob, JobWork, NextDue};
use crate::{erasure, memories, queue};

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::DELETE,
    title: "Deletion",
    about: "Deletes memories permanently, as requested.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move { Ok(memories::manage::users_with_deletions(&context.db).await?) })
    }),
    schedule: None,
    at_once: 2,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                let now = context.now();
                let (deleted, next) =
                    erasure::items_due(&context.db, &context.activity, user, now).await?;
                slice.note(deleted, 0);
                if deleted > 0 {
                    context.search.reader().forget(user);
                }
                match next {
                    None => return Ok(NextDue::Done),
                    Some(at) if at > now => return Ok(NextDue::At(at)),
                    Some(_) if slice.is_over() => return Ok(NextDue::More(1)),
                    Some(_) => {}
                }
            }
        })
    },
};
