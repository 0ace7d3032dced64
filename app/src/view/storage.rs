//! What is stored, in words of binary units: on Your data, Admin and Admin › Users.

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

/// Of the server, for admins.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerStorage {
    pub limit_mib: i64,
    /// How much is free, of how much, and below what nothing is added.
    pub disk: Option<String>,
    pub is_disk_full: bool,
}

/// Who stores how much.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageList {
    pub total: String,
    pub limit: String,
    /// An address or `operator: id`, and how much; the most first.
    pub largest: Vec<(String, String)>,
}
