//! Why an import ended before its file did. What was read before is kept.

use crate::embedding::EmbeddingError;
use crate::input::{Invalid, sentence};
use crate::quota::QuotaError;

/// Of a record that the database refuses.
pub(super) const NOT_KEPT: &str = "PostgreSQL cannot keep it.";

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("the account is being erased; nothing more is taken in")]
    Erasing,
    #[error("the file could not be read to its end; give it again: nothing is doubled")]
    Read(#[source] std::io::Error),
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// A limit of the account is reached.
    #[error(transparent)]
    Full(#[from] Invalid),
    #[error("{} What was in it before this place is taken in: give the file again later, nothing is doubled", sentence(&.0.to_string()))]
    Quota(QuotaError),
    #[error("the database cannot be reached right now; give the file again: nothing is doubled")]
    Database(#[from] sqlx::Error),
}

impl From<QuotaError> for ImportError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Database(error) => error.into(),
            full => Self::Quota(full),
        }
    }
}
