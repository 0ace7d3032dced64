//! The types of the page of activity, and of what a memory's page says about
//! who has read it.

use time::OffsetDateTime;

/// What the address of `/activity` says: `?agent=&tool=&outcome=&days=&day=&item=&theme=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityFilters {
    pub agent: Option<i64>,
    /// A tool's name, of those in [`TOOLS`](crate::kinds::TOOLS).
    pub tool: Option<&'static str>,
    /// `outcome=ok` or `outcome=failed`.
    pub went_well: Option<bool>,
    /// `days=1`, `7` or `30`: not older.
    pub days: Option<i64>,
    /// `day=2026-03-03`: on this day, in UTC, whatever `days` says.
    pub day: Option<String>,
    /// Calls that returned or touched this memory.
    pub item: Option<i64>,
    /// Calls that returned or touched memories of this theme.
    pub theme: Option<String>,
    /// How many rows to show, in steps of [`PAGE_SIZE`](crate::limits::PAGE_SIZE).
    pub shown: usize,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRow {
    pub id: i64,
    pub tool: String,
    /// The agent's name.
    pub agent: String,
    pub at: OffsetDateTime,
    /// "Today", "Yesterday", "21 November 2026"
    pub day: String,
    /// "04:15", UTC
    pub time: String,
    /// The problem's code, when it failed.
    pub problem: Option<String>,
    /// "8 ms"
    pub duration: String,
    pub items: Vec<CallItem>,
    /// The words of the search, when they are kept.
    pub query: Option<String>,
}

/// A memory, or a document, that a call returned or touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallItem {
    pub id: i64,
    /// How it begins, or a document's path; `None` when it is gone.
    pub beginning: Option<String>,
    pub is_document: bool,
    /// Somebody else's, who lent it to the agent.
    pub is_lent: bool,
}

/// The calls of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayCalls {
    /// 2026-11-21
    pub iso: String,
    /// "21 November"
    pub day: String,
    pub ok: i64,
    pub failed: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ActivityPage {
    pub rows: Vec<CallRow>,
    /// More rows than `shown` exist: offer `shown + PAGE_SIZE`.
    pub has_more: bool,
    /// "3 March 2026": only this day is listed.
    pub chosen_day: Option<String>,
    /// The last 30 days, today last, whatever the period.
    pub days: Vec<DayCalls>,
    /// Id and name, by name.
    pub agents: Vec<(i64, String)>,
    pub keeps_queries: bool,
    /// Calls whose words are kept.
    pub kept_queries: i64,
    /// Nothing was ever recorded: asks for the "how to begin" page.
    pub is_empty: bool,
    /// How long calls are kept.
    pub kept_days: i64,
    /// How many are kept.
    pub kept_calls: i64,
    /// This server's public URL, for the line to paste.
    pub public_url: String,
}

/// One time a memory was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub tool: String,
    pub agent: String,
    pub at: OffsetDateTime,
}
