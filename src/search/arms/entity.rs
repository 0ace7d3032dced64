//! By what the query names: sources that mention its entities, weighted by how rare these are, and, for half, those that
//! mention what the entities are connected to now. Which these are is read from the database when a query names something;
//! the rest is arithmetic.

use std::collections::HashMap;

/// An entity of the query, or one step from one.
#[derive(Clone, Debug, PartialEq)]
pub struct Meant {
    pub entity: i64,
    /// Sources that mention it.
    pub mentions: i64,
    /// The query names it; otherwise what it names is connected to it.
    pub is_named: bool,
}

/// What one step counts of what is named itself.
const HOP: f64 = 0.5;

/// Of each source how much of what is meant it mentions, 0 to 1, the best first; `sources` is how many there are.
pub fn weigh(meant: &[Meant], mentions: &[(i64, i64)], sources: usize) -> Vec<(i64, f64)> {
    let weights: HashMap<i64, f64> = meant
        .iter()
        .map(|one| {
            let rarity = ((sources as f64 + 1.0) / (one.mentions as f64 + 1.0))
                .max(1.0)
                .ln();
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
        let meant = |entity, mentions, is_named| Meant {
            entity,
            mentions,
            is_named,
        };
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
