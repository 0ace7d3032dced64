//! The types of Admin › Jobs: how everybody's work stands, in numbers and sentences. Whose
//! it is, but for a user's number, and what it is about is not among them.

use time::OffsetDateTime;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobsPage {
    pub jobs: Vec<JobRow>,
    /// By job; jobs without a failure are not among them.
    pub failures: Vec<JobFailures>,
    pub vectors: VectorsView,
    /// Oldest first, each day of the last 30.
    pub days: Vec<DayRuns>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// Stable, for forms and ids.
    pub name: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    /// "every minute"
    pub when: String,
    /// Where an admin may set it.
    pub schedule: Option<ScheduleView>,
    pub last: Option<LastRun>,
    pub next: NextRun,
    pub waiting: i64,
    pub running: i64,
    pub can_pause: bool,
    /// Since when.
    pub paused: Option<OffsetDateTime>,
}

/// A time of day in each user's time zone, as it is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleView {
    /// "03:00"
    pub at: String,
    /// "Sunday"; `None`: every day.
    pub weekday: Option<String>,
    /// "every day at 03:00", where another is set.
    pub default: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LastRun {
    pub ended: OffsetDateTime,
    /// "1.2 s"
    pub took: String,
    pub has_failed: bool,
    /// Rows worked on, and rows that could not be.
    pub done: i64,
    pub failed: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NextRun {
    /// Nothing is due, or the job is paused.
    None,
    Now,
    At(OffsetDateTime),
}

/// A job's runs that failed and wait for their next.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFailures {
    pub name: &'static str,
    pub title: &'static str,
    /// All of them; `runs` has those that come next.
    pub total: i64,
    pub runs: Vec<FailedRun>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FailedRun {
    /// `None`: the server's own.
    pub user: Option<i64>,
    pub attempts: i64,
    /// One sentence.
    pub problem: String,
    pub next_try: Option<OffsetDateTime>,
}

/// Everybody's vectors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorsView {
    /// Memories whose vectors were given up, and of how many users.
    pub failed_items: i64,
    pub failed_users: i64,
    /// Vectors that wait, and since when the first does.
    pub pending: i64,
    pub pending_since: Option<OffsetDateTime>,
    /// Spaces whose provider searches leave alone just now.
    pub open_breakers: i64,
    pub troubles: Vec<TroubleRow>,
}

/// What keeps vectors from being made.
#[derive(Clone, Debug, PartialEq)]
pub struct TroubleRow {
    pub provider: String,
    /// One sentence.
    pub problem: String,
    pub users: i64,
    pub next_try: Option<OffsetDateTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayRuns {
    /// "4 May"
    pub day: String,
    pub done: i64,
    pub failed: i64,
}

/// The page in one line, for the page Admin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobsLine {
    /// Runs that failed and wait for their next.
    pub failed: i64,
    /// Jobs that are paused.
    pub paused: i64,
}

impl JobsPage {
    /// Whether the page is worth looking at again by itself.
    pub fn is_moving(&self) -> bool {
        let moves = |job: &JobRow| job.running > 0 || (job.waiting > 0 && job.paused.is_none());
        self.vectors.pending > 0 || !self.failures.is_empty() || self.jobs.iter().any(moves)
    }

    pub fn failed(&self) -> i64 {
        self.failures.iter().map(|job| job.total).sum()
    }
}

impl VectorsView {
    /// Whether *Retry* has something to do.
    pub fn has_failures(&self) -> bool {
        self.failed_items > 0 || !self.troubles.is_empty() || self.open_breakers > 0
    }
}
