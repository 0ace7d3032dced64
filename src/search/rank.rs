//! From the database's raw signals to a score. Scores are shares of the best
//! candidate of this one answer; those of two answers are not comparable.

use super::store::Candidate;

/// What each signal counts where both arms found something (Nova §3.2.1, §6.2).
pub const SEMANTIC_WEIGHT: f64 = 0.7;
pub const LEXICAL_WEIGHT: f64 = 0.3;

/// Why a hit stands where it does (`explain: true`). The score is
/// `semantic_weight · semantic_normalised + lexical_weight · lexical_normalised`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Explanation {
    /// Cosine distance, 0 to 2; `None` without a ready vector, or without a query's.
    pub distance: Option<f64>,
    /// `1 / (1 + distance)`; 0 without a distance.
    pub semantic: f64,
    /// The same within this answer: 0 for its weakest candidate, 1 for its strongest.
    pub semantic_normalised: f64,
    /// Σ idf · ts_rank over the words that matched, over log length; unbounded.
    pub lexical: f64,
    /// The same within this answer.
    pub lexical_normalised: f64,
    /// The words that matched, of those asked for.
    pub words_matched: i64,
    /// No word matched; the text was found as a substring.
    pub is_substring: bool,
    /// 0.7; 1 where the words found nothing; 0 where the vector did not.
    pub semantic_weight: f64,
    /// 0.3; 0 and 1 likewise.
    pub lexical_weight: f64,
}

impl Explanation {
    pub fn score(&self) -> f64 {
        self.semantic_weight * self.semantic_normalised
            + self.lexical_weight * self.lexical_normalised
    }

    /// Cosine similarity; 0 for an item without a ready vector.
    pub fn similarity(&self) -> f64 {
        self.distance.map_or(0.0, |distance| 1.0 - distance)
    }
}

/// Both signals of every candidate brought to one scale and weighed, best first;
/// ties by newer, then by the later id (DESIGN §4).
pub fn fuse(candidates: Vec<Candidate>) -> Vec<(Candidate, Explanation)> {
    let semantic: Vec<f64> = candidates.iter().map(|c| closeness(c.distance)).collect();
    let lexical: Vec<f64> = candidates.iter().map(|c| c.lexical).collect();
    let has_near = candidates.iter().any(|c| c.is_near);
    let has_words = lexical.iter().any(|s| *s > 0.0);
    let (semantic_weight, lexical_weight) = weights(has_near, has_words);
    let scaled = normalise(&semantic).into_iter().zip(normalise(&lexical));
    let mut ranked: Vec<(Candidate, Explanation)> = candidates
        .into_iter()
        .zip(semantic)
        .zip(scaled)
        .map(|((candidate, semantic), scaled)| {
            let why = Explanation {
                distance: candidate.distance,
                semantic,
                semantic_normalised: if has_near { scaled.0 } else { 0.0 },
                lexical: candidate.lexical,
                lexical_normalised: if has_words { scaled.1 } else { 0.0 },
                words_matched: candidate.words_matched,
                is_substring: candidate.is_substring,
                semantic_weight,
                lexical_weight,
            };
            (candidate, why)
        })
        .collect();
    ranked.sort_by(|(a, why_a), (b, why_b)| {
        why_b
            .score()
            .total_cmp(&why_a.score())
            .then(b.created_at.cmp(&a.created_at))
            .then(b.id.0.cmp(&a.id.0))
    });
    ranked
}

fn closeness(distance: Option<f64>) -> f64 {
    distance.map_or(0.0, |distance| 1.0 / (1.0 + distance))
}

/// When one arm is silent the other counts alone.
fn weights(has_near: bool, has_words: bool) -> (f64, f64) {
    match (has_near, has_words) {
        (true, true) => (SEMANTIC_WEIGHT, LEXICAL_WEIGHT),
        (true, false) => (1.0, 0.0),
        (false, _) => (0.0, 1.0),
    }
}

/// Min-max within the candidates; a lone or equal signal counts 1.
fn normalise(signals: &[f64]) -> Vec<f64> {
    let lowest = signals.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = signals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let spread = highest - lowest;
    signals
        .iter()
        .map(|s| {
            if spread > 0.0 {
                (s - lowest) / spread
            } else {
                1.0
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::{ItemId, ItemType, Status};
    use time::{Duration, OffsetDateTime};

    fn candidate(id: i64, distance: Option<f64>, lexical: f64) -> Candidate {
        Candidate {
            id: ItemId(id),
            theme: "general".to_owned(),
            item_type: ItemType::Fact,
            content: String::new(),
            tags: Vec::new(),
            status: Status::Active,
            key: None,
            expires_at: None,
            is_superseded: false,
            source: "agent".to_owned(),
            created_at: OffsetDateTime::UNIX_EPOCH,
            lexical,
            words_matched: i64::from(lexical > 0.0),
            is_substring: false,
            distance,
            is_of_serving: false,
            is_near: distance.is_some(),
        }
    }

    fn scores(candidates: Vec<Candidate>) -> Vec<(i64, f64)> {
        let round = |score: f64| (score * 1e6).round() / 1e6;
        let ranked = fuse(candidates).into_iter();
        ranked
            .map(|(c, why)| (c.id.0, round(why.score())))
            .collect()
    }

    #[test]
    fn both_signals_are_scaled_within_the_union_and_weighed_seven_to_three() {
        // 1 / (1 + distance): 1.0, 0.8 and 0.5; scaled 1, 0.6 and 0.
        let union = vec![
            candidate(1, Some(0.0), 0.0),
            candidate(2, Some(0.25), 4.0),
            candidate(3, Some(1.0), 2.0),
        ];
        assert_eq!(scores(union), [(2, 0.72), (1, 0.7), (3, 0.15)]);
    }

    #[test]
    fn an_item_without_a_ready_vector_is_the_farthest() {
        let union = vec![
            candidate(1, None, 3.0),
            candidate(2, Some(1.0), 1.0),
            candidate(3, Some(0.5), 0.0),
        ];
        let ranked = fuse(union);
        let first = ranked.iter().find(|(c, _)| c.id.0 == 1).expect("there").1;
        assert_eq!((first.semantic, first.semantic_normalised), (0.0, 0.0));
        assert_eq!((first.similarity(), first.score()), (0.0, 0.3));
    }

    #[test]
    fn a_silent_arm_leaves_the_score_to_the_other() {
        let far_and_near = vec![candidate(1, Some(1.0), 0.0), candidate(2, Some(0.5), 0.0)];
        assert_eq!(scores(far_and_near), [(2, 1.0), (1, 0.0)]);
        let words_alone = vec![candidate(1, None, 5.0), candidate(2, None, 1.0)];
        assert_eq!(scores(words_alone), [(1, 1.0), (2, 0.0)]);
        assert_eq!(scores(vec![]), []);
    }

    #[test]
    fn a_lone_or_equal_signal_counts_one() {
        assert_eq!(scores(vec![candidate(1, Some(1.9), 0.1)]), [(1, 1.0)]);
        let same_words = vec![candidate(1, Some(0.5), 2.0), candidate(2, Some(1.0), 2.0)];
        assert_eq!(scores(same_words), [(1, 1.0), (2, 0.3)]);
    }

    #[test]
    fn ties_go_to_the_newer_then_to_the_later_id() {
        let mut newer = candidate(1, Some(0.5), 0.0);
        newer.created_at += Duration::seconds(1);
        let equal = vec![
            candidate(3, Some(0.5), 0.0),
            newer,
            candidate(2, Some(0.5), 0.0),
        ];
        assert_eq!(scores(equal), [(1, 1.0), (3, 1.0), (2, 1.0)]);
    }

    #[test]
    fn no_score_leaves_zero_to_one() {
        for distance in [0.0, 1e-12, 2.0] {
            for lexical in [0.0, 1e-300, 1e300] {
                let union = vec![
                    candidate(1, Some(distance), lexical),
                    candidate(2, None, 1.0),
                ];
                assert!(scores(union).iter().all(|(_, s)| (0.0..=1.0).contains(s)));
            }
        }
    }
}
