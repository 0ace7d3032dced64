//! Deletes memories for good, once their undo period is over.

use super::{Job, Next, Work};
use crate::{erasure, memories, queue};

pub static JOB: Job = Job {
    name: queue::DELETE,
    title: "Deletion",
    about: "Deletes memories permanently, as requested.",
    work: Work::OfUsers(|context| {
        Box::pin(async move { Ok(memories::manage::users_with_deletions(&context.db).await?) })
    }),
    schedule: None,
    at_once: 2,
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
                    None => return Ok(Next::Done),
                    Some(at) if at > now => return Ok(Next::At(at)),
                    Some(_) if slice.is_over() => return Ok(Next::More(1)),
                    Some(_) => {}
                }
            }
        })
    },
};
