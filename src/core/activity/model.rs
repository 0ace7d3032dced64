//! A recorded call as written and as read, and the filter of a list of calls.

use std::collections::BTreeMap;

use time::{Date, OffsetDateTime};

use crate::accounts::{AgentId, UserId};

/// The outcome of a successful call; others are an error code, or [`CANCELLED`].
pub const OK: &str = "ok";
/// The outcome of a call whose client disconnected before it ended.
pub const CANCELLED: &str = "cancelled";
/// Limit on the items of one row.
pub const ITEMS_MAX: usize = 50;
/// A stored query is truncated to this.
pub const KEPT_QUERY_CHARS_MAX: usize = 500;
/// Older rows are deleted. The SQL function has its own copy of this number.
pub const KEPT_DAYS: i64 = 90;
/// Limit per user; the oldest rows beyond it are deleted within an hour.
pub const KEPT_ROWS_MAX: i64 = 100_000;
/// Characters of the beginnings of items.
pub const BEGINNING_CHARS: i32 = 90;
/// Number of days with a count, including today.
pub const DAYS_COUNTED: i64 = 30;

/// The result of one pruning step; its size is set in the SQL function.
#[derive(Clone, Copy, Debug)]
pub struct PruneStep {
    pub rows: i64,
    /// The user to continue after; `None` if all are done, or another server is pruning.
    pub after_user: Option<i64>,
}

/// A call to be written.
#[derive(Clone, Debug)]
pub struct ActivityEntry {
    pub user: UserId,
    pub agent: Option<AgentId>,
    pub at: OffsetDateTime,
    pub tool: &'static str,
    pub outcome: &'static str,
    pub duration_us: i32,
    pub items: Vec<i64>,
    pub query: Option<String>,
    /// Boxed, because few entries have it.
    pub of_team: Option<Box<TeamRead>>,
}

/// Data of a call that read lent memory.
#[derive(Clone, Debug)]
pub enum TeamRead {
    /// In the leader's activity: the member that read it.
    Member(UserId, AgentId),
    /// In the member's activity: whose items were lent, and which.
    Lent(UserId, Vec<i64>),
}

/// Which calls to list, newest first. The default matches all, with a limit of 0.
#[derive(Clone, Debug, Default)]
pub struct ActivityFilter {
    pub agent: Option<AgentId>,
    /// Any of these tools; empty: all.
    pub tools: Vec<&'static str>,
    /// Only successful or only failed calls.
    pub went_well: Option<bool>,
    pub since: Option<OffsetDateTime>,
    /// Before this time.
    pub until: Option<OffsetDateTime>,
    pub item: Option<i64>,
    /// With a memory of the theme with this slug.
    pub theme: Option<String>,
    pub limit: i64,
}

#[derive(Clone, Debug)]
pub struct ActivityRow {
    pub id: i64,
    pub at: OffsetDateTime,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Name of the team member that read what this agent lends.
    pub member: Option<String>,
    pub tool: String,
    pub outcome: String,
    pub duration_us: i32,
    /// Returned, added or archived; best first.
    pub items: Vec<i64>,
    /// Those of the items that were lent to the agent.
    pub lent: Vec<i64>,
    pub query: Option<String>,
}

/// Number of calls on one day (UTC).
#[derive(Clone, Copy, Debug)]
pub struct DayCount {
    pub day: Date,
    pub ok: i64,
    pub failed: i64,
}

/// The data of the activity page.
#[derive(Clone, Debug)]
pub struct CallsPage {
    pub rows: Vec<ActivityRow>,
    /// The beginnings of these rows' items; deleted ones are missing.
    pub beginnings: BTreeMap<i64, String>,
    /// Paths of those items that are documents.
    pub documents: BTreeMap<i64, String>,
    /// The last [`DAYS_COUNTED`] days, regardless of the filter's period; days without calls are missing.
    pub days: Vec<DayCount>,
    /// All agents of the user, by name.
    pub agents: Vec<(AgentId, String)>,
    pub keeps_queries: bool,
    /// Number of calls with a stored query.
    pub kept_queries: i64,
    /// No calls are recorded at all, regardless of the filter.
    pub is_empty: bool,
}

/// How much of a user's memory is used, and by whom.
#[derive(Clone, Debug)]
pub struct MemoryUsage {
    /// Of the busiest agents and themes, at most [`BUSIEST`] each.
    pub reads: Vec<ThemeReads>,
    pub most_used: Vec<UsedItem>,
    /// Oldest first.
    pub never_used: Vec<UsedItem>,
    /// Number of active memories, and of those that were never used.
    pub active: i64,
    pub unused: i64,
}

pub const BUSIEST: i64 = 10;
/// Only so many of the newest calls are counted, which takes up to 0.4 s.
pub const READS_COUNTED_MAX: i64 = 10_000;

/// Calls of an agent that returned memories of a theme.
#[derive(Clone, Debug)]
pub struct ThemeReads {
    pub agent: i64,
    pub agent_name: String,
    pub theme: String,
    pub theme_name: String,
    pub calls: i64,
}

#[derive(Clone, Debug)]
pub struct UsedItem {
    pub id: i64,
    /// The first [`BEGINNING_CHARS`] characters of its text.
    pub beginning: String,
    pub created_at: OffsetDateTime,
    pub uses: i64,
}
