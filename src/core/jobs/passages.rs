//! Creates passages for texts that were stored before passages existed.

use super::{BackgroundJob, JobWork, NextDue};
use crate::memories::passages;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "passages",
    title: "Passages",
    about: "Prepares memories of an older version for search.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = passages::users_due(&context.db).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 2,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                let made = passages::make_some(&context.db, &context.embeddings, user).await;
                match made? {
                    None => return Ok(NextDue::Done),
                    Some(sources) => slice.note(sources, 0),
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
