//! Maintains entities: looks for new names in older texts, and compares new entities with existing ones.

use super::{BackgroundJob, JobWork, NextDue};
use crate::entities::upkeep;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "entities",
    title: "Entities",
    about: "Links earlier memories to new names, and compares new entities with the others.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = upkeep::users_due(&context.db).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 2,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            let search = context.search.for_jobs();
            loop {
                match upkeep::step(&search, user, context.now()).await? {
                    None => return Ok(NextDue::Done),
                    Some(done) => slice.note(done, 0),
                }
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
        })
    },
};
