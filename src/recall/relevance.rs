//! How relevant each candidate is, 0 to 1 and comparable between answers, which a search's score is not. A logistic
//! regression over three signals, fitted on LoCoMo's conversations 1 to 5 and held on 6 to 10 (docs/recall.md has the
//! figures; bench/recalled.py makes them anew): 0.3 is where 3 of 100 messages about something else bring anything.

use std::collections::HashMap;

use crate::search::Signals;
use crate::search::fuse::EPISODE_WEIGHT;

/// Of the cosine, of how far it stands out, and of the share of the words; without a vector of the two others.
const BY_MEANING: [f64; 4] = [3.51, 0.92, 4.09, -6.94];
const BY_WORDS: [f64; 3] = [4.95, 0.63, -5.19];
/// What cosines stand out from, as far as there are few: as many as ten of this mean and deviation.
const USUAL: (f64, f64, f64) = (10.0, 0.368, 0.053);
/// The nearest, from which one stands out.
const NEAREST: usize = 50;
/// Of a longer message not every word is one of what it is about.
const TERMS_MAX: usize = 8;
const WORDS_MAX: i64 = 4;

/// Of each by its id.
pub fn of_all(found: &[Signals], terms: usize) -> HashMap<i64, f64> {
    let mut cosines: Vec<f64> = found.iter().filter_map(cosine).collect();
    cosines.sort_unstable_by(|a, b| b.total_cmp(a));
    cosines.truncate(NEAREST);
    let (mean, deviation) = spread(&cosines);
    let terms = terms.clamp(1, TERMS_MAX) as f64;
    let of = |signals: &Signals| {
        let share = (signals.words_matched as f64 / terms).min(1.0);
        let sum = match cosine(signals) {
            Some(cosine) => {
                let [by_cosine, by_standing_out, by_share, constant] = BY_MEANING;
                let out = (cosine - mean) / deviation;
                by_cosine * cosine + by_standing_out * out + by_share * share + constant
            }
            None => {
                let [by_share, by_words, constant] = BY_WORDS;
                let words = signals.words_matched.min(WORDS_MAX) as f64;
                by_share * share + by_words * words + constant
            }
        };
        let relevance = 1.0 / (1.0 + (-sum).exp());
        match signals.is_episode {
            true => relevance * EPISODE_WEIGHT,
            false => relevance,
        }
    };
    found
        .iter()
        .map(|signals| (signals.id.0, of(signals)))
        .collect()
}

fn cosine(signals: &Signals) -> Option<f64> {
    signals.distance.map(|distance| 1.0 - distance)
}

/// Mean and deviation of these and of what is usual.
fn spread(cosines: &[f64]) -> (f64, f64) {
    let (as_many, mean, deviation) = USUAL;
    let n = cosines.len() as f64 + as_many;
    let sum: f64 = cosines.iter().sum();
    let squares: f64 = cosines.iter().map(|cosine| cosine * cosine).sum();
    let of_all = (sum + as_many * mean) / n;
    let of_squares = (squares + as_many * (deviation * deviation + mean * mean)) / n;
    (of_all, (of_squares - of_all * of_all).max(1e-6).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::ItemId;
    use time::OffsetDateTime;

    fn signals(id: i64, cosine: Option<f64>, words: i64) -> Signals {
        Signals {
            id: ItemId(id),
            created_at: OffsetDateTime::UNIX_EPOCH,
            is_turn: false,
            is_episode: false,
            comes_first: false,
            is_lent: false,
            lexical: words as f64,
            words_matched: words,
            is_substring: false,
            distance: cosine.map(|cosine| 1.0 - cosine),
            is_near: cosine.is_some(),
            is_found: true,
            is_of_named: false,
            entities: 0.0,
            neighbours: Vec::new(),
        }
    }

    #[test]
    fn what_is_near_and_shares_words_is_relevant_and_the_nearest_of_far_ones_is_not() {
        let near = [
            signals(1, Some(0.65), 3),
            signals(2, Some(0.35), 0),
            signals(3, Some(0.3), 1),
        ];
        let of = of_all(&near, 4);
        assert!(of[&1] > 0.6 && of[&2] < 0.1 && of[&3] < 0.2, "{of:?}");
        let far = [signals(1, Some(0.25), 0), signals(2, Some(0.1), 0)];
        assert!(of_all(&far, 4).values().all(|relevance| *relevance < 0.05));
    }

    #[test]
    fn without_vectors_words_decide() {
        let found = [signals(1, None, 3), signals(2, None, 1)];
        let of = of_all(&found, 4);
        assert!(of[&1] > 0.5 && of[&2] < 0.1, "{of:?}");
        assert!(of_all(&[], 0).is_empty());
    }
}
