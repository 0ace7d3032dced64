//! The address of the activity page, read and written back, as that of the
//! memory page is.

use super::{more_rows, rows_shown, written};
use crate::kinds::TOOLS;
use crate::limits::PAGE_SIZE;

/// Periods that can be asked for, in days.
pub const PERIODS: [(i64, &str); 3] =
    [(1, "Last 24 hours"), (7, "Last 7 days"), (30, "Last 30 days")];

/// What the address of `/activity` says: `?agent=&tool=&outcome=&days=&day=&item=&theme=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityFilters {
    pub agent: Option<i64>,
    /// A tool's name, of those in [`TOOLS`].
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
    /// How many rows to show, in steps of [`PAGE_SIZE`].
    pub shown: usize,
}

impl ActivityFilters {
    /// Reads `agent=…&tool=…` (without the `?`). What it does not know, it passes over.
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self { shown: PAGE_SIZE, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "agent" => filters.agent = value.parse().ok(),
                "tool" => {
                    filters.tool =
                        TOOLS.map(|(name, ..)| name).into_iter().find(|name| *name == value)
                }
                "outcome" => {
                    filters.went_well = match value.as_ref() {
                        "ok" => Some(true),
                        "failed" => Some(false),
                        _ => None,
                    }
                }
                "days" => {
                    let asked = value.parse().ok();
                    filters.days = asked.filter(|n| PERIODS.iter().any(|(days, _)| days == n));
                }
                "day" => filters.day = Some(value.into_owned()).filter(|day| !day.is_empty()),
                "theme" => filters.theme = Some(value.into_owned()).filter(|slug| !slug.is_empty()),
                "item" => filters.item = value.parse().ok(),
                "shown" => filters.shown = rows_shown(&value),
                _ => {}
            }
        }
        filters
    }

    /// The path and query that show these filters; defaults are left out.
    pub fn href(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        };
        add("agent", self.agent.map(|id| id.to_string()));
        add("tool", self.tool.map(str::to_owned));
        add("outcome", self.went_well.map(outcome_slug).map(str::to_owned));
        add("days", self.days.map(|days| days.to_string()));
        add("day", self.day.clone());
        add("theme", self.theme.clone());
        add("item", self.item.map(|id| id.to_string()));
        add("shown", (self.shown > PAGE_SIZE).then(|| self.shown.to_string()));
        written("/activity", query.finish())
    }

    /// All calls with this memory.
    pub fn of_item(item: i64) -> Self {
        Self { item: Some(item), ..Self::default() }
    }

    /// What an agent did with memories of a theme.
    pub fn of_theme(agent: i64, theme: &str) -> Self {
        Self { agent: Some(agent), theme: Some(theme.to_owned()), ..Self::default() }
    }

    pub fn without_item(&self) -> Self {
        Self { item: None, ..self.at_the_top() }
    }

    pub fn without_theme(&self) -> Self {
        Self { theme: None, ..self.at_the_top() }
    }

    pub fn on_day(&self, day: Option<&str>) -> Self {
        Self { day: day.map(str::to_owned), days: None, ..self.at_the_top() }
    }

    fn at_the_top(&self) -> Self {
        Self { shown: PAGE_SIZE, ..self.clone() }
    }

    pub fn is_narrowed(&self) -> bool {
        let all = Self { shown: self.shown, ..Self::default() };
        *self != all
    }

    /// One step further down, or `None` where the page is as long as it gets.
    pub fn with_more(&self) -> Option<Self> {
        more_rows(self.shown).map(|shown| Self { shown, ..self.clone() })
    }
}

fn outcome_slug(went_well: bool) -> &'static str {
    if went_well { "ok" } else { "failed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written_back_unchanged() {
        let address = "agent=3&tool=memory_get&outcome=failed&days=7&day=2026-03-03&theme=work&item=42&shown=50";
        let filters = ActivityFilters::from_query(address);
        assert_eq!(filters.href(), format!("/activity?{address}"));
        assert!(filters.is_narrowed());
        assert_eq!(ActivityFilters::default().href(), "/activity");
        assert_eq!(ActivityFilters::of_item(42).href(), "/activity?item=42");
    }

    #[test]
    fn nonsense_in_the_address_is_passed_over() {
        let nonsense =
            "agent=x&tool=rm&outcome=so&days=2&item=-&shown=-3&days=99999999999999999999&=%FF";
        let filters = ActivityFilters::from_query(nonsense);
        assert_eq!(filters.href(), "/activity");
        assert!(!filters.is_narrowed());
    }
}
