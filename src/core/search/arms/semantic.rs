//! The semantic arm: cosine distance of embeddings. A source is as near as its nearest passage.

use std::collections::HashSet;

use super::CANDIDATES_MAX;
use crate::search::reader::index::Index;
use crate::search::reader::seen::SeenSources;
use crate::search::reader::vectors::{Nearness, PreparedQuery, Spread};

/// Passages per tier that are compared by their codes, after preselection by sign bits …
const COMPARED_MIN: usize = 200;
/// … plus one for this many.
const PASSAGES_PER_COMPARED: usize = 250;

/// A query's vector with the spread of its cosines in a memory.
pub struct Asked<'a> {
    vector: &'a PreparedQuery,
    pub spread: Spread,
}

impl<'a> Asked<'a> {
    pub fn of(index: &Index, seen: &SeenSources, vector: &'a PreparedQuery) -> Self {
        let is_seen = |passage: u32| {
            let source = index.passage(passage as usize);
            source.is_some_and(|(source, _)| seen.has(index.source(source)))
        };
        Self { vector, spread: index.vectors.spread(vector, is_seen) }
    }

    /// How near a source is; `None` without a vector.
    pub fn nearness(&self, index: &Index, source: u32) -> Option<Nearness> {
        index.vectors.nearness(index.passages_of(source), self.vector, &self.spread)
    }

    /// The nearest sources per tier.
    pub fn nearest(&self, index: &Index, mask: &[bool], tiers: [bool; 2]) -> Vec<u32> {
        let mut found = Vec::new();
        for is_turn in [false, true] {
            if !tiers[usize::from(is_turn)] || index.count(is_turn) == 0 {
                continue;
            }
            let compared = COMPARED_MIN + index.vectors.count() / PASSAGES_PER_COMPARED;
            let source_of = |passage: u32| {
                let (source, _) = index.passage(passage as usize)?;
                let is_wanted = mask[source as usize] && index.source(source).is_turn() == is_turn;
                is_wanted.then_some(source)
            };
            let near = index.vectors.near(self.vector, compared, |p| source_of(p).is_some());
            let sources: HashSet<u32> = near.into_iter().filter_map(source_of).collect();
            let near = |source: u32| Some((source, self.nearness(index, source)?.distance));
            let mut near: Vec<(u32, f32)> = sources.into_iter().filter_map(near).collect();
            let order = |a: &(u32, f32), b: &(u32, f32)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
            if near.len() > CANDIDATES_MAX {
                near.select_nth_unstable_by(CANDIDATES_MAX, order);
                near.truncate(CANDIDATES_MAX);
            }
            near.sort_unstable_by(order);
            found.extend(near.into_iter().map(|(source, _)| source));
        }
        found
    }
}
