//! Claims what is due, runs it, and writes how it ended. A run that fails, falls over or is killed
//! costs nobody else anything: its own row backs off.

use std::collections::HashSet;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use apalis_core::backend::finalize::Ephemeral;
use apalis_core::backend::{Backend, BackendConfig};
use apalis_core::error::BoxDynError;
use apalis_core::task::Task;
use apalis_core::task::data::Data;
use apalis_core::worker::builder::WorkerBuilder;
use apalis_core::worker::context::WorkerContext;
use futures_util::FutureExt;
use rand::Rng;
use time::{Duration as TimeDuration, OffsetDateTime};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tower::layer::util::Identity;
use tracing::Instrument;

use super::{Failure, JOBS, Job, JobContext, Next, Work};
use crate::db::UserId;
use crate::metrics;
use crate::queue::store::{Claim, End, Room};
use crate::queue::{self, BACK_OFF_MAX, SERVER, Slice};

/// What is pushed waits so long at most, and what comes meanwhile is worked on together: who adds on
/// and on is worked off a few times a second, not once for each text.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// While the database is away.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// Runs that are under way when the server stops have this long.
const DRAIN_MAX: Duration = Duration::from_secs(25);
const BACK_OFF: TimeDuration = TimeDuration::seconds(2);
const FELL_OVER: &str = "it fell over; the server's log says where";

/// Runs all jobs until `stop` turns true.
pub async fn run(context: JobContext, stop: watch::Receiver<bool>) {
    work(Runner::new(context, stop)).await;
}

/// Runs a runner's jobs until its `stop` turns true.
pub async fn work(runner: Runner) {
    let mut stop = runner.stop.clone();
    let runner = Arc::new(runner);
    let working = async {
        while !*runner.stop.borrow() {
            work_once(&runner).await;
        }
    };
    let overtime = async {
        stop.wait_for(|stop| *stop).await.ok();
        tokio::time::sleep(DRAIN_MAX).await;
    };
    tokio::select! {
        () = working => {}
        () = runner.keep_renewing() => {}
        () = overtime => tracing::warn!("some jobs took too long to stop; they go on after a restart"),
    }
}

/// Until the runner is to stop, or whatever ends the worker.
async fn work_once(runner: &Arc<Runner>) {
    let (sender, receiver) = mpsc::channel(1);
    let worker_context = WorkerContext::new("keepsake");
    let worker = WorkerBuilder::new(&worker_context)
        .backend(Claims(receiver))
        .data(runner.clone())
        .build(run_claim);
    let claiming = async {
        runner.keep_claiming(sender).await;
        // It ends when its runs have.
        worker_context.stop().ok();
    };
    if let ((), Err(error)) = tokio::join!(claiming, worker.run()) {
        tracing::error!(%error, "the worker ended; starting another");
    }
}

async fn run_claim(claim: Claim, runner: Data<Arc<Runner>>) -> Result<(), BoxDynError> {
    runner.run_one(claim).await;
    Ok(())
}

/// The claims of one process, as apalis takes them.
struct Claims(mpsc::Receiver<Claim>);

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
        self.0
            .poll_recv(cx)
            .map(|claim| claim.map(|claim| Ok(Task::new(claim))))
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

/// The runs of one process.
pub struct Runner {
    context: JobContext,
    stop: watch::Receiver<bool>,
    jobs: Vec<&'static Job>,
    /// Whose alone.
    only: Option<UserId>,
    /// Of this process alone.
    lease: i64,
    running: Mutex<HashSet<(UserId, &'static str)>>,
    ended: Notify,
}

impl Runner {
    pub fn new(context: JobContext, stop: watch::Receiver<bool>) -> Self {
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

    /// Only these jobs, of one user or of all.
    pub fn of(self, jobs: &[&'static Job], only: Option<UserId>) -> Self {
        Self {
            jobs: jobs.to_vec(),
            only,
            ..self
        }
    }

    async fn keep_claiming(&self, sender: mpsc::Sender<Claim>) {
        let mut stop = self.stop.clone();
        let mut is_prepared = false;
        while !*stop.borrow() && !sender.is_closed() {
            if !is_prepared {
                is_prepared = self.prepare().await.is_ok();
            }
            let wait = match self.claim().await {
                Ok(claims) => {
                    for claim in claims {
                        sender.send(claim).await.ok();
                    }
                    LOOK_EVERY
                }
                Err(error) => {
                    tracing::warn!(%error, "due work could not be looked up; trying again in a moment");
                    LOOK_AGAIN_AFTER
                }
            };
            tokio::select! {
                () = self.ended.notified() => {}
                () = tokio::time::sleep(wait) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
    }

    /// The server's own jobs: the sweep is due at once, the others when they would have been.
    async fn prepare(&self) -> Result<(), sqlx::Error> {
        let now = self.context.now();
        let mut conn = self.context.db.system_connection().await?;
        for job in &self.jobs {
            if let Work::OfServer(_) = job.work {
                let found = [(SERVER, now)];
                queue::push_found(&mut conn, job.name, &found, now).await?;
            }
        }
        Ok(())
    }

    /// Takes what is due, as much as there is room for.
    async fn claim(&self) -> Result<Vec<Claim>, sqlx::Error> {
        let rooms: Vec<Room> = {
            let running = self.running();
            let places =
                |job: &Job| job.at_once - running.iter().filter(|r| r.1 == job.name).count();
            let as_i32 = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
            let rooms = self.jobs.iter().map(|job| Room {
                job: job.name,
                places: as_i32(places(job)),
                per_endpoint: as_i32(job.at_once.div_ceil(2)),
            });
            rooms.filter(|room| room.places > 0).collect()
        };
        let now = self.context.now();
        let mut tx = self.context.db.as_system_again().await?;
        let mut claims = queue::store::claim(&mut tx, self.lease, &rooms, self.only, now).await?;
        tx.commit().await?;
        // A run whose lease ran out while the database was away is still under way.
        claims.retain(|claim| {
            super::find(&claim.job).is_some_and(|job| self.running().insert((claim.user, job.name)))
        });
        Ok(claims)
    }

    /// Runs what is due at this moment, one after the other, until nothing is.
    pub async fn run_due(&self) -> Result<Totals, sqlx::Error> {
        self.prepare().await?;
        let running = async {
            let mut totals = Totals::default();
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

    /// One slice of a claim, to its end in the queue's row.
    async fn run_one(&self, claim: Claim) -> Totals {
        let Some(job) = super::find(&claim.job) else {
            return Totals::default();
        };
        let span = tracing::error_span!("job", job = job.name);
        let totals = self.run_in_span(job, &claim).instrument(span).await;
        let mut running = self.running();
        // Others may wait for the place; who has more to do, for the next slice.
        let was_full = running.iter().filter(|r| r.1 == job.name).count() >= job.at_once;
        running.remove(&(claim.user, job.name));
        if was_full || totals.has_more {
            self.ended.notify_one();
        }
        totals
    }

    async fn run_in_span(&self, job: &'static Job, claim: &Claim) -> Totals {
        let (began, started_at) = (Instant::now(), self.context.now());
        let slice = Arc::new(Slice::begin(self.stop.clone()));
        // In a task of its own, that ends with this.
        let mut task = JoinSet::new();
        let running = (job.run)(self.context.clone(), claim.user, slice.clone());
        task.spawn(AssertUnwindSafe(running).catch_unwind().in_current_span());
        let ended = match task.join_next().await {
            Some(Ok(Ok(ended))) => ended,
            _ => Err(Failure::Other(FELL_OVER.to_owned())),
        };
        let outcome = if ended.is_ok() { "ok" } else { "failed" };
        metrics::job_ended(job.name, outcome, began.elapsed());
        if let Err(Failure::Gone) = ended {
            tracing::debug!(user = claim.user.0, "the account is gone");
        } else if let Err(failure) = &ended {
            let cause = std::error::Error::source(failure).map(ToString::to_string);
            tracing::warn!(user = claim.user.0, attempts = claim.attempts, %failure, cause, "a run failed; trying again later");
        }
        let run = Run {
            claim,
            job,
            started_at,
            took: began.elapsed(),
            counts: slice.counts(),
            said: slice.said(),
            endpoint: slice.endpoint(),
        };
        // Until then it counts as running, and its lease is renewed.
        while let Err(error) = self.finish(&run, &ended).await {
            tracing::warn!(user = claim.user.0, %error, "the end of a run could not be written; trying again in a moment");
            if *self.stop.borrow() {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
        Totals {
            done: run.counts.0,
            failed: run.counts.1,
            has_more: matches!(ended, Ok(Next::More(_))),
            problem: ended.err().map(|failure| failure.to_string()),
        }
    }

    async fn finish(
        &self,
        run: &Run<'_>,
        ended: &Result<Next, Failure>,
    ) -> Result<(), sqlx::Error> {
        let now = self.context.now();
        let (next, problem) = match ended {
            Ok(next) => (*next, None),
            Err(Failure::Gone) => (Next::Done, None),
            Err(failure) => {
                let again = now + back_off(run.claim.attempts);
                (Next::At(again), Some(failure.to_string()))
            }
        };
        let (run_at, size) = match (next, &run.job.work) {
            (Next::Done, Work::OfServer(every)) => (Some(now + *every), 0),
            (Next::Done, Work::OfUsers(_)) => (None, 0),
            (Next::More(size), _) => (Some(now), i32::try_from(size).unwrap_or(i32::MAX)),
            (Next::At(at), _) => (Some(at), 0),
        };
        let end = End {
            run_at,
            size,
            endpoint: run.endpoint,
            problem: problem.as_deref(),
        };
        let mut tx = self.context.db.as_system_again().await?;
        let is_ours = queue::store::finish(&mut tx, self.lease, run.claim, &end, now).await?;
        let (done, failed) = run.counts;
        let said = problem.as_deref().or(run.said);
        if is_ours && (done > 0 || failed > 0 || said.is_some()) {
            let recorded = queue::runs::store::Recorded {
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

    fn running(&self) -> MutexGuard<'_, HashSet<(UserId, &'static str)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a run has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub done: u32,
    pub failed: u32,
    has_more: bool,
    /// Why a run failed.
    pub problem: Option<String>,
}

impl Totals {
    fn add(&mut self, run: Self) {
        self.done += run.done;
        self.failed += run.failed;
        self.problem = run.problem.or(self.problem.take());
    }
}

struct Run<'a> {
    claim: &'a Claim,
    job: &'static Job,
    started_at: OffsetDateTime,
    took: Duration,
    counts: (u32, u32),
    said: Option<&'static str>,
    endpoint: Option<i64>,
}

/// Twice as long each time, within a quarter of chance.
fn back_off(attempts: i32) -> TimeDuration {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(12);
    let planned = (BACK_OFF * 2_i32.pow(doublings)).min(BACK_OFF_MAX);
    planned * rand::rng().random_range(0.75..1.25_f64)
}
