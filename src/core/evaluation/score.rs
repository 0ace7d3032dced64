//! Scores of rankings whose right answers are known. Relevance is binary; each question counts once, however
//! many items answer it.

use std::collections::HashSet;

/// Sums over questions; divided by [`Self::questions`] when read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    pub questions: u32,
    /// Questions with any evidence first, among the first 5, and among the first 10.
    pub any: [u32; CUTOFFS.len()],
    /// Questions with all evidence among the first 10.
    pub all_at_10: u32,
    share_at_5: f64,
    share_at_10: f64,
    ndcg_at_10: f64,
    reciprocal_rank: f64,
}

pub const CUTOFFS: [usize; 3] = [1, 5, 10];

impl Scores {
    /// `ranked`: ids, best first. `evidence`: the ids that answer the question, at least one.
    pub fn note(&mut self, ranked: &[i64], evidence: &[i64]) {
        let wanted: HashSet<i64> = evidence.iter().copied().collect();
        let places: Vec<usize> = ranked
            .iter()
            .enumerate()
            .filter(|(_, id)| wanted.contains(id))
            .map(|(place, _)| place)
            .collect();
        let within = |most: usize| places.iter().filter(|place| **place < most).count();
        self.questions += 1;
        for (any, most) in self.any.iter_mut().zip(CUTOFFS) {
            *any += u32::from(within(most) > 0);
        }
        self.all_at_10 += u32::from(within(10) == wanted.len());
        self.share_at_5 += within(5) as f64 / wanted.len() as f64;
        self.share_at_10 += within(10) as f64 / wanted.len() as f64;
        let gains = |places: &mut dyn Iterator<Item = usize>| -> f64 {
            places.map(|place| 1.0 / (place as f64 + 2.0).log2()).sum()
        };
        let best = gains(&mut (0..wanted.len().min(10)));
        self.ndcg_at_10 += gains(&mut places.iter().copied().filter(|place| *place < 10)) / best;
        self.reciprocal_rank += places.first().map_or(0.0, |place| 1.0 / (*place + 1) as f64);
    }

    fn mean(&self, sum: f64) -> f64 {
        sum / f64::from(self.questions.max(1))
    }

    /// The scores by name, each 0 to 1.
    pub fn shares(&self) -> [(&'static str, f64); 8] {
        let [first, five, ten] = self.any.map(|n| self.mean(f64::from(n)));
        [
            ("any@1", first),
            ("any@5", five),
            ("any@10", ten),
            ("rec@5", self.mean(self.share_at_5)),
            ("rec@10", self.mean(self.share_at_10)),
            ("all@10", self.mean(f64::from(self.all_at_10))),
            ("nDCG@10", self.mean(self.ndcg_at_10)),
            ("MRR", self.mean(self.reciprocal_rank)),
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shares(answers: &[(&[i64], &[i64])]) -> Vec<(&'static str, f64)> {
        let mut scores = Scores::default();
        for (ranked, evidence) in answers {
            scores.note(ranked, evidence);
        }
        let rounded = |(name, share): (_, f64)| (name, (share * 1_000.0).round() / 1_000.0);
        scores.shares().map(rounded).to_vec()
    }

    #[test]
    fn evidence_in_second_and_seventh_place_of_three() {
        // DCG 1/log2(3) + 1/log2(8) = 0.631 + 0.333; ideal 1 + 0.631 + 0.5.
        let ranked = [10, 1, 11, 12, 13, 14, 2, 15];
        assert_eq!(
            shares(&[(&ranked, &[1, 2, 3])]),
            [
                ("any@1", 0.0),
                ("any@5", 1.0),
                ("any@10", 1.0),
                ("rec@5", 0.333),
                ("rec@10", 0.667),
                ("all@10", 0.0),
                ("nDCG@10", 0.453),
                ("MRR", 0.5),
            ]
        );
    }

    #[test]
    fn questions_count_alike_whatever_their_evidence() {
        let shares = shares(&[(&[1], &[1]), (&[9, 8], &[1, 2]), (&[], &[3]), (&[2, 1], &[1, 2])]);
        let of = |name| shares.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!((of("any@1"), of("rec@10"), of("all@10")), (0.5, 0.5, 0.5));
        assert_eq!((of("nDCG@10"), of("MRR")), (0.5, 0.5));
    }

    #[test]
    fn what_stands_past_the_tenth_place_is_not_found_and_has_a_rank() {
        let ranked: Vec<i64> = (1..=20).collect();
        let shares = shares(&[(&ranked, &[20])]);
        assert_eq!(shares[2], ("any@10", 0.0));
        assert_eq!(shares[6], ("nDCG@10", 0.0));
        assert_eq!(shares[7], ("MRR", 0.05));
    }
}
