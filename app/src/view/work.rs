//! What is being done for one person, as its page shows it.

use super::Moment;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkPage {
    /// What is not idle, in the order in which it is done.
    pub tasks: Vec<Task>,
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
    pub next: Option<Moment>,
}
