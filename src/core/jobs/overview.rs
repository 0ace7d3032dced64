//! The state of all jobs, for admins: numbers, times and sentences without user content.

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::{BackgroundJob, JOBS};
use crate::clock::Schedule;
use crate::queue::runs::store::{self as runs_store, DayRuns, LastRun};
use crate::queue::store::{self, FailedJob, JobCounts};

/// Including today.
pub const DAYS_COUNTED: i64 = 30;
/// Failed runs that are listed, next retry first.
const FAILED_SHOWN: i64 = 50;

pub struct JobsOverview {
    /// All of [`JOBS`], in the same order.
    pub jobs: Vec<JobState>,
    pub failed: Vec<FailedJob>,
    /// The last [`DAYS_COUNTED`] days, without days on which nothing ran.
    pub days: Vec<DayRuns>,
}

pub struct JobState {
    pub job: &'static BackgroundJob,
    /// `None` if the job has no row in the queue.
    pub counts: Option<JobCounts>,
    pub last: Option<LastRun>,
    pub paused_at: Option<OffsetDateTime>,
    /// Set by an admin, instead of the job's own.
    pub set_schedule: Option<Schedule>,
}

impl JobState {
    pub fn failed(&self) -> i64 {
        self.counts.as_ref().map_or(0, |counts| counts.failed)
    }

    /// The effective schedule.
    pub fn schedule(&self) -> Option<Schedule> {
        self.set_schedule.or(self.job.schedule)
    }

    /// When the job runs, in words.
    pub fn when(&self) -> String {
        self.job.when(self.schedule())
    }
}

/// Needs a connection of the system role, like [`states`].
pub async fn overview(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<JobsOverview, sqlx::Error> {
    let jobs = states(conn, now).await?;
    let failed = store::list_failed(conn, FAILED_SHOWN).await?;
    let first_day = (now - Duration::days(DAYS_COUNTED - 1)).replace_time(time::Time::MIDNIGHT);
    let days = runs_store::count_by_day(conn, first_day).await?;
    Ok(JobsOverview { jobs, failed, days })
}

pub async fn states(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<Vec<JobState>, sqlx::Error> {
    let counts = store::count_jobs(conn, now).await?;
    let names: Vec<String> = JOBS.iter().map(|job| job.name.to_owned()).collect();
    let last = runs_store::list_last(conn, &names).await?;
    let paused = store::list_paused(conn).await?;
    let schedules = store::list_schedules(conn).await?;
    let state = |job: &'static BackgroundJob| JobState {
        job,
        counts: counts.iter().find(|one| one.job == job.name).cloned(),
        last: last.iter().find(|one| one.job == job.name).cloned(),
        paused_at: paused.iter().find(|one| one.0 == job.name).map(|one| one.1),
        set_schedule: schedules.iter().find(|one| one.0 == job.name).map(|one| one.1),
    };
    Ok(JOBS.iter().copied().map(state).collect())
}
