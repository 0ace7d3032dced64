//! Which texts are scanned for fragments of the query if no word matches: substrings have no index.

use super::SourceFilter;
use crate::search::reader::index::Index;

/// Limit on the sources of a tier.
const SOURCES_MAX: usize = 25_000;
/// Limit on the terms of a tier's texts, times the fragments. So much takes PostgreSQL less than a second.
const TERMS_MAX: usize = 20_000_000;
/// If fewer than one source in this many is wanted, those are read by id. Otherwise the newest are, which is faster for as
/// many.
const ONE_IN: usize = 5;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct ScannedTexts {
    /// The sources with these ids …
    pub ids: Vec<i64>,
    /// … and so many of the newest memories and turns.
    pub newest: [usize; 2],
}

impl ScannedTexts {
    /// The newest wanted sources of each tier.
    pub fn of(index: &Index, wanted: &SourceFilter, fragments: usize) -> Self {
        let mut scanned = Self::default();
        for is_turn in [false, true] {
            let newest = || index.by_date(is_turn).iter().rev().copied();
            let few = newest().filter(|number| wanted.has(index.source(*number)));
            let few: Vec<u32> = few.collect();
            match few.len() * ONE_IN < index.count(is_turn) {
                true => {
                    let few = within(index, few.into_iter(), fragments);
                    scanned.ids.extend(few.map(|number| index.source(number).id));
                }
                false => {
                    let count = within(index, newest(), fragments).count();
                    scanned.newest[usize::from(is_turn)] = count;
                }
            }
        }
        scanned
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.newest == [0; 2]
    }
}

/// The first sources that keep to the limits.
fn within(
    index: &Index,
    sources: impl Iterator<Item = u32>,
    fragments: usize,
) -> impl Iterator<Item = u32> {
    let mut left = TERMS_MAX / fragments.max(1);
    sources.take(SOURCES_MAX).take_while(move |number| {
        let passages = index.passages_of(*number).filter_map(|p| index.passage(p));
        let terms: usize = passages.map(|(_, terms)| usize::from(terms)).sum();
        let has_room = terms <= left;
        left = left.saturating_sub(terms);
        has_room
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::ItemType;
    use crate::search::arms::tests::{index_of, row, turn, wanted};
    use crate::search::query::Filters;
    use crate::search::reader::index::SourceRow;

    #[test]
    fn what_filters_leave_out_is_not_scanned_and_much_text_only_in_part() {
        let mut index = index_of(&["tea and cake"; 30]);
        for id in [40, 41] {
            index.put(SourceRow { item_type: ItemType::Preference, ..row(id, "tea") });
        }
        index.put(turn(50, "tea"));
        let scanned = |types: &[ItemType], fragments| {
            let filters = Filters { types: types.to_vec(), ..Filters::default() };
            let wanted = wanted(&index, filters);
            ScannedTexts::of(&index, &wanted, fragments)
        };
        let newest = |newest| ScannedTexts { newest, ..ScannedTexts::default() };
        assert_eq!(scanned(&[], 1), newest([32, 1]));
        assert_eq!(scanned(&[ItemType::Fact], 1), newest([32, 0]));
        let few = scanned(&[ItemType::Preference], 1);
        assert_eq!((few.ids, few.newest), (vec![41, 40], [0, 0]));
        assert!(scanned(&[ItemType::Instruction], 1).is_empty());
        // Room for four terms: two texts of one, none of three.
        assert_eq!(scanned(&[], TERMS_MAX / 4), newest([2, 1]));
    }
}
