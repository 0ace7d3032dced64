//! The address of Admin › Users.

use super::written;
use crate::view::UsersFilters;

impl UsersFilters {
    /// Reads `q=…&before=…` (without the `?`). What it does not know, it passes over.
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "q" => filters.q = value.into_owned(),
                "before" => filters.before = value.parse().ok(),
                "operator" => filters.operator = value.parse().ok(),
                "external_id" => filters.external_id = value.into_owned(),
                _ => {}
            }
        }
        filters
    }

    /// The path and query of the page of the list that begins after `before`.
    pub fn href_after(&self, before: Option<i64>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.q.trim().is_empty() {
            query.append_pair("q", &self.q);
        }
        if let Some(before) = before {
            query.append_pair("before", &before.to_string());
        }
        written("/admin/users", query.finish())
    }
}
