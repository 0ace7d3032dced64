//! Absolute relevance of candidates, 0 to 1 and, unlike a search's score, comparable between answers; and how sure an answer
//! is. Both are logistic regressions. They were fitted for the builtin model on LoCoMo's conversations 1 to 5, on events of
//! people's lives in English and Chinese, and on notes asked for in both languages, each with the same weight, and hold on
//! what they have not seen (docs/recall.md, docs/search.md; bench/README.md, "How sure").

use std::collections::HashMap;

use super::candidate::CandidateSignals;
use super::fuse::{CHATTER_WEIGHT, EPISODE_WEIGHT};
use super::reader::vectors::UNRELATED;

/// Coefficients of the cosine, of how far it is ahead ([`NearestCosines::ahead`]) and of the share of words; without
/// embeddings, of the last and the word count.
const BY_MEANING: [f64; 4] = [2.67, 11.68, 1.11, -7.15];
const BY_WORDS: [f64; 3] = [4.95, 0.63, -5.19];
/// Beside a candidate itself.
const NEAREST: usize = 50;
/// Limit on the words that count: a long message contains many unrelated ones.
const TERMS_MAX: usize = 8;
const WORDS_MAX: i64 = 4;

/// By id.
pub fn of_all(found: &[CandidateSignals], terms: usize) -> HashMap<i64, f64> {
    let nearest = NearestCosines::of(found);
    let terms = terms.clamp(1, TERMS_MAX) as f64;
    let of = |signals: &CandidateSignals| {
        let share = (signals.words_matched as f64 / terms).min(1.0);
        let sum = match signals.cosine {
            Some(cosine) => {
                let [by_cosine, by_lead, by_share, constant] = BY_MEANING;
                by_cosine * cosine + by_lead * nearest.ahead(cosine) + by_share * share + constant
            }
            None => {
                let [by_share, by_words, constant] = BY_WORDS;
                let words = signals.words_matched.min(WORDS_MAX) as f64;
                by_share * share + by_words * words + constant
            }
        };
        let of_episode = if signals.is_episode { EPISODE_WEIGHT } else { 1.0 };
        logistic(sum) * of_episode * if signals.is_chatter { CHATTER_WEIGHT } else { 1.0 }
    };
    found.iter().map(|signals| (signals.id.0, of(signals))).collect()
}

/// Coefficients of the share of words, the highest cosine, the lead of candidates about the named subject, and of how far the
/// nearest is ahead.
const OF_ANSWER: [f64; 5] = [0.93, 3.06, 7.23, 15.21, -7.24];
/// Limit on the lead of candidates about the named subject.
const LEAD_MAX: f64 = 0.5;
/// Below this an answer is probably not in memory. Where no word of the question occurs, it may be in a language that the
/// memory is not in, and half of that is enough.
const CONFIDENCE_MIN: f64 = 0.25;
const CONFIDENCE_MIN_BY_MEANING: f64 = 0.125;

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// Probability that the answer is among the candidates, 0 to 1.
    pub value: f64,
    pub is_probably_absent: bool,
}

/// Without embeddings, the highest relevance by words; then an answer is absent only if there is none.
pub fn of_answer(found: &[CandidateSignals], terms: usize) -> Confidence {
    let nearest = NearestCosines::of(found);
    let Some(highest) = nearest.cosines.first().copied() else {
        let value = of_all(found, terms).into_values().fold(0.0, f64::max);
        return Confidence { value, is_probably_absent: found.is_empty() };
    };
    let found: Vec<&CandidateSignals> = found.iter().filter(|signals| signals.is_found).collect();
    let is_named = |signals: &&&CandidateSignals| signals.is_of_subject != Some(false);
    let shares = found.iter().filter(is_named).map(|signals| signals.share_of_words);
    let [by_share, by_cosine, by_subject, by_lead, constant] = OF_ANSWER;
    let sum = by_share * shares.fold(0.0, f64::max)
        + by_cosine * highest
        + by_subject * lead_of_subject(&found).clamp(-LEAD_MAX, LEAD_MAX)
        + by_lead * nearest.ahead(highest)
        + constant;
    // What was asked for by name is there.
    let is_exact = |signals: &&&CandidateSignals| {
        signals.identifiers > 0 || (signals.asks_rare && signals.has_rare)
    };
    let exact = found.iter().filter(is_exact).map(|signals| signals.lexical);
    let value = exact.fold(logistic(sum), f64::max);
    let min = match found.iter().any(|signals| signals.words_matched > 0) {
        true => CONFIDENCE_MIN,
        false => CONFIDENCE_MIN_BY_MEANING,
    };
    Confidence { value, is_probably_absent: value < min }
}

/// How far what is about the subject that the query names stands before all else; 0 if it names none.
fn lead_of_subject(found: &[&CandidateSignals]) -> f64 {
    if found.iter().all(|signals| signals.is_of_subject.is_none()) {
        return 0.0;
    }
    let joint =
        |signals: &CandidateSignals| 2.0 * signals.cosine.unwrap_or(0.0) + signals.share_of_words;
    let least = found.iter().map(|signals| joint(signals)).fold(f64::INFINITY, f64::min);
    let best = |of_subject: bool| {
        let is_asked = |s: &&&CandidateSignals| (s.is_of_subject != Some(false)) == of_subject;
        found.iter().filter(is_asked).map(|s| joint(s)).reduce(f64::max).unwrap_or(least)
    };
    best(true) - best(false)
}

/// The highest cosines among candidates, descending.
struct NearestCosines {
    cosines: Vec<f64>,
}

impl NearestCosines {
    fn of(found: &[CandidateSignals]) -> Self {
        let mut cosines: Vec<f64> = found.iter().filter_map(|signals| signals.cosine).collect();
        cosines.sort_unstable_by(|a, b| b.total_cmp(a));
        cosines.truncate(NEAREST + 1);
        Self { cosines }
    }

    /// The root of how far one of them is above the mean of the others and of an unrelated text; 0 if it is below.
    fn ahead(&self, cosine: f64) -> f64 {
        let others = self.cosines.iter().sum::<f64>() - cosine + UNRELATED.mean;
        (cosine - others / self.cosines.len() as f64).max(0.0).sqrt()
    }
}

fn logistic(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
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
        let near = [signals(1, Some(0.6), 3), signals(2, Some(0.25), 0), signals(3, Some(0.2), 1)];
        let of = of_all(&near, 4);
        assert!(of[&1] > 0.7 && of[&2] < 0.1 && of[&3] < 0.1, "{of:?}");
        let far = [signals(1, Some(0.2), 0), signals(2, Some(0.1), 0)];
        assert!(of_all(&far, 4).values().all(|relevance| *relevance < 0.1));
        // One memory alone is compared with an unrelated text.
        let alone = |cosine: f64| of_all(&[signals(1, Some(cosine), 0)], 4)[&1];
        assert!(alone(0.5) > 0.5 && alone(0.2) < 0.1, "{} {}", alone(0.5), alone(0.2));
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
        let unsure = of_answer(&[of(0.1, 0.2, None), of(0.0, 0.18, None)], 4);
        assert!(sure.value > 0.7 && unsure.is_probably_absent, "{sure:?}, {unsure:?}");
        // The question is about Anna, the best match was said by Ben.
        let of_ben = of_answer(&[of(0.1, 0.3, Some(true)), of(0.7, 0.45, Some(false))], 4);
        assert!(of_ben.is_probably_absent, "{of_ben:?}");
        let nothing = Confidence { value: 0.0, is_probably_absent: true };
        assert_eq!(of_answer(&[], 4), nothing);
    }

    #[test]
    fn a_number_that_is_there_is_there_and_another_language_needs_more_to_be_absent() {
        let mut ticket = signals(1, Some(0.2), 2);
        (ticket.identifiers, ticket.lexical) = (1, 0.9);
        assert_eq!(of_answer(&[ticket, signals(2, Some(0.2), 0)], 2).value, 0.9);
        let some =
            |words: i64| of_answer(&[signals(1, Some(0.24), words), signals(2, Some(0.1), 0)], 4);
        let [by_words, by_meaning] = [some(1), some(0)];
        assert_eq!(by_words.value, by_meaning.value);
        assert!(by_words.is_probably_absent && !by_meaning.is_probably_absent, "{by_words:?}");
    }
}
