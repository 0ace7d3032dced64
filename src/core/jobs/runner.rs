//! Claims due jobs, runs them, and records how each run ended. A run that fails, panics or is killed affects
//! only its own row, which backs off.

use std::collections::HashSet;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use apalis_core::backend::finalize::Ephemeral;
use apalis_core::backend::{Backend, BackendConfig};
use apalis_core::error::BoxDynError;
use apalis_core::monitor::Monitor;
use apalis_core::task::Task;
use apalis_core::task::data::Data;
use apalis_core::worker::builder::WorkerBuilder;
use apalis_core::worker::context::WorkerContext;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use rand::Rng;
use time::{Duration as TimeDuration, OffsetDateTime};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tower::layer::util::Identity;
use tracing::Instrument;

use super::{BackgroundJob, JOBS, JobFailure, JobWork, NextDue, Services, webhooks};
use crate::db::{Tx, UserId};
use crate::memories::feed;
use crate::metrics;
use crate::queue::store::{Claim, JobCapacity, RunEnd};
use crate::queue::{self, BACK_OFF_MAX, SERVER, Slice};

/// The maximum latency of a push. What is pushed in the meantime runs as one batch, so that a stream of adds
/// causes a few runs a second, not one per text.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// While the database is unreachable.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// How long runs may continue after the server is told to stop.
const DRAIN_MAX: Duration = Duration::from_secs(25);
const BACK_OFF: TimeDuration = TimeDuration::seconds(2);
const PANICKED: &str = "it failed unexpectedly; see the server's log";

/// Runs all jobs until `stop` becomes true.
pub async fn run(context: Services, stop: watch::Receiver<bool>) {
    work(Runner::new(context, stop)).await;
}

/// Runs the runner's jobs until its `stop` becomes true.
pub async fn work(runner: Runner) {
    let (mut stop, runner) = (runner.stop.clone(), Arc::new(runner));
    let of_worker = runner.clone();
    let monitor = Monitor::new()
        .register(move |_| {
            WorkerBuilder::new("keepsake")
                .backend(Claims(of_worker.clone().claims()))
                .data(of_worker.clone())
                .build(run_claim)
        })
        .should_restart(|_, error| {
            tracing::error!(%error, "the worker ended; starting another");
            true
        })
        .with_terminator(async {
            tokio::time::sleep(DRAIN_MAX).await;
            tracing::warn!("some jobs took too long to stop; they go on after a restart");
        });
    let stopped = async move {
        stop.wait_for(|stop| *stop).await.ok();
        Ok(())
    };
    tokio::select! {
        ended = monitor.run_with_signal(stopped) => if let Err(error) = ended {
            tracing::error!(%error, "the workers ended");
        },
        () = runner.keep_renewing() => {}
    }
}

async fn run_claim(claim: Claim, runner: Data<Arc<Runner>>) -> Result<(), BoxDynError> {
    runner.run_one(claim).await;
    Ok(())
}

/// Due rows of the queue, as an apalis backend.
struct Claims(BoxStream<'static, Claim>);

impl Backend for Claims {
    type Task = Task<Claim>;
    type Error = Infallible;

    fn poll_ready(
        &mut self,
        _: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Option<Result<Self::Task, Infallible>>> {
        self.0.poll_next_unpin(cx).map(|claim| claim.map(|claim| Ok(Task::new(claim))))
    }

    fn poll_close(
        &mut self,
        _: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }
}

impl BackendConfig for Claims {
    type Args = Claim;
    type Id = ();
    type Kind = Ephemeral;
    type Config = ();
    type Layer = Identity;

    fn config(&self) -> &() {
        &()
    }

    fn middleware(&mut self, _: &mut WorkerContext) -> Identity {
        Identity::new()
    }
}

/// Runs jobs in this process.
pub struct Runner {
    context: Services,
    stop: watch::Receiver<bool>,
    jobs: Vec<&'static BackgroundJob>,
    /// Restricts the runner to one user.
    only: Option<UserId>,
    /// The id of this process's leases.
    lease: i64,
    running: Mutex<HashSet<(UserId, &'static str)>>,
    ended: Notify,
}

impl Runner {
    pub fn new(context: Services, stop: watch::Receiver<bool>) -> Self {
        Self {
            context,
            stop,
            jobs: JOBS.to_vec(),
            only: None,
            lease: rand::rng().random(),
            running: Mutex::default(),
            ended: Notify::new(),
        }
    }

    /// Restricts the runner to these jobs, for one user or for all.
    pub fn of(self, jobs: &[&'static BackgroundJob], only: Option<UserId>) -> Self {
        Self { jobs: jobs.to_vec(), only, ..self }
    }

    /// What this process claims, until it stops.
    fn claims(self: Arc<Self>) -> BoxStream<'static, Claim> {
        let looks = stream::unfold((self, false, Duration::ZERO), async |look| {
            let (runner, mut is_prepared, wait) = look;
            runner.rest(wait).await;
            if *runner.stop.borrow() {
                return None;
            }
            if !is_prepared {
                is_prepared = runner.prepare().await.is_ok();
            }
            let (claims, wait) = match runner.claim().await {
                Ok(claims) => (claims, LOOK_EVERY),
                Err(error) => {
                    tracing::warn!(%error, "due work could not be looked up; trying again in a moment");
                    (Vec::new(), LOOK_AGAIN_AFTER)
                }
            };
            Some((stream::iter(claims), (runner, is_prepared, wait)))
        });
        looks.flatten().boxed()
    }

    /// Until there may be something to claim.
    async fn rest(&self, wait: Duration) {
        let mut stop = self.stop.clone();
        tokio::select! {
            () = self.ended.notified() => {}
            () = tokio::time::sleep(wait) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    /// Makes the server's own jobs due at once, so that a start does not wait for their interval.
    async fn prepare(&self) -> Result<(), sqlx::Error> {
        let now = self.context.now();
        let mut conn = self.context.db.system_connection().await?;
        for job in &self.jobs {
            if let JobWork::OfServer(_) = job.work {
                let found = [(SERVER, now)];
                queue::push_found(&mut conn, job.name, &found, now).await?;
            }
        }
        Ok(())
    }

    /// Claims due jobs, up to the free capacity.
    async fn claim(&self) -> Result<Vec<Claim>, sqlx::Error> {
        let rooms: Vec<JobCapacity> = {
            let running = self.running();
            let places = |job: &BackgroundJob| {
                job.at_once - running.iter().filter(|r| r.1 == job.name).count()
            };
            let as_i32 = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
            let rooms = self.jobs.iter().map(|job| JobCapacity {
                job: job.name,
                places: as_i32(places(job)),
                per_endpoint: as_i32(job.at_once.div_ceil(2)),
            });
            rooms.filter(|room| room.places > 0).collect()
        };
        let mut tx = self.context.db.as_system_async_commit().await?;
        // Not before a connection was waited for.
        let now = self.context.now();
        let mut claims = queue::store::claim(&mut tx, self.lease, &rooms, self.only, now).await?;
        tx.commit().await?;
        // After its lease expired during a database outage, a run may still be in progress here.
        claims.retain(|claim| {
            super::find(&claim.job).is_some_and(|job| self.running().insert((claim.user, job.name)))
        });
        Ok(claims)
    }

    /// Runs everything that is due now, one run after another, until nothing is.
    pub async fn run_due(&self) -> Result<RunTotals, sqlx::Error> {
        self.prepare().await?;
        let running = async {
            let mut totals = RunTotals::default();
            loop {
                let claims = self.claim().await?;
                if claims.is_empty() {
                    return Ok(totals);
                }
                for claim in claims {
                    totals.add(self.run_one(claim).await);
                }
            }
        };
        tokio::select! {
            ran = running => ran,
            never = self.keep_renewing() => never,
        }
    }

    async fn keep_renewing<T>(&self) -> T {
        loop {
            tokio::time::sleep(RENEW_EVERY).await;
            let running: Vec<_> = self.running().iter().copied().collect();
            if running.is_empty() {
                continue;
            }
            let renewed = async {
                let mut conn = self.context.db.system_connection().await?;
                queue::store::renew(&mut conn, self.lease, &running, self.context.now()).await
            };
            if let Err(error) = renewed.await {
                tracing::warn!(%error, "what runs here could not be held longer; trying again in a moment");
            }
        }
    }

    /// Runs one slice of a claim, and writes its end to the queue's row.
    async fn run_one(&self, claim: Claim) -> RunTotals {
        let Some(job) = super::find(&claim.job) else {
            return RunTotals::default();
        };
        let span = tracing::error_span!("job", job = job.name);
        let totals = self.run_in_span(job, &claim).instrument(span).await;
        let mut running = self.running();
        // Claim again at once: others may wait for this place, or this user has more to do.
        let was_full = running.iter().filter(|r| r.1 == job.name).count() >= job.at_once;
        running.remove(&(claim.user, job.name));
        if was_full || totals.has_more {
            self.ended.notify_one();
        }
        totals
    }

    async fn run_in_span(&self, job: &'static BackgroundJob, claim: &Claim) -> RunTotals {
        let (began, started_at) = (Instant::now(), self.context.now());
        let slice = Arc::new(Slice::begin(self.stop.clone()));
        // In its own task, which is aborted when this future is dropped.
        let mut task = JoinSet::new();
        let (context, user, of_run) = (self.context.clone(), claim.user, slice.clone());
        let running = async move {
            if job.adds
                && let Some(again) = context.quota().full_until(user, &of_run).await?
            {
                return Ok(NextDue::At(again));
            }
            (job.run)(context, user, of_run).await
        };
        task.spawn(AssertUnwindSafe(running).catch_unwind().in_current_span());
        let ended = match task.join_next().await {
            Some(Ok(Ok(ended))) => ended,
            _ => Err(JobFailure::Other(PANICKED.to_owned())),
        };
        let outcome = if ended.is_ok() { "ok" } else { "failed" };
        metrics::job_ended(job.name, outcome, began.elapsed());
        if let Err(JobFailure::Gone) = ended {
            tracing::debug!(user = claim.user.0, "the account is gone");
        } else if let Err(failure) = &ended {
            let cause = std::error::Error::source(failure).map(ToString::to_string);
            tracing::warn!(user = claim.user.0, attempts = claim.attempts, %failure, cause, "a run failed; trying again later");
        }
        let run = JobRun {
            claim,
            job,
            started_at,
            took: began.elapsed(),
            counts: slice.counts(),
            said: slice.said(),
            endpoint: slice.endpoint(),
        };
        // Until the end is written, the run counts as running and its lease is renewed.
        while let Err(error) = self.finish(&run, &ended).await {
            tracing::warn!(user = claim.user.0, %error, "the end of a run could not be written; trying again in a moment");
            if *self.stop.borrow() {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
        RunTotals {
            done: run.counts.0,
            failed: run.counts.1,
            has_more: matches!(ended, Ok(NextDue::More(_))),
            problem: ended.err().map(|failure| failure.to_string()),
        }
    }

    async fn finish(
        &self,
        run: &JobRun<'_>,
        ended: &Result<NextDue, JobFailure>,
    ) -> Result<(), sqlx::Error> {
        let now = self.context.now();
        let (next, problem) = match ended {
            Ok(next) => (*next, None),
            Err(JobFailure::Gone) => (NextDue::Done, None),
            Err(failure) => {
                let again = now + back_off(run.claim.attempts);
                (NextDue::At(again), Some(failure.to_string()))
            }
        };
        let (run_at, size) = match (next, &run.job.work) {
            (NextDue::Done, JobWork::OfServer(every)) => (Some(now + *every), 0),
            (NextDue::Done, JobWork::OfUsers(_)) => (None, 0),
            (NextDue::More(size), _) => (Some(now), i32::try_from(size).unwrap_or(i32::MAX)),
            (NextDue::At(at), _) => (Some(at), 0),
        };
        let end = RunEnd { run_at, size, endpoint: run.endpoint, problem: problem.as_deref() };
        let mut tx = self.begin_finish(run, problem.is_some()).await?;
        let is_ours = queue::store::finish(&mut tx, self.lease, run.claim, &end, now).await?;
        let (done, failed) = run.counts;
        let said = problem.as_deref().or(run.said);
        if is_ours && (done > 0 || failed > 0 || said.is_some()) {
            let recorded = queue::runs::store::RunRecord {
                user: run.claim.user,
                job: run.job.name,
                started_at: run.started_at,
                ended_at: now,
                took_ms: i64::try_from(run.took.as_millis()).unwrap_or(i64::MAX),
                done: done.into(),
                failed: failed.into(),
                is_failed: problem.is_some(),
                problem: said,
            };
            queue::runs::store::record(&mut tx, &recorded).await?;
        }
        tx.commit().await
    }

    /// Begins the transaction that ends a run. A failure of a user's job is told to their programs, unless it is the job
    /// that tells them.
    async fn begin_finish(&self, run: &JobRun<'_>, has_failed: bool) -> Result<Tx, sqlx::Error> {
        let (db, user) = (&self.context.db, run.claim.user);
        if !has_failed || user == SERVER || run.job.name == webhooks::JOB.name {
            return db.as_system_async_commit().await;
        }
        // Events are committed synchronously: an id that was seen must never be lost and reused.
        let mut tx = db.as_system().await?;
        let now = self.context.now();
        feed::store::note_job_failure(&mut tx, user, run.job.name, now).await?;
        Ok(tx)
    }

    fn running(&self) -> MutexGuard<'_, HashSet<(UserId, &'static str)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one or more runs have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTotals {
    pub done: u32,
    pub failed: u32,
    has_more: bool,
    /// Why a run failed.
    pub problem: Option<String>,
}

impl RunTotals {
    pub fn add(&mut self, run: Self) {
        self.done += run.done;
        self.failed += run.failed;
        self.problem = run.problem.or(self.problem.take());
    }
}

struct JobRun<'a> {
    claim: &'a Claim,
    job: &'static BackgroundJob,
    started_at: OffsetDateTime,
    took: Duration,
    counts: (u32, u32),
    said: Option<&'static str>,
    endpoint: Option<i64>,
}

/// Exponential backoff with ±25 % jitter.
fn back_off(attempts: i32) -> TimeDuration {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(12);
    let planned = (BACK_OFF * 2_i32.pow(doublings)).min(BACK_OFF_MAX);
    planned * rand::rng().random_range(0.75..1.25_f64)
}
