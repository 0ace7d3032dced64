//! What is stored, in words of binary units: on Your data.

use time::OffsetDateTime;

/// What one person stores.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageView {
    pub used: i64,
    pub limit: i64,
    /// "1.2 GiB of 4.0 GiB"
    pub line: String,
    /// What takes most: its name and how much, in words.
    pub parts: Vec<(&'static str, String)>,
    /// `None`: not yet.
    pub counted: Option<OffsetDateTime>,
}
