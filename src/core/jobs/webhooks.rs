//! Tells webhooks what happened.

use super::{BackgroundJob, JobWork, NextDue};
use crate::webhooks::DeliveryRound;

pub static JOB: BackgroundJob = BackgroundJob {
    name: "webhooks",
    title: "Webhooks",
    about: "Sends what happened to the addresses that users have given.",
    work: JobWork::OfUsers(|context| {
        Box::pin(async move { Ok(context.webhooks.users_due().await?) })
    }),
    schedule: None,
    // Runs mostly wait for somebody else's server.
    at_once: 16,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move {
            Ok(match context.webhooks.deliver(user, &slice).await? {
                DeliveryRound::Done => NextDue::Done,
                DeliveryRound::More => NextDue::More(1),
                DeliveryRound::Later(at) => NextDue::At(at),
            })
        })
    },
};
