//! What is being done for one person, as its page shows it.

use time::OffsetDateTime;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkPage {
    /// What is not idle, in the order in which it is done.
    pub tasks: Vec<Task>,
    /// What comes round by itself.
    pub scheduled: Vec<Scheduled>,
}

/// What is done for the person at a time of day.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    pub title: &'static str,
    pub about: &'static str,
    /// "every day at 04:00"
    pub when: String,
    /// `None`: it leaves no note of that, or was not yet.
    pub last: Option<OffsetDateTime>,
    pub standing: Standing,
    /// The page that switches it, and its name.
    pub switch: (&'static str, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    On,
    Off,
    /// It needs a chat model, and there is none.
    NoModel,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Stable, for ids.
    pub name: &'static str,
    pub title: &'static str,
    /// The page that tells more.
    pub href: &'static str,
    /// So many of so many; `None` where that cannot be said.
    pub progress: Option<(i64, i64)>,
    /// How far it is, in words.
    pub line: String,
    /// What stands in the way: a sentence.
    pub problem: Option<String>,
    /// Not before then.
    pub next: Option<OffsetDateTime>,
}
