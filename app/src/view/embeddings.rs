//! What pages say about the vectors of an item.

use time::OffsetDateTime;

/// Where an item's vector stands in the space that search uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingState {
    Pending,
    Ready,
    Error,
}

impl EmbeddingState {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Ready, Self::Error];

    /// As it stands in the address: `embedding=pending`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Error => "error",
        }
    }

    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.slug() == slug)
    }
}

/// The vectors of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemEmbedding {
    /// `None`: no space, so no vector is to be had.
    pub state: Option<EmbeddingState>,
    pub error: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub dimensions: Option<i32>,
    /// Stretches of its text, each with a vector of its own; and those that have theirs.
    pub passages: i64,
    pub passages_ready: i64,
    pub updated: Option<OffsetDateTime>,
}
