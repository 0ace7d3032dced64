//! What is stored, in words of binary units: on Admin and Admin › Users.

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
