//! The lexical arm: the share of the query's words that a text has, weighted by their rarity in the user's own texts. Scores
//! every text with one of the words; no sampling.

use std::collections::HashSet;

use super::CANDIDATES_MAX;
use crate::memories::passages::terms;
use crate::memories::words::{QUERY_TERMS_MAX, Term, WHOLE};
use crate::search::reader::index::Index;
use crate::search::reader::seen::SeenSources;

/// Minimum number of sources for rarity; if there are fewer memories, turns fill up.
const TELLING_SOURCES_MIN: usize = 1_000;
/// The share of a word that occurs in another form only, such as its stem.
const OTHER_FORM: f64 = 0.85;
/// What a weak word weighs, of its weight by rarity.
const WEAK: f64 = 0.3;
/// A text loses up to this share by its length, so that of equal ones the shorter is first …
const LENGTH_SHARE: f64 = 0.1;
/// … from this many terms on.
const LENGTH_MIN: u16 = 20;
/// A time word with so many digits is a whole date, and what has it is as exact as what has another identifier.
const DATE_DIGITS: usize = 6;
/// A word is rare in at most so many sources of a tier, or in at most one of so many.
const RARE_MAX: usize = 2;
const RARE_ONE_IN: usize = 500;
/// Rare words count if they are at least this share of the query's words, by weight …
const RARE_SHARE_MIN: f64 = 0.2;
/// … and from this share on they are what is asked for.
const RARE_SHARE_ASKED: f64 = 0.5;

/// A word of the query.
struct QueryWord {
    weight: f64,
    /// Occurs in a seen source.
    is_found: bool,
    /// A name or time word, which does not say what is asked.
    is_left_out: bool,
}

/// Words of the query as bits, by their position.
type Words = u32;
const _: () = assert!(QUERY_TERMS_MAX <= Words::BITS as usize);

/// The summed weights of the words of a set, per byte of the set.
struct Weights(Box<[[f64; 256]; 4]>);

impl Weights {
    fn of(words: &[QueryWord]) -> Self {
        let mut sums = Box::new([[0.0; 256]; 4]);
        for (byte, sums) in sums.iter_mut().enumerate() {
            let of_byte = words.iter().skip(8 * byte).take(8);
            for (nth, word) in of_byte.enumerate() {
                let bit = 1 << nth;
                for set in bit..2 * bit {
                    sums[set] = sums[set - bit] + word.weight;
                }
            }
        }
        Self(sums)
    }

    fn sum(&self, words: Words) -> f64 {
        let bytes = words.to_le_bytes();
        self.0.iter().zip(bytes).map(|(sums, byte)| sums[usize::from(byte)]).sum()
    }
}

/// The matches of all passages with one query.
pub struct Scored {
    words: Vec<QueryWord>,
    weights: Weights,
    /// Per passage, the words that match …
    matched: Vec<Words>,
    /// … and those of them that match by the word itself.
    exact: Vec<Words>,
    /// Names and time words.
    left_out: Words,
    /// The weight of all words.
    weight: f64,
    /// The same without names and time words.
    telling_weight: f64,
    /// Rare words, without names and time words …
    rare: Words,
    /// … and whether they are what is asked for.
    pub asks_rare: bool,
    /// Identifiers: numbers, addresses, versions, codes.
    identifiers: Words,
}

/// How a source matches the query's words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WordMatch {
    /// The best passage's share of the words by weight, 0 to 1.
    pub share: f64,
    /// How many words match in it.
    pub words: u32,
    /// Its position within the source.
    pub passage: usize,
    /// The best passage's share without names and time words.
    pub telling_share: f64,
    /// Its passages together have all of the query's rare words.
    pub has_rare: bool,
    /// How many of the query's identifiers they have.
    pub identifiers: u32,
}

/// A source, its identifiers and whether it has the rare words, and its share.
type Ranked = (u32, (u32, bool), f64);

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

/// Rare among memories or, if no memory has it, among turns.
fn is_rare(sources: [usize; 2], found: [usize; 2]) -> bool {
    let is_rare = |tier: usize| found[tier] <= RARE_MAX.max(sources[tier] / RARE_ONE_IN);
    match found {
        [0, 0] => false,
        [0, _] => is_rare(1),
        _ => is_rare(0),
    }
}

/// Whether a lexeme is an identifier: a number of three digits or more, a word with digits and others, or with a sign such as
/// those of `c++`, `src/db.rs`, `anna@example.com`.
fn is_identifier(lexeme: &str) -> bool {
    let chars = lexeme.chars().count();
    let has_digit = lexeme.chars().any(char::is_numeric);
    let has_sign = lexeme.contains(['+', '#', '@', '/', '\\', '_', ':', '=', '&']);
    let is_dotted = lexeme.contains('.') && chars > 3;
    has_digit && chars >= 3 || (has_sign || is_dotted) && chars >= 2
}

/// Matches every passage with these words. `left_out` are the terms of names, `times` those of time words.
pub fn score(
    index: &Index,
    seen: &SeenSources,
    asked: &[Term],
    left_out: &HashSet<u32>,
    tiers: [bool; 2],
) -> Scored {
    let sources = seen.counts();
    let mut scored = Scored {
        words: Vec::with_capacity(asked.len()),
        weights: Weights::of(&[]),
        left_out: 0,
        matched: vec![0; index.passages_len()],
        exact: vec![0; index.passages_len()],
        weight: 0.0,
        telling_weight: 0.0,
        rare: 0,
        asks_rare: false,
        identifiers: 0,
    };
    let (mut rare, mut identifiers) = (0, 0);
    for (term, bit) in asked.iter().zip((0..Words::BITS).map(|n| 1 << n)) {
        let alternatives: Vec<u32> = term.alternatives.iter().map(|a| terms::number(a)).collect();
        let mut found = [0; 2];
        let whole = term.alternatives.iter().position(|a| a.starts_with(WHOLE)).unwrap_or(0);
        for (nth, alternative) in alternatives.iter().enumerate() {
            for (passage, _) in index.postings(*alternative) {
                let Some((number, _)) = index.passage(passage) else { continue };
                let source = index.source(number);
                let mut of_source = index.passages_of(number);
                if seen.has(source) && !of_source.any(|p| scored.matched[p] & bit != 0) {
                    found[usize::from(source.is_turn())] += 1;
                }
                scored.matched[passage] |= bit;
                scored.exact[passage] |= if nth == whole { bit } else { 0 };
            }
        }
        let is_left_out = alternatives.iter().any(|term| left_out.contains(term));
        let weight = weight(sources, tiers, found) * if term.is_weak { WEAK } else { 1.0 };
        let is_found = found != [0; 2];
        let is_identifier = term.alternatives.first().is_some_and(|a| is_identifier(a));
        rare |= if is_rare(sources, found) && !is_left_out && !term.is_weak { bit } else { 0 };
        let digits = || term.alternatives.iter().flat_map(|a| a.chars()).filter(|c| c.is_numeric());
        let is_date = is_left_out && digits().count() >= DATE_DIGITS;
        identifiers |= if is_identifier && is_found && (!is_left_out || is_date) { bit } else { 0 };
        scored.words.push(QueryWord { weight, is_found, is_left_out });
    }
    // A query of names and time words only asks for just these.
    if scored.words.iter().all(|word| word.is_left_out) {
        scored.words.iter_mut().for_each(|word| word.is_left_out = false);
    }
    scored.weights = Weights::of(&scored.words);
    let left_out = scored.words.iter().enumerate().filter(|(_, word)| word.is_left_out);
    scored.left_out = left_out.fold(0, |all, (nth, _)| all | 1 << nth);
    let has_any = scored.words.iter().any(|word| word.is_found);
    // A word that occurs nowhere is missing everywhere, but for a name or time.
    let counted = scored.words.iter().filter(|word| word.is_found || !word.is_left_out);
    let telling = scored.words.iter().filter(|word| !word.is_left_out);
    scored.telling_weight = telling.map(|word| word.weight).sum();
    scored.weight = match has_any {
        true => counted.map(|word| word.weight).sum(),
        false => 0.0,
    };
    let rare_share = scored.weights.sum(rare) / scored.telling_weight;
    if rare_share >= RARE_SHARE_MIN {
        (scored.rare, scored.asks_rare) = (rare, rare_share >= RARE_SHARE_ASKED);
    }
    scored.identifiers = scored.without_parts(identifiers, asked);
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
    /// The words' weights, by their position in the query; 0 for those that do not occur.
    pub fn word_weights(&self) -> Vec<f64> {
        let of = |word: &QueryWord| if word.is_found { word.weight } else { 0.0 };
        self.words.iter().map(of).collect()
    }

    /// Of these words, those that are no part of another one: of `192.168.0.1`, not `192` besides.
    fn without_parts(&self, of: Words, asked: &[Term]) -> Words {
        let has = |nth: &usize| of >> nth & 1 == 1;
        let whole = |nth: usize| asked[nth].alternatives.first().map_or("", String::as_str);
        let is_part = |nth: &usize| {
            let others = (0..self.words.len()).filter(has).filter(|other| other != nth);
            others.into_iter().any(|other| {
                whole(other).len() > whole(*nth).len() && whole(other).contains(whole(*nth))
            })
        };
        let kept = (0..self.words.len()).filter(has).filter(|nth| !is_part(nth));
        kept.fold(0, |words, nth| words | 1 << nth)
    }

    /// A passage's share of the words by weight.
    fn share(&self, index: &Index, passage: usize) -> f64 {
        let (matched, exact) = (self.matched[passage], self.exact[passage]);
        if matched == 0 || self.weight <= 0.0 {
            return 0.0;
        }
        let others = OTHER_FORM * self.weights.sum(matched & !exact);
        let share = (self.weights.sum(exact) + others) / self.weight;
        let terms = index.passage(passage).map_or(0, |(_, terms)| terms);
        let ln = |terms: u16| f64::from(2 + terms.max(LENGTH_MIN)).ln();
        share * (1.0 - LENGTH_SHARE * (1.0 - ln(LENGTH_MIN) / ln(terms)))
    }

    /// How a source matches.
    pub fn of(&self, index: &Index, source: u32) -> WordMatch {
        let passages = index.passages_of(source);
        let mut found = WordMatch::default();
        let (mut all, mut telling): (Words, f64) = (0, 0.0);
        for (nth, passage) in passages.enumerate().filter(|(_, p)| self.matched[*p] != 0) {
            let matched = self.matched[passage];
            all |= matched;
            telling = telling.max(self.weights.sum(matched & !self.left_out));
            let share = self.share(index, passage);
            if share > found.share || found.words == 0 {
                found = WordMatch { share, words: matched.count_ones(), passage: nth, ..found };
            }
        }
        if self.telling_weight > 0.0 {
            found.telling_share = (telling / self.telling_weight).min(1.0);
        }
        found.has_rare = self.rare != 0 && all & self.rare == self.rare;
        found.identifiers = (all & self.identifiers).count_ones();
        found
    }

    /// The best sources per tier: those with the query's identifiers and rare words before others.
    pub fn best(&self, index: &Index, mask: &[bool]) -> Vec<u32> {
        let mut tiers: [Vec<Ranked>; 2] = Default::default();
        let mut last = None;
        for passage in (0..self.matched.len()).filter(|p| self.matched[*p] != 0) {
            let Some((source, _)) = index.passage(passage) else {
                continue;
            };
            if !mask[source as usize] || last.replace(source) == Some(source) {
                continue;
            }
            let tier = usize::from(index.source(source).is_turn());
            let found = self.of(index, source);
            tiers[tier].push((source, (found.identifiers, found.has_rare), found.share));
        }
        let key = |n: u32| (index.source(n).created_at, index.source(n).id);
        let order = |a: &Ranked, b: &Ranked| {
            let by_share = b.1.cmp(&a.1).then(b.2.total_cmp(&a.2));
            by_share.then_with(|| key(b.0).cmp(&key(a.0)))
        };
        for tier in &mut tiers {
            if tier.len() > CANDIDATES_MAX {
                tier.select_nth_unstable_by(CANDIDATES_MAX, order);
                tier.truncate(CANDIDATES_MAX);
            }
            tier.sort_unstable_by(order);
        }
        tiers.into_iter().flatten().map(|(source, ..)| source).collect()
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
        best.into_iter().map(|n| index.source(n).id).collect()
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
        assert_eq!((scored.of(&index, 0).words, scored.of(&index, 1).words), (2, 1));
        assert!(scored.of(&index, 0).share > scored.of(&index, 1).share);
    }

    #[test]
    fn a_share_is_of_what_was_asked_and_not_of_whom_or_when() {
        let index = index_of(&["Anna cooked risotto", "Anna had a dry summer", "tea"]);
        let share = |left_out: &[&str]| {
            let left_out = left_out.iter().map(|word| terms::number(word)).collect();
            let asked = query_terms("Anna cooked last summer");
            let seen = SeenSources::of(&index, ALL);
            let scored = score(&index, &seen, &asked, &left_out, [true, true]);
            [0, 2].map(|source| scored.of(&index, source).telling_share)
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
            scored.of(index, 1)
        };
        let before = share(&index);
        for id in 10..20 {
            index.put(SourceRow { owner: Some(8), ..row(id, "bees") });
        }
        assert_eq!(share(&index), before);
        index.put(row(30, "bees"));
        assert_ne!(share(&index), before);
    }

    #[test]
    fn rare_words_and_identifiers_are_known_wherever_they_stand() {
        let mut texts: Vec<String> =
            (0..40).map(|n| format!("Ticket #602{n:02}: the login page hangs")).collect();
        texts.push("She plays the saxophone".to_owned());
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let index = index_of(&texts);
        let of = |query: &str, source: u32| {
            let found = score_of(&index, query).of(&index, source);
            (found.has_rare, found.identifiers)
        };
        assert_eq!(of("ticket 60225", 25), (true, 1));
        assert_eq!(of("ticket 60225", 24), (false, 0));
        assert_eq!(of("Who plays the saxophone in the band?", 40), (true, 0));
        assert_eq!(of("login page", 3), (false, 0));
        // Of many words that occur nowhere, one rare word is little.
        assert!(
            !of("Which colleague of the jazz orchestra sings, whistles or plays guitar?", 40).0
        );
        let asks_rare = |query: &str| score_of(&index, query).asks_rare;
        assert!(asks_rare("the saxophone") && !asks_rare("Who has a saxophone in the band?"));
        assert_eq!(best(&index, "login page of ticket 60225")[0], 26);
    }

    #[test]
    fn an_identifier_has_digits_or_signs() {
        for lexeme in
            ["60225", "192.168.17.40", "v1.2.3", "c++", "c#", "src/db.rs", "err_1", "３００"]
        {
            assert!(is_identifier(lexeme), "{lexeme}");
        }
        for lexeme in ["tea", "42", "well-known", "o'clock", "茶", "e.g"] {
            assert!(!is_identifier(lexeme), "{lexeme}");
        }
    }
}
