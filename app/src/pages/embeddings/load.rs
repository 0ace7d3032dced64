//! What other pages say of embeddings. No key comes in here, and none goes out.

use super::provider_name;
use crate::components::ScoreParts;
use crate::embedding::{EmbeddingState, ItemEmbedding};
use crate::page::Page;
use crate::search::Explanation;
use crate::view::{EmbeddingState as StateView, ItemEmbedding as ItemEmbeddingView};

pub(crate) fn score_parts(why: &Explanation) -> ScoreParts {
    let factor = why.tier_weight * why.own_weight;
    ScoreParts {
        lexical: why.lexical,
        late: why.late,
        late_share: why.late_share,
        semantic_normalised: why.semantic_normalised,
        distance: why.distance,
        words_matched: why.words_matched,
        is_substring: why.is_substring,
        weight_semantic: why.semantic_weight * why.likeness_scale,
        weight_lexical: why.lexical_weight * why.likeness_scale,
        speaker: why.speaker,
        entities: why.entities,
        time: why.time,
        trust: why.trust,
        neighbours: why.neighbours * why.likeness_scale,
        exact: why.exact / (factor * why.scale),
        scale: why.scale,
        factor,
    }
}

fn state(state: EmbeddingState) -> Option<StateView> {
    match state {
        EmbeddingState::Pending => Some(StateView::Pending),
        EmbeddingState::Ready => Some(StateView::Ready),
        EmbeddingState::Error => Some(StateView::Error),
        EmbeddingState::Off => None,
    }
}

pub(crate) fn state_filter(state: StateView) -> EmbeddingState {
    match state {
        StateView::Pending => EmbeddingState::Pending,
        StateView::Ready => EmbeddingState::Ready,
        StateView::Error => EmbeddingState::Error,
    }
}

impl Page {
    pub(crate) fn item_embedding(&self, embedding: ItemEmbedding) -> ItemEmbeddingView {
        ItemEmbeddingView {
            state: state(embedding.state),
            error: embedding.error,
            provider: embedding.provider_type.map(|t| provider_name(t).to_owned()),
            model: embedding.model,
            dimensions: embedding.dimensions,
            passages: embedding.passages,
            passages_ready: embedding.passages_ready,
            updated: embedding.updated_at,
        }
    }
}
