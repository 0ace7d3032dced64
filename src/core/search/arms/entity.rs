//! The entity arm: sources that mention the query's entities, weighted by rarity, and at half weight those that mention
//! related entities. The entities are read from the database; the rest is arithmetic.

use std::collections::HashMap;

use crate::search::reader::index::Index;
use crate::search::reader::seen::SeenSources;

/// An entity of the query, or one related to it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryEntity {
    pub entity: i64,
    /// Number of mentions.
    pub mentions: i64,
    /// Named in the query; otherwise related to one that is.
    pub is_named: bool,
}

/// Weight of a related entity.
const HOP: f64 = 0.5;

/// Leaves of the mentions those that are seen, and counts them: the numbers from the database are of all sources.
pub fn keep_seen(
    index: &Index,
    seen: &SeenSources,
    meant: &mut [QueryEntity],
    mentions: &mut Vec<(i64, i64)>,
) {
    let is_seen = |id: i64| {
        let number = index.find(id);
        number.is_some_and(|number| seen.has(index.source(number)))
    };
    mentions.retain(|(source, _)| is_seen(*source));
    let mut counts: HashMap<i64, i64> = HashMap::new();
    for (_, entity) in mentions.iter() {
        *counts.entry(*entity).or_default() += 1;
    }
    for one in meant {
        one.mentions = counts.get(&one.entity).copied().unwrap_or_default();
    }
}

/// Weight of each source by the entities it mentions, 0 to 1, best first. `sources` is the total number of sources.
pub fn weigh(meant: &[QueryEntity], mentions: &[(i64, i64)], sources: usize) -> Vec<(i64, f64)> {
    let weights: HashMap<i64, f64> = meant
        .iter()
        .map(|one| {
            let rarity = ((sources as f64 + 1.0) / (one.mentions as f64 + 1.0)).max(1.0).ln();
            (one.entity, rarity * if one.is_named { 1.0 } else { HOP })
        })
        .collect();
    let mut sums: HashMap<i64, f64> = HashMap::new();
    for (source, entity) in mentions {
        *sums.entry(*source).or_default() += weights.get(entity).copied().unwrap_or_default();
    }
    let most = sums.values().copied().fold(0.0, f64::max);
    let mut weighed: Vec<(i64, f64)> = sums
        .into_iter()
        .filter(|(_, sum)| *sum > 0.0)
        .map(|(source, sum)| (source, sum / most))
        .collect();
    weighed.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    weighed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_entities_count_more_and_one_step_counts_half() {
        let meant = |entity, mentions, is_named| QueryEntity { entity, mentions, is_named };
        let all = [meant(1, 9, true), meant(2, 99, true), meant(3, 9, false)];
        let mentions = [(10, 1), (11, 2), (12, 3), (13, 1), (13, 2), (14, 9)];
        let found = weigh(&all, &mentions, 999);
        let ids: Vec<i64> = found.iter().map(|(source, _)| *source).collect();
        assert_eq!(ids, [13, 10, 12, 11]);
        assert_eq!(found[0].1, 1.0);
        assert!((found[2].1 / found[1].1 - HOP).abs() < 1e-9);
        assert_eq!(weigh(&[], &mentions, 999), []);
    }
}
