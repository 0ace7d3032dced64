//! Counts what users store, for the limit of bytes and for what pages show (src/core/quota).

use super::{BackgroundJob, JobWork, NextDue};
use crate::queue;
use crate::quota::Counted;

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::STORAGE,
    title: "Storage",
    about: "Counts the bytes that each user stores, soon after something was deleted or much was added.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = context.quota().users_due().await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 1,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            let db = context.db.with_job_timeout();
            Ok(match context.quota().count(&db, user).await? {
                Counted::At(at) => NextDue::At(at),
                Counted::Done => {
                    slice.note(1, 0);
                    NextDue::Done
                }
            })
        })
    },
};
