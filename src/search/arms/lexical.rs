//! The lexical arm: any word of the query, weighted by rarity in the user's own texts, over the logarithm of the text's
//! length. Scores every text with one of the words; no sampling.

use std::collections::HashSet;

use super::CANDIDATES_MAX;
use crate::memories::passages::terms;
use crate::memories::words::Term;
use crate::search::reader::index::Index;
use crate::search::reader::seen::SeenSources;

/// Minimum number of sources for rarity; if there are fewer memories, turns fill up.
const TELLING_SOURCES_MIN: usize = 1_000;
/// A shorter text counts as this long.
const LENGTH_MIN: u16 = 20;
/// Weight of a word that occurs once; more occurrences follow PostgreSQL's `ts_rank`, for whose scores the thresholds were
/// chosen.
const ONCE: f64 = 0.1 / 1.644_934_066_85;

/// Scores of all passages for one query.
pub struct Scored {
    /// Per passage; 0 if no word matches.
    scores: Vec<f32>,
    words: Vec<u8>,
    /// Per passage, the summed weight of its words, without names and time words …
    rarities: Vec<f32>,
    /// … and the same for all words of the query.
    rarity: f64,
}

/// Weight of a word by its number of occurrences.
fn frequency(count: u8) -> f64 {
    let squares = (1..=u32::from(count)).map(|n| 1.0 / f64::from(n * n));
    ONCE * squares.sum::<f64>()
}

/// A word of the query with the term numbers of its alternatives.
struct QueryWord {
    alternatives: Vec<u32>,
    weight: f64,
    /// A name or time word, which does not say what is asked.
    is_left_out: bool,
}

/// Inverse frequency of a word among the memories, and among the turns that fill up if there are few.
fn weight(sources: [usize; 2], tiers: [bool; 2], found: [usize; 2]) -> f64 {
    let items = sources[0];
    let fillers = TELLING_SOURCES_MIN.saturating_sub(if tiers[0] { items } else { 0 });
    let sizes = [
        if tiers[0] && items > 0 { items as f64 + 1.0 } else { 0.0 },
        if tiers[1] { sources[1].min(fillers) as f64 } else { 0.0 },
    ];
    let share = |tier: usize| (found[tier] as f64 + 0.5) / (sources[tier] as f64 + 1.0);
    let all: f64 = sizes.iter().sum();
    let of_word: f64 = sizes.iter().enumerate().map(|(tier, size)| size * share(tier)).sum();
    if of_word > 0.0 { (all / of_word).ln() } else { 0.0 }
}

/// Scores every passage with one of these words, by their rarity in what is seen. `left_out` are the terms of names and time
/// words.
pub fn score(
    index: &Index,
    seen: &SeenSources,
    asked: &[Term],
    left_out: &HashSet<u32>,
    tiers: [bool; 2],
) -> Scored {
    let sources = seen.counts();
    let words = asked.iter().map(|term| {
        let alternatives: Vec<u32> = term.alternatives.iter().map(|a| terms::number(a)).collect();
        // The last alternative is the stem, which every text with the word has too.
        let mut found = [0; 2];
        for source in seen.with(index, alternatives.last().copied().unwrap_or_default()) {
            found[usize::from(index.source(source).is_turn())] += 1;
        }
        let weight = weight(sources, tiers, found);
        let is_left_out = alternatives.iter().any(|term| left_out.contains(term));
        QueryWord { alternatives, weight, is_left_out }
    });
    let mut words: Vec<QueryWord> = words.collect();
    // A query of names and time words only asks for just these.
    if words.iter().all(|word| word.is_left_out) {
        words.iter_mut().for_each(|word| word.is_left_out = false);
    }
    let mut scored = Scored {
        scores: vec![0.0; index.passages_len()],
        words: vec![0; index.passages_len()],
        rarities: vec![0.0; index.passages_len()],
        rarity: words.iter().filter(|word| !word.is_left_out).map(|word| word.weight).sum(),
    };
    for word in &words {
        let share = word.weight / word.alternatives.len() as f64;
        for alternative in &word.alternatives {
            for (passage, count) in index.postings(*alternative) {
                scored.scores[passage] += (share * frequency(count)) as f32;
            }
        }
        for (passage, _) in word.alternatives.last().into_iter().flat_map(|t| index.postings(*t)) {
            scored.words[passage] += 1;
            if !word.is_left_out {
                scored.rarities[passage] += word.weight as f32;
            }
        }
    }
    scored
}

/// Ids of the sources with all of these words, newest first, at most `limit`.
pub fn with_all(index: &Index, asked: &[Term], limit: usize) -> Vec<i64> {
    let mut all: Vec<(i64, i64)> = numbers_with_all(index, asked)
        .into_iter()
        .map(|number| (index.source(number).created_at, index.source(number).id))
        .collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.truncate(limit);
    all.into_iter().map(|(_, id)| id).collect()
}

/// Index numbers of all sources with all of these words, unordered.
pub fn numbers_with_all(index: &Index, asked: &[Term]) -> HashSet<u32> {
    let of_term = |term: &Term| -> HashSet<u32> {
        let alternatives = term.alternatives.iter().map(|a| terms::number(a));
        alternatives.flat_map(|number| index.sources_with(number)).collect()
    };
    let mut sets = asked.iter().map(of_term);
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |all, some| all.intersection(&some).copied().collect())
}

impl Scored {
    /// The score of a source's best passage, and how many words of the query match in it.
    pub fn of(&self, index: &Index, source: u32) -> (f64, u8) {
        let mut best = (0.0, 0);
        for passage in index.passages_of(source).filter(|p| self.words[*p] > 0) {
            let length = index.passage(passage).map_or(0, |(_, terms)| terms).max(LENGTH_MIN);
            let score = f64::from(self.scores[passage]) / f64::from(2 + length).ln();
            if score > best.0 {
                best = (score, self.words[passage]);
            }
        }
        best
    }

    /// The best passage's share of the query's words, weighted by rarity, 0 to 1.
    pub fn share(&self, index: &Index, source: u32) -> f64 {
        let passages = index.passages_of(source);
        let most = passages.map(|p| self.rarities[p]).fold(0.0, f32::max);
        match self.rarity > 0.0 {
            true => (f64::from(most) / self.rarity).min(1.0),
            false => 0.0,
        }
    }

    /// The best sources per tier with their scores.
    pub fn best(&self, index: &Index, mask: &[bool]) -> Vec<(u32, f64)> {
        let mut tiers: [Vec<(u32, f64)>; 2] = Default::default();
        let mut last = None;
        for passage in (0..self.words.len()).filter(|p| self.words[*p] > 0) {
            let Some((source, _)) = index.passage(passage) else {
                continue;
            };
            if !mask[source as usize] || last.replace(source) == Some(source) {
                continue;
            }
            let tier = usize::from(index.source(source).is_turn());
            tiers[tier].push((source, self.of(index, source).0));
        }
        let key = |n: u32| (index.source(n).created_at, index.source(n).id);
        let order = |a: &(u32, f64), b: &(u32, f64)| {
            b.1.total_cmp(&a.1).then_with(|| key(b.0).cmp(&key(a.0)))
        };
        for tier in &mut tiers {
            if tier.len() > CANDIDATES_MAX {
                tier.select_nth_unstable_by(CANDIDATES_MAX, order);
                tier.truncate(CANDIDATES_MAX);
            }
            tier.sort_unstable_by(order);
        }
        tiers.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::words::query_terms;
    use crate::search::arms::tests::{ALL, index_of, row, turn};
    use crate::search::reader::index::SourceRow;
    use crate::search::reader::seen::ViewerScope;

    fn score_of(index: &Index, query: &str) -> Scored {
        let seen = SeenSources::of(index, ALL);
        score(index, &seen, &query_terms(query), &HashSet::new(), [true; 2])
    }

    fn best(index: &Index, query: &str) -> Vec<i64> {
        let scored = score_of(index, query);
        let best = scored.best(index, &vec![true; index.sources().len()]);
        best.into_iter().map(|(n, _)| index.source(n).id).collect()
    }

    #[test]
    fn a_rare_word_counts_more_than_a_common_one() {
        let index = index_of(&["tea at noon", "tea in town", "tea and bees", "cake"]);
        assert_eq!(best(&index, "tea bees"), [3, 2, 1]);
        assert_eq!(best(&index, "cake tea")[0], 4);
        assert_eq!(best(&index, "coffee"), [0_i64; 0]);
    }

    #[test]
    fn the_word_itself_counts_more_than_its_stem_alone() {
        let index = index_of(&["she deploys it", "the deployment of it", "nothing"]);
        assert_eq!(best(&index, "deploys"), [1, 2]);
    }

    #[test]
    fn a_long_text_counts_for_less_than_a_short_one_and_ties_go_to_the_newer() {
        let long = format!("bees {}", (0..200).map(|n| format!("w{n}x ")).collect::<String>());
        let index = index_of(&[&long, "bees", "bees"]);
        assert_eq!(best(&index, "bees"), [3, 2, 1]);
    }

    #[test]
    fn words_are_as_rare_as_they_are_in_all_texts_and_tiers_stand_apart() {
        let mut index = index_of(&["tea", "tea", "bees"]);
        for id in 10..80 {
            index.put(turn(id, "bees"));
        }
        // Turns fill up if there are few memories: "bees" is the common word.
        let weights = |tiers| {
            let found = |word: &str| {
                let mut found = [0, 0];
                for n in index.sources_with(terms::number(word)) {
                    found[usize::from(index.source(n).is_turn())] += 1;
                }
                weight([3, 70], tiers, found)
            };
            (found("tea"), found("bees"))
        };
        let (tea, bees) = weights([true, true]);
        assert!(tea > 10.0 * bees, "{tea}, {bees}");
        let (tea, bees) = weights([true, false]);
        assert!(tea < bees, "{tea}, {bees}");
        // Each tier gets its own limit, regardless of the other's scores.
        let found = best(&index, "tea bees");
        assert_eq!(found.iter().filter(|id| **id < 10).count(), 3);
        assert_eq!(found.iter().filter(|id| **id >= 10).count(), CANDIDATES_MAX);
    }

    #[test]
    fn each_word_of_the_query_counts_once() {
        let index = index_of(&["bees and hives", "bees, bees, bees"]);
        let scored = score_of(&index, "bees hives");
        assert_eq!((scored.of(&index, 0).1, scored.of(&index, 1).1), (2, 1));
        assert!(scored.of(&index, 0).0 > scored.of(&index, 1).0);
    }

    #[test]
    fn a_share_is_of_what_was_asked_and_not_of_whom_or_when() {
        let index = index_of(&["Anna cooked risotto", "Anna had a dry summer", "tea"]);
        let share = |left_out: &[&str]| {
            let left_out = left_out.iter().map(|word| terms::number(word)).collect();
            let asked = query_terms("Anna cooked last summer");
            let seen = SeenSources::of(&index, ALL);
            let scored = score(&index, &seen, &asked, &left_out, [true, true]);
            [scored.share(&index, 0), scored.share(&index, 2)]
        };
        let [of_what, of_tea] = share(&["anna", "last", "summer"]);
        assert!(of_what > 0.999 && of_tea == 0.0, "{of_what}, {of_tea}");
        let [with_all, _] = share(&[]);
        assert!((0.2..0.8).contains(&with_all), "{with_all}");
        // Name and time are all that is asked.
        assert_eq!(share(&["anna", "cooked", "last", "summer"])[0], with_all);
    }

    #[test]
    fn what_is_not_seen_makes_no_word_common() {
        let mut index = index_of(&["tea and bees", "tea"]);
        let share = |index: &Index| {
            let scope = ViewerScope { agent: Some(9), ..ALL };
            let seen = SeenSources::of(index, scope);
            let asked = query_terms("tea bees");
            let scored = score(index, &seen, &asked, &HashSet::new(), [true, true]);
            (scored.of(index, 1), scored.share(index, 1))
        };
        let before = share(&index);
        for id in 10..20 {
            index.put(SourceRow { owner: Some(8), ..row(id, "bees") });
        }
        assert_eq!(share(&index), before);
        index.put(row(30, "bees"));
        assert_ne!(share(&index), before);
    }
}
