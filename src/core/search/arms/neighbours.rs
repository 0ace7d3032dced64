//! Turns just before and after the first candidates of each arm (FACTS, "Finding the evidence").

use super::SourceFilter;
use crate::search::reader::index::{Index, IndexedSource};

/// How many of each arm's first per tier bring their neighbours.
pub const BRINGING: usize = 5;
/// Maximum distance of a neighbour.
pub const STEPS_MAX: usize = 2;
/// Maximum time between neighbours, in microseconds.
const APART_MAX: i64 = 3_600 * 1_000_000;

/// A neighbour of a source, 1 or 2 steps away.
pub struct Neighbour {
    pub of: u32,
    pub source: u32,
    pub steps: usize,
}

/// The wanted neighbours of each source in `bringing`.
pub fn beside(index: &Index, wanted: &SourceFilter, bringing: &[u32]) -> Vec<Neighbour> {
    let mut found = Vec::new();
    for of in bringing {
        let source = index.source(*of);
        if !source.is_turn() && !source.is_said {
            continue;
        }
        let by_date = index.by_date(source.is_turn());
        let place = index.place(*of);
        let before = by_date[..place].iter().rev();
        let after = by_date.get(place + 1..).unwrap_or_default().iter();
        let both = [before.take(STEPS_MAX).collect::<Vec<_>>(), after.take(STEPS_MAX).collect()];
        for side in both {
            for (steps, number) in (1..).zip(side) {
                let other = index.source(*number);
                if are_of_one(source, other) && wanted.has(other) {
                    found.push(Neighbour { of: *of, source: *number, steps });
                }
            }
        }
    }
    found
}

/// Whether both are from one conversation.
fn are_of_one(source: &IndexedSource, other: &IndexedSource) -> bool {
    source.agent == other.agent
        && source.theme == other.theme
        && source.session == other.session
        && source.created_at.abs_diff(other.created_at) <= APART_MAX as u64
        && (other.is_turn() || other.is_said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::arms::tests::{index_of, wanted};
    use crate::search::query::Filters;

    fn beside_of(index: &Index, id: i64) -> Vec<(i64, usize)> {
        let all = wanted(index, Filters::default());
        let found = beside(index, &all, &[index.find(id).expect("there")]);
        let mut found: Vec<(i64, usize)> =
            found.iter().map(|b| (index.source(b.source).id, b.steps)).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn what_was_said_two_steps_around_is_beside() {
        let index = index_of(&["Anna: a", "Ben: b", "Anna: c", "Ben: d", "Anna: e", "Ben: f"]);
        assert_eq!(beside_of(&index, 3), [(1, 2), (2, 1), (4, 1), (5, 2)]);
        assert_eq!(beside_of(&index, 1), [(2, 1), (3, 2)]);
    }

    #[test]
    fn what_nobody_says_is_beside_nothing() {
        let index = index_of(&["Anna: a", "a note", "Anna: c"]);
        assert_eq!(beside_of(&index, 2), []);
        // Counted as a step all the same.
        assert_eq!(beside_of(&index, 1), [(3, 2)]);
    }
}
