//! Deletes for good what people have chosen, once the time for Undo is over.

use super::{BackgroundJob, JobWork, NextDue};
use crate::erasure::ErasureStep;
use crate::{erasure, queue};

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::DELETE,
    title: "Deletion",
    about: "Deletes permanently what people have chosen on pages, once the time for Undo is over.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move { Ok(erasure::users_with_deletions(&context.db).await?) })
    }),
    schedule: None,
    at_once: 2,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                let now = context.now();
                let (step, next) =
                    erasure::step_of_due(&context.db, &context.activity, user, now).await?;
                match (step, next) {
                    (ErasureStep::Nothing, None) => return Ok(NextDue::Done),
                    (ErasureStep::Nothing, Some(at)) => return Ok(NextDue::At(at)),
                    _ => {}
                }
                slice.note(1, 0);
                context.search.reader().forget(user);
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
