//! One turn of work on one user's vectors.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration as StdDuration, Instant};

use apalis::prelude::{AbortError, Attempt, BoxDynError, Data};

use futures_util::FutureExt;
use time::Duration;
use tokio::sync::Semaphore;
use tracing::Instrument;

use super::JobContext;
use crate::db::UserId;
use crate::embedding::Drained;
use crate::evaluation::Evaluation;
use crate::metrics;
use crate::queue::{self, EMBED_QUEUE, EmbedJob};

/// A job that came back so often has killed its worker each time.
const ATTEMPTS_MAX: usize = 5;
/// After a turn that failed, which is the database's doing or ours, not the provider's.
const RETRY_AFTER: Duration = Duration::seconds(5);
/// What is added this soon after a job has come belongs to it: an agent that adds one by one
/// does not make a job of each.
const GATHERED_FOR: StdDuration = StdDuration::from_millis(30);
/// The same for a user whose last turn has ended within this [`STREAM`]: who adds on and on is
/// worked off a few times a second, not thirty times.
const GATHERED_OF_A_STREAM_FOR: StdDuration = StdDuration::from_millis(250);
const STREAM: StdDuration = StdDuration::from_secs(1);
/// Users whose vectors are worked on at once, by one process.
const WORKED_ON_AT_ONCE: usize = 4;

/// What the turns of one process know of each other.
#[derive(Clone)]
pub(super) struct Turns {
    /// How each user's last turn ended, if it was within [`STREAM`].
    ended: Arc<Mutex<HashMap<UserId, Ended>>>,
    /// To gather takes no permit, to work does.
    permits: Arc<Semaphore>,
}

#[derive(Clone, Copy)]
struct Ended {
    at: Instant,
    has_more: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            ended: Arc::default(),
            permits: Arc::new(Semaphore::new(WORKED_ON_AT_ONCE)),
        }
    }
}

impl Turns {
    /// How long to wait for what may be added besides. Nothing for a turn that goes on where the last left off.
    fn gathering(&self, user: UserId) -> StdDuration {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match ended.get(&user) {
            Some(last) if last.at.elapsed() > STREAM => GATHERED_FOR,
            Some(Ended { has_more: true, .. }) => StdDuration::ZERO,
            Some(_) => GATHERED_OF_A_STREAM_FOR,
            None => GATHERED_FOR,
        }
    }

    fn note(&self, user: UserId, has_more: bool) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.retain(|_, last| last.at.elapsed() <= STREAM);
        let at = Instant::now();
        ended.insert(user, Ended { at, has_more });
    }
}

pub(super) async fn run(
    job: EmbedJob,
    attempt: Attempt,
    context: Data<JobContext>,
    turns: Data<Turns>,
) -> Result<(), BoxDynError> {
    let began = Instant::now();
    let span = tracing::error_span!("job", queue = EMBED_QUEUE);
    let ended = turn(job, attempt, context, turns).instrument(span).await;
    let outcome = if ended.is_ok() { "ok" } else { "failed" };
    metrics::job_ended(EMBED_QUEUE, outcome, began.elapsed());
    ended
}

async fn turn(
    job: EmbedJob,
    attempt: Attempt,
    context: Data<JobContext>,
    turns: Data<Turns>,
) -> Result<(), BoxDynError> {
    let user = UserId(job.user_id);
    if attempt.current() > ATTEMPTS_MAX {
        tracing::error!(
            user = user.0,
            attempts = attempt.current(),
            "a job is given up; the sweep will make another"
        );
        return Err(AbortError::new("the job came back too often").into());
    }
    tokio::time::sleep(turns.gathering(user)).await;
    let _permit = turns.permits.acquire().await?;
    let mut conn = context.db.worker_pool().acquire().await?;
    queue::started(&mut conn, user).await?;
    drop(conn);
    // A failure is no retry of apalis', which would come at once, again and again: a new job
    // comes in a moment, and where not even that can be written, the sweep finds the rows.
    let in_a_moment = || Drained::Later(context.embeddings.now() + RETRY_AFTER);
    let turn = AssertUnwindSafe(context.embeddings.drain(user)).catch_unwind();
    let drained = match turn.await {
        Ok(Ok(drained)) => drained,
        Err(_) => {
            tracing::error!(user = user.0, "a turn of work on vectors panicked");
            in_a_moment()
        }
        Ok(Err(error)) if error.is_of_a_gone_user() => Drained::Done,
        Ok(Err(error)) => {
            tracing::warn!(user = user.0, %error, "a turn of work on vectors failed; trying again in a moment");
            in_a_moment()
        }
    };
    if drained == Drained::Done {
        measure(user, &context).await;
    }
    turns.note(user, drained == Drained::More);
    let mut conn = context.db.worker_pool().acquire().await?;
    match drained {
        // Another worker may have come meanwhile and put its job off until this one is done.
        Drained::Done => queue::bring_forward(&mut conn, user, context.embeddings.now()).await?,
        Drained::More => queue::push_now(&mut conn, user, context.embeddings.now()).await?,
        Drained::Later(at) => queue::push_at(&mut conn, user, Some(at)).await?,
    }
    Ok(())
}

/// What a rebuild that has just ended did to what is found. The vectors serve already: whatever
/// goes wrong here costs nothing but the figures.
async fn measure(user: UserId, context: &JobContext) {
    let evaluation = Evaluation::new(context.db.clone(), context.embeddings.clone());
    match AssertUnwindSafe(evaluation.after_rebuild(user))
        .catch_unwind()
        .await
    {
        Ok(Ok(_)) => {}
        Ok(Err(error)) if error.is_of_a_gone_user() => {}
        Ok(Err(error)) => {
            tracing::warn!(user = user.0, %error, "a rebuild could not be measured");
        }
        Err(_) => tracing::error!(user = user.0, "measuring a rebuild panicked"),
    }
}
