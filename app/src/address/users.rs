//! The address of Admin › Users.

use super::written;

/// `?q=&before=&operator=&external_id=`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsersFilters {
    /// Part of an address.
    pub q: String,
    /// Where the page before this one ended.
    pub before: Option<i64>,
    /// With `external_id`: a user of an operator, to be found.
    pub operator: Option<i64>,
    pub external_id: String,
}

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
