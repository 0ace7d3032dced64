//! Asks every job who has work, and pushes what is missing from the queue, so that lost pushes are recovered.
//! A failure in one job does not stop the others.

use std::time::Duration;

use super::{BackgroundJob, JOBS, JobFailure, JobWork, NextDue, Services};
use crate::db::UserId;
use crate::queue::SERVER;
use crate::{metrics, queue};

pub static JOB: BackgroundJob = BackgroundJob {
    name: "sweep",
    title: "Sweep",
    about: "Finds work that no event has started.",
    work: JobWork::OfServer(Duration::from_secs(60)),
    schedule: None,
    at_once: 1,
    adds: false,
    run: |context, _, slice| {
        Box::pin(async move {
            let mut failed = None;
            for job in JOBS {
                match push_missing(job, &context).await {
                    Ok(found) => slice.note(found, 0),
                    Err(failure) => {
                        tracing::warn!(job = job.name, %failure, "a job's work could not be looked up");
                        failed = Some(failure);
                    }
                }
            }
            let mut conn = context.db.system_connection().await?;
            queue::store::remove_orphans(&mut conn).await?;
            match failed {
                Some(failure) => Err(failure),
                None => {
                    metrics::swept(context.now());
                    Ok(NextDue::Done)
                }
            }
        })
    },
};

/// Makes the job due now, for one user or for all that have work.
pub async fn ask_for(
    job: &BackgroundJob,
    context: &Services,
    user: Option<UserId>,
) -> Result<(), JobFailure> {
    let now = context.now();
    let user = match job.work {
        JobWork::OfServer(_) => Some(SERVER),
        JobWork::OfUsers(_) => user,
    };
    let Some(user) = user else {
        push_missing(job, context).await?;
        return Ok(());
    };
    let mut conn = context.db.system_connection().await?;
    Ok(queue::push_now(&mut conn, user, job.name, now).await?)
}

/// Returns how many users have work.
async fn push_missing(job: &BackgroundJob, context: &Services) -> Result<usize, JobFailure> {
    let now = context.now();
    let found = match job.work {
        JobWork::OfUsers(find) => find(context.clone()).await?,
        // Restores a missing row, and lowers a time that a clock running ahead has set too far in the future.
        JobWork::OfServer(every) => vec![(SERVER, now + every)],
    };
    let mut conn = context.db.system_connection().await?;
    queue::push_found(&mut conn, job.name, &found, now).await?;
    Ok(match job.work {
        JobWork::OfUsers(_) => found.len(),
        JobWork::OfServer(_) => 0,
    })
}
