//! Turns completed sessions into searchable turns, before any model reads them.

use super::{Job, Next, Work};
use crate::queue;
use crate::sessions::turns;

pub static JOB: Job = Job {
    name: queue::TURNS,
    title: "Turns",
    about: "Makes messages of completed sessions searchable, and removes them from search when they expire or when a user switches this off.",
    work: Work::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = turns::users_due(&context.db, now).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 2,
    run: |context, user, slice| {
        Box::pin(async move {
            while turns::remove_some(&context.db, user, context.now()).await? {
                if slice.is_over() {
                    return Ok(Next::More(1));
                }
            }
            loop {
                let due = turns::due_of(&context.db, user).await?;
                let mut is_idle = true;
                for session in &due {
                    if slice.is_over() {
                        return Ok(Next::More(due.len()));
                    }
                    if turns::make_some(&context.db, &context.embeddings, *session).await? {
                        is_idle = false;
                        slice.note(1, 0);
                    }
                }
                if is_idle {
                    return Ok(Next::Done);
                }
            }
        })
    },
};
