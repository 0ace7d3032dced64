//! Absolute relevance of candidates, 0 to 1 and, unlike a search's score, comparable between answers. A logistic regression
//! over three signals, fitted on LoCoMo's conversations 1 to 5 and validated on 6 to 10 (figures: docs/recall.md; reproduce:
//! bench/recalled.py). At 0.3, 3 of 100 unrelated messages bring anything.

use std::collections::HashMap;

use super::candidate::CandidateSignals;
use super::fuse::{CHATTER_WEIGHT, EPISODE_WEIGHT};

/// Coefficients of the cosine, its z-score and the share of words; without embeddings, of the last and the word count.
const BY_MEANING: [f64; 4] = [3.51, 0.92, 4.09, -6.94];
const BY_WORDS: [f64; 3] = [4.95, 0.63, -5.19];
/// Prior of the cosines' distribution for few candidates: weight, mean and deviation.
const USUAL: (f64, f64, f64) = (10.0, 0.368, 0.053);
/// How many of the nearest the z-score is computed over.
const NEAREST: usize = 50;
/// Limit on the words that count: a long message contains many unrelated ones.
const TERMS_MAX: usize = 8;
const WORDS_MAX: i64 = 4;

/// By id.
pub fn of_all(found: &[CandidateSignals], terms: usize) -> HashMap<i64, f64> {
    let mut cosines: Vec<f64> = found.iter().filter_map(cosine).collect();
    cosines.sort_unstable_by(|a, b| b.total_cmp(a));
    cosines.truncate(NEAREST);
    let (mean, deviation) = spread(&cosines);
    let terms = terms.clamp(1, TERMS_MAX) as f64;
    let of = |signals: &CandidateSignals| {
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
        let of_episode = if signals.is_episode { EPISODE_WEIGHT } else { 1.0 };
        relevance * of_episode * if signals.is_chatter { CHATTER_WEIGHT } else { 1.0 }
    };
    found.iter().map(|signals| (signals.id.0, of(signals))).collect()
}

/// Coefficients of the share of words, the highest cosine, and the lead of candidates about the named subject.
const OF_ANSWER: [f64; 4] = [2.88, 4.58, 1.89, -3.54];
/// Below this an answer is probably not in memory. This holds for one in ten answerable questions, one in three that were
/// never answered and two in three about something else (docs/search.md).
pub const CONFIDENCE_MIN: f64 = 0.25;

/// Probability that the answer is among the candidates, 0 to 1. Fitted on LoCoMo's conversations 1 to 5, as turns and as
/// short facts, and validated on 6 to 10. Without embeddings, the highest relevance by words.
pub fn of_answer(found: &[CandidateSignals], terms: usize) -> f64 {
    let Some(nearest) = found.iter().filter_map(cosine).reduce(f64::max) else {
        return of_all(found, terms).into_values().fold(0.0, f64::max);
    };
    let found: Vec<&CandidateSignals> = found.iter().filter(|signals| signals.is_found).collect();
    let joint =
        |signals: &CandidateSignals| 2.0 * cosine(signals).unwrap_or(0.0) + signals.share_of_words;
    let is_named = |signals: &&&CandidateSignals| signals.is_of_subject != Some(false);
    let shares = found.iter().filter(is_named).map(|s| s.share_of_words);
    let least = found.iter().map(|s| joint(s)).fold(f64::INFINITY, f64::min);
    let best = |of_named: bool| {
        let some = found.iter().filter(|s| is_named(s) == of_named);
        some.map(|s| joint(s)).reduce(f64::max).unwrap_or(least)
    };
    let is_anybody_named = found.iter().any(|signals| signals.is_of_subject.is_some());
    let before_others = match is_anybody_named {
        true => best(true) - best(false),
        false => 0.0,
    };
    let [by_share, by_cosine, by_difference, constant] = OF_ANSWER;
    let sum = by_share * shares.fold(0.0, f64::max)
        + by_cosine * nearest
        + by_difference * before_others
        + constant;
    1.0 / (1.0 + (-sum).exp())
}

fn cosine(signals: &CandidateSignals) -> Option<f64> {
    signals.distance.map(|distance| 1.0 - distance)
}

/// Mean and deviation of the cosines combined with the prior.
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

    fn signals(id: i64, cosine: Option<f64>, words: i64) -> CandidateSignals {
        CandidateSignals {
            lexical: words as f64,
            words_matched: words,
            ..CandidateSignals::at(id, cosine.map(|cosine| 1.0 - cosine))
        }
    }

    #[test]
    fn what_is_near_and_shares_words_is_relevant_and_the_nearest_of_far_ones_is_not() {
        let near = [signals(1, Some(0.65), 3), signals(2, Some(0.35), 0), signals(3, Some(0.3), 1)];
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

    #[test]
    fn an_answer_is_sure_where_words_and_meaning_agree_and_it_is_of_whom_is_named() {
        let of = |share: f64, cosine: f64, is_of_subject: Option<bool>| CandidateSignals {
            share_of_words: share,
            is_of_subject,
            ..signals(1, Some(cosine), 1)
        };
        let sure = of_answer(&[of(0.8, 0.6, None), of(0.1, 0.2, None)], 4);
        let unsure = of_answer(&[of(0.1, 0.25, None)], 4);
        assert!(sure > 0.7 && unsure < CONFIDENCE_MIN, "{sure}, {unsure}");
        // The question is about Anna, the best match was said by Ben.
        let of_ben = of_answer(&[of(0.1, 0.3, Some(true)), of(0.7, 0.6, Some(false))], 4);
        assert!(of_ben < CONFIDENCE_MIN, "{of_ben}");
        assert_eq!(of_answer(&[], 4), 0.0);
    }
}
