//! Deletes what has expired: web sessions, links, OAuth clients and grants, old activity, old runs, old changes and
//! events, and the recall state of old sessions.

use std::time::Duration;

use time::Duration as TimeDuration;

use super::{BackgroundJob, JobFailure, JobWork, NextDue};
use crate::accounts::{AccountError, Accounts};
use crate::activity::Activity;
use crate::config::SignUp;
use crate::db::prune_changes;
use crate::memories::feed;
use crate::queue;
use crate::recall;

const RUNS_KEPT: TimeDuration = TimeDuration::days(30);

pub static JOB: BackgroundJob = BackgroundJob {
    name: "cleanup",
    title: "Clean-up",
    about: "Removes web sessions, links and OAuth connections that have expired, activity past its time, and runs older than 30 days.",
    work: JobWork::OfServer(Duration::from_secs(3_600)),
    schedule: None,
    at_once: 1,
    adds: false,
    run: |context, _, slice| {
        Box::pin(async move {
            let clock = context.clock.clone();
            let accounts = Accounts::new(context.db.clone(), clock.clone(), SignUp::Closed);
            let activity = Activity::new(context.db.clone(), clock);
            let web_sessions = accounts.sweep_web_sessions().await;
            let links = accounts.sweep_invitations().await;
            let oauth = accounts.sweep_oauth().await;
            let calls = activity.prune().await;
            let mut conn = context.db.system_connection().await?;
            queue::runs::store::prune_runs(&mut conn, context.now() - RUNS_KEPT).await?;
            while prune_changes(&mut conn, context.now()).await? > 0 {}
            let told = recall::prune(&context.db, context.now()).await?;
            let events = feed::prune(&context.db, context.now()).await?;
            let removed = told + events + web_sessions? + links? + oauth? + calls?.unsigned_abs();
            slice.note(usize::try_from(removed).unwrap_or(usize::MAX), 0);
            Ok(NextDue::Done)
        })
    },
};

impl From<AccountError> for JobFailure {
    fn from(error: AccountError) -> Self {
        Self::Other(error.to_string())
    }
}
