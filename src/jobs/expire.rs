//! Archives memories whose time is over.

use std::time::Duration;

use super::{Job, Next, Work};
use crate::memories;

pub static JOB: Job = Job {
    name: "expire",
    title: "Expiry",
    about: "Archives memories that have expired.",
    work: Work::OfServer(Duration::from_secs(60)),
    at_once: 1,
    run: |context, _, slice| {
        Box::pin(async move {
            let expired = memories::sweep_expired(&context.db, context.now()).await?;
            slice.note(usize::try_from(expired).unwrap_or(usize::MAX), 0);
            Ok(Next::Done)
        })
    },
};
