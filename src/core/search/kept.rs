//! The time that a question names may be misread. It ranks, and never hides: what is best without it stays among the first.

use super::candidate::CandidateSignals;
use super::explanation::Explanation;
use super::fuse;
use super::query::{Balance, RESULTS_DEFAULT};
use crate::memories::ItemId;

/// So many stay, but at most half of the results.
const KEPT: usize = 3;

/// The best if no time counts.
pub fn best_without_time(found: &[CandidateSignals], balance: Balance) -> Vec<ItemId> {
    let without = found.iter().cloned().map(|found| CandidateSignals { time: 0.0, ..found });
    let ranked = fuse::weighted(without.collect(), balance);
    ranked.iter().take(KEPT).map(|(found, _)| found.id).collect()
}

/// Moves those that stand behind the first ten, or behind the limit, to their end.
pub fn keep(ranked: &mut [(CandidateSignals, Explanation)], best: &[ItemId], limit: usize) {
    let first = limit.min(RESULTS_DEFAULT).min(ranked.len());
    let best = &best[..best.len().min(first / 2)];
    let places = (0..ranked.len()).filter(|place| best.contains(&ranked[*place].0.id));
    let places: Vec<usize> = places.collect();
    for (nth, place) in places.iter().enumerate() {
        let last = first - places.len() + nth;
        if *place > last {
            ranked[last..=*place].rotate_right(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_best_without_the_time_stays_among_the_first() {
        // The nearest are outside the time, and many that are hardly like the query are in it.
        let candidate = |id: i64| {
            let (distance, time) = if id < 5 { (0.1 * id as f64, 0.0) } else { (0.5, 1.0) };
            CandidateSignals { time, ..CandidateSignals::at(id, Some(distance)) }
        };
        let found: Vec<CandidateSignals> = (1..25).map(candidate).collect();
        let best = best_without_time(&found, Balance::Meaning);
        assert_eq!(best, [ItemId(1), ItemId(2), ItemId(3)]);
        let ids = |limit: usize| {
            let mut ranked = fuse::weighted(found.clone(), Balance::Meaning);
            keep(&mut ranked, &best, limit);
            ranked.iter().map(|(found, _)| found.id.0).collect::<Vec<i64>>()
        };
        for (limit, kept) in [(50, 7..10), (10, 7..10), (6, 3..6)] {
            assert_eq!(ids(limit)[kept], [1, 2, 3], "{limit}");
        }
        assert_eq!((ids(5)[3..5].to_vec(), ids(2)[1], ids(1)[0]), (vec![1, 2], 1, 24));
        let mut all = ids(10);
        all.sort_unstable();
        assert_eq!(all, (1..25).collect::<Vec<i64>>());
        // Those that stand far enough ahead stay where they are.
        let mut ranked = fuse::weighted(found.clone(), Balance::Meaning);
        keep(&mut ranked, &[ItemId(24), ItemId(23)], 10);
        assert_eq!((ranked[0].0.id, ranked[1].0.id), (ItemId(24), ItemId(23)));
    }
}
