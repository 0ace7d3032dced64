//! The semantic arm: cosine distance of embeddings.

use super::CANDIDATES_MAX;
use crate::search::reader::index::Index;
use crate::search::reader::vectors::PreparedQuery;

/// Embeddings per tier that are compared by their codes, after preselection by sign bits …
const COMPARED_MIN: usize = 200;
/// … plus one for this many sources.
const SOURCES_PER_COMPARED: usize = 250;

/// The nearest per tier, with their distances.
pub fn nearest(
    index: &Index,
    mask: &[bool],
    tiers: [bool; 2],
    asked: &PreparedQuery,
) -> Vec<(u32, f32)> {
    let mut found = Vec::new();
    for is_turn in [false, true] {
        if !tiers[usize::from(is_turn)] || index.count(is_turn) == 0 {
            continue;
        }
        let compared = COMPARED_MIN + index.count(is_turn) / SOURCES_PER_COMPARED;
        let wanted = |n: u32| mask[n as usize] && index.source(n).is_turn() == is_turn;
        found.extend(index.vectors.nearest(asked, compared, CANDIDATES_MAX, wanted));
    }
    found
}
