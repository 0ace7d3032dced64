//! x

mod embeddings;

pub use crate::address::{ActivityFilters, EntityLink, PartPlace, said_in};
pub use crate::components::{LateView, RelationBar, Retired, ScoreParts, SpaceView};
pub use crate::consolidation::summary::SourceItem;
pub use crate::endpoint::EndpointView;
pub use crate::pages::activity::readings::Reading;
pub use embeddings::{EmbeddingState, ItemEmbedding};
/// What goes with one memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemErasure {
    pub vectors: i64,
    pub events: i64,
    /// Calls that were about it.
    pub mentions: i64,
    /// Memories whose place it took.
    pub links: i64,
    /// The summary stands on it.
    pub is_in_summary: bool,
    /// Memories that were written from it.
    pub derived: i64,
}
