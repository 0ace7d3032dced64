//! The addresses of sessions: the list with its filters, read and written back, and
//! one session at one of its messages.

use super::{more_rows, rows_shown, written};
use crate::limits::PAGE_SIZE;
use crate::sessions::{ExtractionOutcome, SessionState};

/// What the address of `/sessions` says: `?agent=&state=&outcome=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilters {
    pub agent: Option<i64>,
    pub state: Option<SessionState>,
    pub outcome: Option<ExtractionOutcome>,
    /// How many rows to show, in steps of [`PAGE_SIZE`].
    pub shown: usize,
}

impl SessionFilters {
    /// Reads `agent=…&state=…` (without the `?`). What it does not know, it passes over.
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self { shown: PAGE_SIZE, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "agent" => filters.agent = value.parse().ok(),
                "state" => {
                    let mut states = [SessionState::Open, SessionState::Completed].into_iter();
                    filters.state = states.find(|state| state.as_str() == value);
                }
                "outcome" => filters.outcome = ExtractionOutcome::from_label(&value),
                "shown" => filters.shown = rows_shown(&value),
                _ => {}
            }
        }
        filters
    }

    /// The path and query that show these filters; defaults are left out.
    pub fn href(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(agent) = self.agent {
            query.append_pair("agent", &agent.to_string());
        }
        if let Some(state) = self.state {
            query.append_pair("state", state.as_str());
        }
        if let Some(outcome) = self.outcome {
            query.append_pair("outcome", outcome.as_str());
        }
        if self.shown > PAGE_SIZE {
            query.append_pair("shown", &self.shown.to_string());
        }
        written("/sessions", query.finish())
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

/// Messages that are shown before the one that is looked for.
const SAID_BEFORE: i32 = 4;

/// A message of a session, or where no message is known its beginning.
pub fn said_in((session, position): (i64, Option<i32>)) -> String {
    match position {
        Some(position) => session_at(session, position),
        None => session_from(session, 1),
    }
}

/// A message in its session, after a few of those before it.
pub fn session_at(session_id: i64, position: i32) -> String {
    format!("{}#m{position}", session_from(session_id, position - SAID_BEFORE))
}

/// The page of a session that begins with this message; `#m12` is the message at position 12.
pub fn session_from(session_id: i64, position: i32) -> String {
    match position {
        ..=1 => format!("/sessions/{session_id}"),
        position => format!("/sessions/{session_id}?from={position}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written_back_unchanged() {
        let address = "agent=3&state=completed&outcome=failed&shown=50";
        let filters = SessionFilters::from_query(address);
        assert_eq!(filters.href(), format!("/sessions?{address}"));
        assert!(filters.is_narrowed());
        assert_eq!(SessionFilters::default().href(), "/sessions");
        let nonsense = SessionFilters::from_query("agent=x&state=y&outcome=z&shown=-1&=%FF");
        assert_eq!(nonsense.href(), "/sessions");
        assert!(!nonsense.is_narrowed());
    }
}
