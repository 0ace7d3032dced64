//! Makes the turns of messages that the transaction which added them did not make, and removes turns.

use super::{BackgroundJob, JobWork, NextDue};
use crate::queue;
use crate::sessions::{given, turns};

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::TURNS,
    title: "Turns",
    about: "Makes messages searchable that were not yet when they were handed over, and removes messages from search when they expire or when a user switches this off. Keeps ids in place of memory in messages of earlier versions.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let mut users = turns::users_due(&context.db, now).await?;
            users.extend(given::users_unconverted(&context.db).await?);
            users.sort_unstable_by_key(|user| user.0);
            users.dedup();
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 2,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            while given::convert_some(&context.db, user, None).await? {
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
            while turns::remove_some(&context.db, user, context.now()).await? {
                if slice.is_over() {
                    return Ok(NextDue::More(1));
                }
            }
            if let Some(again) = context.quota().full_until(user, &slice).await? {
                return Ok(NextDue::At(again));
            }
            loop {
                let due = turns::due_of(&context.db, user).await?;
                let mut is_idle = true;
                for session in &due {
                    if slice.is_over() {
                        return Ok(NextDue::More(due.len()));
                    }
                    if turns::make_some(&context.db, &context.embeddings, *session).await? {
                        is_idle = false;
                        slice.note(1, 0);
                    }
                }
                if is_idle {
                    return Ok(NextDue::Done);
                }
            }
        })
    },
};
