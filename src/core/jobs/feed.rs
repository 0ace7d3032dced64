//! Every few seconds, looks which webhooks are behind the stream of events, in one query for all users. So nothing is
//! pushed where a memory is changed.

use std::time::Duration;

use super::{BackgroundJob, JobWork, NextDue, webhooks};
use crate::queue;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "feed",
    title: "Events for webhooks",
    about: "Looks for events that webhooks have not been told yet.",
    work: JobWork::OfServer(Duration::from_secs(5)),
    schedule: None,
    at_once: 1,
    adds: false,
    run: |context, _, _| {
        Box::pin(async move {
            let found = context.webhooks.users_due().await?;
            if !found.is_empty() {
                let mut conn = context.db.system_connection().await?;
                queue::push_found(&mut conn, webhooks::JOB.name, &found, context.now()).await?;
            }
            Ok(NextDue::Done)
        })
    },
};
