//! What changed in a memory, by day, as its page shows it.

use super::RelationBar;
use time::OffsetDateTime;

/// What the address of `/timeline` says: `?day=2026-03-03&before=…&from=2026-03-01&until=2026-03-31`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineFilters {
    /// Only this day.
    pub day: String,
    /// Where the stream goes on.
    pub before: String,
    /// Two days that are compared.
    pub from: String,
    pub until: String,
}

impl TimelineFilters {
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match name.as_ref() {
                "day" => &mut filters.day,
                "before" => &mut filters.before,
                "from" => &mut filters.from,
                "until" => &mut filters.until,
                _ => continue,
            };
            *field = value.trim().to_owned();
        }
        filters
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelinePage {
    /// From a Monday to today, a year.
    pub calendar: Vec<CalendarDay>,
    /// Learned in that year.
    pub learned: i64,
    /// "3 March 2026": only this day is shown.
    pub chosen: Option<String>,
    /// Newest first.
    pub days: Vec<StreamDay>,
    /// The address of what came before.
    pub older: Option<String>,
    pub difference: Option<DifferenceView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarDay {
    /// 2026-03-03
    pub iso: String,
    /// "3 March 2026"
    pub words: String,
    /// Of the first days of months, in the first week of each: "Mar"
    pub month: Option<String>,
    pub count: i64,
    /// 0, where nothing was learned, to 3.
    pub level: u8,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StreamDay {
    pub iso: String,
    pub words: String,
    pub rows: Vec<HappeningRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HappeningRow {
    pub what: String,
    /// By whom, or why.
    pub cause: String,
    /// Where it was read.
    pub session: Option<i64>,
    pub about: MemoryLine,
    pub instead: Option<MemoryLine>,
    pub at: OffsetDateTime,
}

/// A memory or an entity, and where its page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLine {
    pub href: String,
    pub text: String,
}

/// What differs between two days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DifferenceView {
    pub from: String,
    pub until: String,
    pub added: Vec<MemoryLine>,
    pub gone: Vec<MemoryLine>,
    /// The old, and the new.
    pub changed: Vec<(MemoryLine, MemoryLine)>,
    /// There is more than is told.
    pub is_cut: bool,
}

/// One of the memories that a fact was told by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactBar {
    pub bar: RelationBar,
    /// It is true now.
    pub is_current: bool,
    /// The memory whose page this is.
    pub is_this: bool,
    /// "since 3 March 2026"
    pub when: String,
    pub about: MemoryLine,
}
