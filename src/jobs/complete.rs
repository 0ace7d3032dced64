//! Completes sessions that have been still, and at night those that pause.

use std::time::Duration;

use super::{Job, Next, Work};
use crate::sessions;

pub static JOB: Job = Job {
    name: "complete",
    title: "Completion",
    about: "Completes sessions that have been still for a while, and at 03:00 those that pause.",
    work: Work::OfServer(Duration::from_secs(60)),
    at_once: 1,
    run: |context, _, slice| {
        Box::pin(async move {
            let completed = sessions::complete_still(&context.db, context.now()).await?;
            slice.note(completed, 0);
            Ok(Next::Done)
        })
    },
};
