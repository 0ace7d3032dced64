//! The address of the timeline.

/// What the address of `/timeline` says: `?day=2026-03-03&before=…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineFilters {
    /// Only this day.
    pub day: String,
    /// Where the stream goes on.
    pub before: String,
}

impl TimelineFilters {
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match name.as_ref() {
                "day" => &mut filters.day,
                "before" => &mut filters.before,
                _ => continue,
            };
            *field = value.trim().to_owned();
        }
        filters
    }
}
