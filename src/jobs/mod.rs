//! All background work: one list of jobs ([`JOBS`]), and one runner for them (`runner.rs`). A job is
//! one file here and one line in the list: its name, where it finds work, and the operation of the
//! domain that it calls, for one user at a time and in slices of about two seconds.
//!
//! Due work stands in `job_queue` (src/queue), which a fair claim empties: of each job, users who have
//! waited for [`PATIENCE`](crate::queue::PATIENCE) come first, then whoever has least to do. The rows are hints. Every minute
//! the job `sweep` asks each job for its work and pushes what is missing.
//!
//! apalis drives the runs, over a backend of ours: its own for PostgreSQL fetches in order of arrival,
//! which is not fair, keeps no back-off, and needed 380 lines of remedies for one queue of five
//! (docs/configure.md, "Background work").

mod cleanup;
mod complete;
pub mod control;
mod delete;
mod dream;
mod embed;
mod enrich;
mod entities;
mod erase;
mod evaluate;
mod expire;
mod extract;
mod fade;
mod overview;
mod passages;
mod reflect;
mod runner;
pub mod schedule;
mod summary;
mod sweep;
mod turns;

use std::sync::Arc;
use std::time::Duration as StdDuration;

use futures_util::future::BoxFuture;
use time::OffsetDateTime;

use crate::activity::Activity;
use crate::clock::Schedule;
use crate::db::{Db, UserId, is_of_a_gone_user};
use crate::embedding::Embeddings;
use crate::queue::Slice;
use crate::search::Search;
pub use overview::{DAYS_COUNTED, JobState, Overview, overview, states};
pub use runner::{Runner, Totals, run, work};
pub use sweep::ask_for;

pub static JOBS: [&Job; 17] = [
    &embed::JOB,
    &passages::JOB,
    &entities::JOB,
    &extract::JOB,
    &turns::JOB,
    &summary::JOB,
    &erase::JOB,
    &delete::JOB,
    &evaluate::JOB,
    &sweep::JOB,
    &enrich::JOB,
    &complete::JOB,
    &expire::JOB,
    &fade::JOB,
    &reflect::JOB,
    &dream::JOB,
    &cleanup::JOB,
];

/// What jobs work with.
#[derive(Clone)]
pub struct JobContext {
    pub db: Db,
    pub embeddings: Embeddings,
    pub search: Search,
    /// The process's own: what waits in it is written before what it is about goes.
    pub activity: Activity,
}

impl JobContext {
    pub fn new(search: Search, activity: Activity) -> Self {
        Self {
            db: search.db().clone(),
            embeddings: search.embeddings().clone(),
            search,
            activity,
        }
    }

    fn now(&self) -> OffsetDateTime {
        self.embeddings.now()
    }
}

pub struct Job {
    /// Stable: a column, a metric's label and a command's argument.
    pub name: &'static str,
    pub title: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    pub work: Work,
    /// Of a job of users, in each user's time zone; an admin may set another (`schedule.rs`).
    pub schedule: Option<Schedule>,
    /// Runs of one process at once, of which half at most call the same provider; of one user there
    /// is never more than one.
    pub at_once: usize,
    pub run: fn(JobContext, UserId, Arc<Slice>) -> Running,
}

pub enum Work {
    /// Of users: who has work, and since when or from when on.
    OfUsers(fn(JobContext) -> Finding),
    /// Of the server, so often.
    OfServer(StdDuration),
}

pub type Running = BoxFuture<'static, Result<Next, Failure>>;
pub type Finding = BoxFuture<'static, Result<Vec<(UserId, OffsetDateTime)>, Failure>>;

/// What a run leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Done,
    /// About so much more, for another slice.
    More(usize),
    /// Something may not be tried before.
    At(OffsetDateTime),
}

/// Why a run failed; it is tried again later, twice as long each time.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The account was erased meanwhile: there is nothing to try again.
    #[error("the account is gone")]
    Gone,
    #[error("the database refused a statement or could not be reached")]
    Database(#[source] sqlx::Error),
    /// A sentence without content.
    #[error("{0}")]
    Other(String),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        match is_of_a_gone_user(&error) {
            true => Self::Gone,
            false => Self::Database(error),
        }
    }
}

impl Job {
    /// When it runs, in words; `schedule` is the one in force.
    pub fn when(&self, schedule: Option<Schedule>) -> String {
        match (schedule, &self.work) {
            (Some(schedule), _) => format!("{schedule}, in each user's time zone"),
            (None, Work::OfUsers(_)) => "when there is work".to_owned(),
            (None, Work::OfServer(every)) if every.as_secs() >= 3_600 => "every hour".to_owned(),
            (None, Work::OfServer(_)) => "every minute".to_owned(),
        }
    }
}

/// The job of that name.
pub fn find(name: &str) -> Option<&'static Job> {
    JOBS.iter().copied().find(|job| job.name == name)
}
