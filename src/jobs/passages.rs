//! Creates passages for texts that were stored before passages existed.

use super::{Job, Next, Work};
use crate::memories::passages;

pub static JOB: Job = Job {
    name: "passages",
    title: "Passages",
    about: "Prepares memories of an older version for search.",
    work: Work::OfUsers(|context| {
        Box::pin(async move {
            let now = context.now();
            let users = passages::users_due(&context.db).await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 2,
    run: |context, user, slice| {
        Box::pin(async move {
            loop {
                let made = passages::make_some(&context.db, &context.embeddings, user).await;
                match made? {
                    None => return Ok(Next::Done),
                    Some(sources) => slice.note(sources, 0),
                }
                if slice.is_over() {
                    return Ok(Next::More(1));
                }
            }
        })
    },
};
