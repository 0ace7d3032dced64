//! The types of the admin page's section Queue: how everybody's work stands, in
//! numbers and sentences. Whose it is and what it is about is not among them.

use super::Moment;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueView {
    pub queues: Vec<QueueRow>,
    /// Memories whose vectors were given up, and of how many users.
    pub failed_items: i64,
    pub failed_users: i64,
    /// Vectors that wait, and since when the first does.
    pub pending: i64,
    pub pending_since: Option<Moment>,
    /// Spaces whose provider searches leave alone just now.
    pub open_breakers: i64,
    pub troubles: Vec<TroubleRow>,
    pub failed_jobs: Vec<FailedJob>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    pub name: String,
    pub waiting: i64,
    pub delayed: i64,
    pub running: i64,
    pub failed: i64,
    /// Since when the first of those that wait could have begun.
    pub waiting_since: Option<Moment>,
}

/// What keeps vectors from being made.
#[derive(Clone, Debug, PartialEq)]
pub struct TroubleRow {
    pub provider: String,
    /// One sentence.
    pub problem: String,
    pub users: i64,
    pub next_try: Option<Moment>,
}

/// A run that failed and waits for its next.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedJob {
    pub job: String,
    pub attempts: i64,
    /// One sentence.
    pub problem: String,
    pub next_try: Option<Moment>,
}

impl QueueView {
    /// Whether the page is worth looking at again by itself.
    pub fn is_moving(&self) -> bool {
        let has_jobs = |q: &QueueRow| q.waiting + q.delayed + q.running > 0;
        self.pending > 0 || self.queues.iter().any(has_jobs)
    }

    /// Whether *Retry* has something to do.
    pub fn has_failures(&self) -> bool {
        self.failed_items > 0 || !self.troubles.is_empty() || self.open_breakers > 0
    }
}
