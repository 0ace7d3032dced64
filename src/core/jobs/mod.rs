//! All background work: one list of jobs ([`JOBS`]), and one runner for them (`runner.rs`). A job is one file
//! here and one line in the list: its name, how it finds work, and the domain operation that it calls, for
//! one user at a time and in slices of about two seconds.
//!
//! Due work is in `job_queue` (src/core/queue). Claims are fair: within a job, users who have waited for
//! [`PATIENCE`](crate::queue::PATIENCE) come first, then those with the least work. The rows are hints: every
//! minute the job `sweep` asks each job for its work and pushes what is missing.
//!
//! apalis runs them: its `Monitor` starts a worker, starts another where one ended, and stops it with the server, 25 seconds
//! later at most; the worker asks our backend (`Claims` in `runner.rs`) for due rows, runs them beside each other, and waits
//! for them at the end. Its PostgreSQL backend fetches in order of arrival, which is not fair, and has no backoff.
//!
//! Ours, where apalis has a layer for it:
//! - *Concurrency*: places per job and per provider are part of a claim; a layer knows one number for all.
//! - *Timeouts*: a run ends at a safe point after its slice; a layer would cut a provider's call.
//! - *Panics*: a run is a task of its own, so that one which computes does not hold up the others. It ends with its future.
//! - *Acknowledgement*: the end of a run is one transaction with its record and with when it is due again; it is tried until
//!   it is written, and the lease is renewed meanwhile.
//! - *Metrics, tracing*: by job.

mod backup;
mod cleanup;
mod compare;
mod complete;
pub mod control;
mod delete;
mod dream;
mod embed;
mod enrich;
mod entities;
mod erase;
mod expire;
mod extract;
mod fade;
mod feed;
mod overview;
mod passages;
mod reflect;
mod runner;
pub mod schedule;
mod storage;
mod summary;
mod sweep;
mod turns;
mod webhooks;

use std::sync::Arc;
use std::time::Duration as StdDuration;

use futures_util::future::BoxFuture;
use time::OffsetDateTime;

use crate::clock::Schedule;
use crate::db::{UserId, is_of_a_gone_user};
use crate::queue::Slice;
use crate::quota::Quota;
use crate::services::Services;
pub use overview::{DAYS_COUNTED, JobState, JobsOverview, overview, states};
pub use runner::{RunTotals, Runner, run, work};
pub use sweep::ask_for;

pub static JOBS: [&BackgroundJob; 21] = [
    &embed::JOB,
    &passages::JOB,
    &entities::JOB,
    &extract::JOB,
    &turns::JOB,
    &compare::JOB,
    &summary::JOB,
    &erase::JOB,
    &delete::JOB,
    &sweep::JOB,
    &enrich::JOB,
    &complete::JOB,
    &expire::JOB,
    &fade::JOB,
    &reflect::JOB,
    &dream::JOB,
    &webhooks::JOB,
    &feed::JOB,
    &cleanup::JOB,
    &storage::JOB,
    &backup::JOB,
];

impl Services {
    fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    fn quota(&self) -> &Quota {
        self.embeddings.quota()
    }
}

pub struct BackgroundJob {
    /// Stable: used in a column, as a metric label and as a command argument.
    pub name: &'static str,
    pub title: &'static str,
    /// What the job does, in one sentence.
    pub about: &'static str,
    pub work: JobWork,
    /// For jobs of users, in each user's time zone; an admin may override it (`schedule.rs`).
    pub schedule: Option<Schedule>,
    /// Concurrent runs per process; at most half of them call the same provider. One user has at most one.
    pub at_once: usize,
    /// All that it does adds to a user's memory: it pauses while there is no room. A job that also frees room asks itself.
    pub adds: bool,
    pub run: fn(Services, UserId, Arc<Slice>) -> Running,
}

pub enum JobWork {
    /// For users: finds who has work, and when it is due.
    OfUsers(fn(Services) -> Finding),
    /// For the server: runs at this interval.
    OfServer(StdDuration),
}

pub type Running = BoxFuture<'static, Result<NextDue, JobFailure>>;
pub type Finding = BoxFuture<'static, Result<Vec<(UserId, OffsetDateTime)>, JobFailure>>;

/// When the job runs next for this user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextDue {
    Done,
    /// About this many rows are left for another slice.
    More(usize),
    /// Not before this time.
    At(OffsetDateTime),
}

/// Why a run failed. It is retried with exponential backoff.
#[derive(Debug, thiserror::Error)]
pub enum JobFailure {
    /// The account was erased in the meantime: not retryable.
    #[error("the account is gone")]
    Gone,
    #[error("the database refused a statement or could not be reached")]
    Database(#[source] sqlx::Error),
    /// A sentence without user content.
    #[error("{0}")]
    Other(String),
}

impl From<sqlx::Error> for JobFailure {
    fn from(error: sqlx::Error) -> Self {
        match is_of_a_gone_user(&error) {
            true => Self::Gone,
            false => Self::Database(error),
        }
    }
}

impl BackgroundJob {
    /// When the job runs, in words; `schedule` is the effective one.
    pub fn when(&self, schedule: Option<Schedule>) -> String {
        match (schedule, &self.work) {
            (Some(schedule), _) => format!("{schedule}, in each user's time zone"),
            (None, JobWork::OfUsers(_)) => "when there is work".to_owned(),
            (None, JobWork::OfServer(every)) if every.as_secs() >= 3_600 => "every hour".to_owned(),
            (None, JobWork::OfServer(every)) if every.as_secs() < 60 => {
                format!("every {} seconds", every.as_secs())
            }
            (None, JobWork::OfServer(_)) => "every minute".to_owned(),
        }
    }
}

/// Finds a job by its name.
pub fn find(name: &str) -> Option<&'static BackgroundJob> {
    JOBS.iter().copied().find(|job| job.name == name)
}
