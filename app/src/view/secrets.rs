//! The types of Settings › Secrets.

use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq)]
pub struct SecretsPage {
    /// warn, mask or refuse
    pub policy: &'static str,
    /// How many kinds of secrets are looked for.
    pub rules: i64,
    /// Found in the last 30 days, by rule, the most frequent first.
    pub counts: Vec<(String, i64)>,
    /// Newest first.
    pub findings: Vec<SecretRow>,
}

/// Something that looked like a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretRow {
    /// The whole fingerprint.
    pub id: String,
    /// Its beginning, as answers show it.
    pub fingerprint: String,
    pub rule: String,
    pub field: String,
    /// `None`: a person or an import.
    pub agent: Option<String>,
    pub last: OffsetDateTime,
    pub count: i64,
    pub is_allowed: bool,
}
