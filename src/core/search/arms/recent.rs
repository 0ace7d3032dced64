//! The listing by date, newest first.

use super::SourceFilter;
use crate::search::reader::index::Index;

/// The newest `most` wanted memories, after the cursor (time and id) if given. Turns are never listed.
pub fn newest(
    index: &Index,
    wanted: &SourceFilter,
    after: Option<(i64, i64)>,
    most: usize,
) -> Vec<u32> {
    let by_date = index.by_date(false);
    let key = |number: &u32| {
        let source = index.source(*number);
        (source.created_at, source.id)
    };
    let end = after.map_or(by_date.len(), |after| by_date.partition_point(|n| key(n) < after));
    let older = by_date[..end].iter().rev().copied();
    older.filter(|n| wanted.lists(index.source(*n))).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::arms::tests::{index_of, turn, wanted};
    use crate::search::query::Filters;

    #[test]
    fn the_newest_come_first_and_go_on_where_they_ended() {
        let mut index = index_of(&["a", "b", "c", "d"]);
        index.put(turn(9, "said"));
        let all = wanted(&index, Filters::default());
        let ids =
            |found: Vec<u32>| -> Vec<i64> { found.iter().map(|n| index.source(*n).id).collect() };
        assert_eq!(ids(newest(&index, &all, None, 2)), [4, 3]);
        assert_eq!(ids(newest(&index, &all, Some((3_000_000, 3)), 9)), [2, 1]);
        assert_eq!(ids(newest(&index, &all, Some((3_000_000, 4)), 9)), [3, 2, 1]);
    }
}
