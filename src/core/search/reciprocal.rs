//! Reciprocal rank fusion, for lists without scores in common.

use std::collections::HashMap;

/// Added to each rank (the Assistant's value).
const RRF_K: f64 = 60.0;

/// Reciprocal rank fusion of ranked lists: the sums of 1 / (60 + rank), highest first; ties by lower id.
pub fn reciprocal(lists: &[Vec<i64>]) -> Vec<(i64, f64)> {
    let mut sums: HashMap<i64, f64> = HashMap::new();
    for list in lists {
        for (rank, id) in (1..).zip(list) {
            *sums.entry(*id).or_default() += 1.0 / (RRF_K + f64::from(rank));
        }
    }
    let mut fused: Vec<(i64, f64)> = sums.into_iter().collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_fused_by_their_reciprocals() {
        let fused = reciprocal(&[vec![1, 2, 3], vec![3, 1], vec![9]]);
        let ids: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 3, 9, 2]);
        assert!((fused[0].1 - (1.0 / 61.0 + 1.0 / 62.0)).abs() < 1e-12);
    }
}
