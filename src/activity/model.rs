//! One call as it is written, as it is read, and what a list of calls is asked by.

use std::collections::BTreeMap;

use time::{Date, OffsetDateTime};

use crate::accounts::{AgentId, UserId};

/// The outcome of a call that went well; any other is a problem's code, or [`CANCELLED`].
pub const OK: &str = "ok";
/// The outcome of a call whose client went away before it ended.
pub const CANCELLED: &str = "cancelled";
/// Items named in one row.
pub const ITEMS_MAX: usize = 50;
/// A kept query is cut here.
pub const KEPT_QUERY_CHARS_MAX: usize = 500;
/// Older rows are removed. The function that does it has this number, too, and takes none.
pub const KEPT_DAYS: i64 = 90;
/// Of one user; the oldest beyond it are removed, an hour later at most.
pub const KEPT_ROWS_MAX: i64 = 100_000;
/// Days that are counted one by one, today included.
pub const DAYS_COUNTED: i64 = 30;

/// What one step of pruning did; what it may do at most stands in its function.
#[derive(Clone, Copy, Debug)]
pub struct Pruned {
    pub rows: i64,
    /// After which user to go on; `None` when all were looked at, or another server is at it.
    pub after_user: Option<i64>,
}

/// A call about to be written.
#[derive(Clone, Debug)]
pub struct Entry {
    pub user: UserId,
    pub agent: Option<AgentId>,
    pub at: OffsetDateTime,
    pub tool: &'static str,
    pub outcome: &'static str,
    pub duration_us: i32,
    pub items: Vec<i64>,
    pub query: Option<String>,
    /// Few have it: no more room than it needs.
    pub of_team: Option<Box<OfTeam>>,
}

/// What is particular to a call that read what is lent.
#[derive(Clone, Debug)]
pub enum OfTeam {
    /// In the leader's activity: to this agent it was read out.
    Member(UserId, AgentId),
    /// In the member's: those of the items that are lent to it.
    Lent(Vec<i64>),
}

/// Which calls, newest first. The default is all of them, and none is listed.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub agent: Option<AgentId>,
    /// Any of these; empty means every tool.
    pub tools: Vec<&'static str>,
    /// Whether it went well.
    pub went_well: Option<bool>,
    pub since: Option<OffsetDateTime>,
    pub item: Option<i64>,
    pub limit: i64,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub id: i64,
    pub at: OffsetDateTime,
    /// The agent's name.
    pub agent: Option<String>,
    /// The member of its team to which what it lends was read out.
    pub member: Option<String>,
    pub tool: String,
    pub outcome: String,
    pub duration_us: i32,
    /// Returned, added or archived; the best first.
    pub items: Vec<i64>,
    /// Those of them that were lent to the agent.
    pub lent: Vec<i64>,
    pub query: Option<String>,
}

/// Calls of one day (UTC).
#[derive(Clone, Copy, Debug)]
pub struct DayCount {
    pub day: Date,
    pub ok: i64,
    pub failed: i64,
}

/// All that the page of activity shows.
#[derive(Clone, Debug)]
pub struct Page {
    pub rows: Vec<Row>,
    /// How the items of these rows begin; one that is gone is missing.
    pub beginnings: BTreeMap<i64, String>,
    /// Those that are documents, with their paths.
    pub documents: BTreeMap<i64, String>,
    /// Of the last [`DAYS_COUNTED`] days, whatever the period asked for; days without calls are missing.
    pub days: Vec<DayCount>,
    /// Every agent of the user, by name.
    pub agents: Vec<(AgentId, String)>,
    pub keeps_queries: bool,
    /// Calls whose words are kept.
    pub kept_queries: i64,
    /// Nothing was ever recorded, whatever the filters.
    pub is_empty: bool,
}
