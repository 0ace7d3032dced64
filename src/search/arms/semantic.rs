//! By meaning: the cosine distance of vectors.

use super::CANDIDATES_MAX;
use crate::search::reader::index::Index;
use crate::search::reader::vectors::Asked;

/// Vectors of a tier that are compared exactly: the nearest by their signs, so many …
const COMPARED_MIN: usize = 200;
/// … and one more for so many sources.
const SOURCES_PER_COMPARED: usize = 250;

/// The nearest of each tier, with their distance.
pub fn nearest(index: &Index, mask: &[bool], tiers: [bool; 2], asked: &Asked) -> Vec<(u32, f32)> {
    let mut found = Vec::new();
    for is_turn in [false, true] {
        if !tiers[usize::from(is_turn)] || index.count(is_turn) == 0 {
            continue;
        }
        let compared = COMPARED_MIN + index.count(is_turn) / SOURCES_PER_COMPARED;
        let wanted = |n: u32| mask[n as usize] && index.source(n).is_turn() == is_turn;
        found.extend(
            index
                .vectors
                .nearest(asked, compared, CANDIDATES_MAX, wanted),
        );
    }
    found
}
