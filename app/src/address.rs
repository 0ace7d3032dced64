//! The addresses of pages with filters: read from a query string and written back. Every link that changes a filter is made
//! here, so that none forgets the others.

mod activity;
mod day;
mod documents;
mod entities;
mod memory;
mod sessions;
mod timeline;
mod users;

pub use activity::{ActivityFilters, PERIODS};
pub use day::DayFilters;
pub use documents::{DocumentFilters, document_path, folder_of, folder_path};
pub use entities::{DEPTHS, EntityFilters, GraphFilters, entity_path, order_slug};
pub use memory::{MemoryFilters, StatusFilter};
pub use sessions::{SessionFilters, said_in, session_from};
pub use timeline::TimelineFilters;
pub use users::UsersFilters;

use crate::limits::{PAGE_SIZE, ROWS_MAX};

/// How far a list is read on; what is no such number is its beginning.
fn rows_shown(value: &str) -> usize {
    value.parse().unwrap_or(PAGE_SIZE).clamp(PAGE_SIZE, ROWS_MAX)
}

/// One step further down, or `None` where the page is as long as it gets.
fn more_rows(shown: usize) -> Option<usize> {
    (shown < ROWS_MAX).then(|| (shown + PAGE_SIZE).min(ROWS_MAX))
}

/// Without the `?` where nothing is asked for.
fn written(path: &str, query: String) -> String {
    match query.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{query}"),
    }
}
