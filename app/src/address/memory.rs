//! The address of the memory page.

use super::{DayFilters, more_rows, rows_shown, written};
use crate::embedding::EmbeddingState;
use crate::limits::PAGE_SIZE;

/// A hundred years: what search takes.
const DAYS_MAX: i64 = 36_500;

/// Which memories are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    #[default]
    Active,
    Archived,
    All,
}

/// What the address of `/memory` says: `?q=&theme=&tag=&type=&type=&agent=&days=&status=&embedding=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFilters {
    pub q: String,
    pub theme: Option<String>,
    /// Item types as their slugs (`preference`, `fact`, …); empty means all.
    pub types: Vec<String>,
    /// `tag=`: only what has this tag.
    pub tag: Option<String>,
    /// `status=archived`, `status=all`.
    pub status: StatusFilter,
    /// `days=7`: only what was added in the last days.
    pub days: Option<i64>,
    /// `embedding=pending|ready|error`: only items whose vector stands there.
    pub embedding: Option<EmbeddingState>,
    /// `agent=`: only what this agent added.
    pub agent: Option<i64>,
    /// `as_of=`, `at=`: what was known, and true, on another day.
    pub day: DayFilters,
    /// How many rows to show, in steps of [`PAGE_SIZE`].
    pub shown: usize,
}

impl StatusFilter {
    pub fn slug(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Archived => "archived",
            Self::All => "all",
        }
    }

    fn from_slug(slug: &str) -> Self {
        match slug {
            "archived" => Self::Archived,
            "all" => Self::All,
            _ => Self::Active,
        }
    }
}

impl MemoryFilters {
    /// Reads `q=…&theme=…&type=…` (without the `?`). What it does not know, it passes over.
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self { shown: PAGE_SIZE, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "q" => filters.q = value.into_owned(),
                "theme" => filters.theme = Some(value.into_owned()).filter(|slug| !slug.is_empty()),
                "type" if !value.is_empty() && !filters.has_type(&value) => {
                    filters.types.push(value.into_owned());
                }
                "tag" => filters.tag = Some(value.into_owned()).filter(|tag| !tag.is_empty()),
                "status" => filters.status = StatusFilter::from_slug(&value),
                "days" => {
                    filters.days = value.parse().ok().filter(|days| (1..=DAYS_MAX).contains(days))
                }
                "embedding" => {
                    let mut states = EmbeddingState::FILTERS.into_iter();
                    filters.embedding = states.find(|state| state.as_str() == value);
                }
                "agent" => filters.agent = value.parse().ok(),
                "shown" => filters.shown = rows_shown(&value),
                name => filters.day.take(name, &value),
            }
        }
        filters
    }

    /// The path and query that show these filters; defaults are left out.
    pub fn href(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.q.trim().is_empty() {
            query.append_pair("q", &self.q);
        }
        if let Some(theme) = &self.theme {
            query.append_pair("theme", theme);
        }
        for item_type in &self.types {
            query.append_pair("type", item_type);
        }
        if let Some(tag) = &self.tag {
            query.append_pair("tag", tag);
        }
        if self.status != StatusFilter::Active {
            query.append_pair("status", self.status.slug());
        }
        if let Some(days) = self.days {
            query.append_pair("days", &days.to_string());
        }
        if let Some(embedding) = self.embedding {
            query.append_pair("embedding", embedding.as_str());
        }
        if let Some(agent) = self.agent {
            query.append_pair("agent", &agent.to_string());
        }
        self.day.append(&mut query);
        if self.shown > PAGE_SIZE {
            query.append_pair("shown", &self.shown.to_string());
        }
        written("/memory", query.finish())
    }

    pub fn has_type(&self, item_type: &str) -> bool {
        self.types.iter().any(|chosen| chosen == item_type)
    }

    /// The same filters, from the first row on.
    fn at_the_top(&self) -> Self {
        Self { shown: PAGE_SIZE, ..self.clone() }
    }

    pub fn with_theme(&self, theme: Option<&str>) -> Self {
        Self { theme: theme.map(str::to_owned), ..self.at_the_top() }
    }

    pub fn without_words(&self) -> Self {
        Self { q: String::new(), ..self.at_the_top() }
    }

    pub fn without_types(&self) -> Self {
        Self { types: Vec::new(), ..self.at_the_top() }
    }

    pub fn without_type(&self, item_type: &str) -> Self {
        let mut filters = self.at_the_top();
        filters.types.retain(|chosen| chosen != item_type);
        filters
    }

    pub fn with_tag(&self, tag: Option<&str>) -> Self {
        Self { tag: tag.map(str::to_owned), ..self.at_the_top() }
    }

    pub fn with_agent(&self, agent: Option<i64>) -> Self {
        Self { agent, ..self.at_the_top() }
    }

    pub fn with_days(&self, days: Option<i64>) -> Self {
        Self { days, ..self.at_the_top() }
    }

    pub fn with_embedding(&self, state: Option<EmbeddingState>) -> Self {
        Self { embedding: state, ..self.at_the_top() }
    }

    pub fn today(&self) -> Self {
        Self { day: DayFilters::default(), ..self.at_the_top() }
    }

    pub fn with_status(&self, status: StatusFilter) -> Self {
        Self { status, ..self.at_the_top() }
    }

    /// One step further down, or `None` where the page is as long as it gets.
    pub fn with_more(&self) -> Option<Self> {
        more_rows(self.shown).map(|shown| Self { shown, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ROWS_MAX;

    #[test]
    fn an_address_is_read_and_written_back_unchanged() {
        let address = "q=caf%C3%A9+%26+tea&theme=food&type=fact&type=preference&tag=a+b&status=all&days=7&embedding=error&as_of=2026-03-03&at=2020&shown=75";
        let filters = MemoryFilters::from_query(address);
        assert_eq!(filters.q, "café & tea");
        assert_eq!(filters.types, ["fact", "preference"]);
        assert_eq!(filters.href(), format!("/memory?{address}"));
    }

    #[test]
    fn defaults_and_the_empty_fields_of_a_form_leave_no_trace() {
        let filters = MemoryFilters::from_query("q=&theme=&tag=&shown=25&status=&days=&type=");
        assert_eq!(filters, MemoryFilters::from_query(""));
        assert_eq!(filters.href(), "/memory");
    }

    #[test]
    fn a_link_that_changes_one_filter_keeps_the_others_and_starts_at_the_top() {
        let filters = MemoryFilters::from_query("q=tea&theme=food&type=fact&shown=75");
        let links = [
            filters.with_theme(Some("work")).href(),
            filters.with_theme(None).href(),
            filters.without_words().href(),
            filters.without_types().href(),
            filters.with_status(StatusFilter::All).href(),
        ];
        assert_eq!(
            links,
            [
                "/memory?q=tea&theme=work&type=fact",
                "/memory?q=tea&type=fact",
                "/memory?theme=food&type=fact",
                "/memory?q=tea&theme=food",
                "/memory?q=tea&theme=food&type=fact&status=all",
            ]
        );
    }

    #[test]
    fn more_rows_keep_every_filter_and_end_at_the_limit() {
        let filters = MemoryFilters::from_query("q=tea&status=archived");
        let more = filters.with_more().expect("the first page can grow");
        assert_eq!(more.href(), "/memory?q=tea&status=archived&shown=50");
        let longest = MemoryFilters::from_query("shown=999999999");
        assert_eq!(longest.shown, ROWS_MAX);
        assert_eq!(longest.with_more(), None);
    }

    #[test]
    fn nonsense_in_the_address_is_passed_over() {
        let filters = MemoryFilters::from_query(
            "shown=-3&days=-1&status=lost&type=fact&type=fact&embedding=lost&x=%FF&&=",
        );
        assert_eq!(filters.href(), "/memory?type=fact");
    }
}
