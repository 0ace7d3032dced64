//! The types of the page of used and unused memories.

use super::MemoryLine;
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq)]
pub struct UsagePage {
    /// By id and name, the busiest first.
    pub agents: Vec<(i64, String)>,
    /// The busiest first.
    pub themes: Vec<ThemeUse>,
    /// With how often each was used.
    pub most_used: Vec<(MemoryLine, i64)>,
    /// With when each was added, oldest first.
    pub never_used: Vec<(MemoryLine, OffsetDateTime)>,
    /// All active memories, and those among them that were never used.
    pub active: i64,
    pub unused: i64,
    /// Days for which calls are kept.
    pub days: i64,
    /// So many of the newest calls are counted.
    pub counted_max: i64,
}

/// A row of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeUse {
    pub slug: String,
    pub name: String,
    /// Calls of each agent, in their order.
    pub calls: Vec<i64>,
}
