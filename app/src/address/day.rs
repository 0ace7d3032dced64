//! Another day than today, as addresses have it.

use form_urlencoded::Serializer;
use time::OffsetDateTime;

use crate::clock::Zone;
use crate::input::Invalid;
use crate::memories::Day;

/// `as_of=` (what was known then) and `at=` (what was true then) of an address, as they were given; empty: now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayFilters {
    pub as_of: String,
    pub at: String,
}

impl DayFilters {
    pub fn from_query(query: &str) -> Self {
        let mut day = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            day.take(&name, &value);
        }
        day
    }

    /// One pair of an address, if it is of these.
    pub fn take(&mut self, name: &str, value: &str) {
        match name {
            "as_of" => self.as_of = value.trim().to_owned(),
            "at" => self.at = value.trim().to_owned(),
            _ => {}
        }
    }

    /// The day ends at midnight in this time zone.
    ///
    /// # Errors
    /// If one of the two is no date, or `as_of` is in the future.
    pub fn parsed(&self, zone: &Zone, now: OffsetDateTime) -> Result<Day, Invalid> {
        Day::parse(zone, Some(&self.as_of), Some(&self.at), now)
    }

    pub fn is_today(&self) -> bool {
        self.as_of.is_empty() && self.at.is_empty()
    }

    pub fn append(&self, query: &mut Serializer<'_, String>) {
        for (name, value) in [("as_of", &self.as_of), ("at", &self.at)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
    }

    /// The address of a page on this day.
    pub fn on(&self, path: &str) -> String {
        let mut query = Serializer::new(String::new());
        self.append(&mut query);
        match query.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}
