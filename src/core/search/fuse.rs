//! Fuses raw signals into a score. Meaning and words are on scales of their own, the same for all answers of a memory; a
//! signal that a candidate does not have is left out. Last, scores are divided by the best.

use std::collections::{BTreeMap, HashMap};

use super::arms::neighbours::STEPS_MAX;
use super::candidate::CandidateSignals;
use super::explanation::{Explanation, SignalWeights};
use super::query::Balance;
use crate::memories::ItemId;

/// For an item said by a person that the query names (bench/README.md, "Finding the evidence").
pub const SPEAKER_WEIGHT: f64 = 0.4;
/// For an item that mentions all entities of the query, if the user searches by entities (bench/README.md, "Entities").
pub const ENTITY_WEIGHT: f64 = 0.2;
/// For an item from the time that is asked about, or valid since then (bench/README.md, "Time").
pub const TIME_WEIGHT: f64 = 0.6;
/// For the user's own statement, unless all candidates are (bench/README.md, "The user's word").
pub const USER_WEIGHT: f64 = 0.15;
/// The share of its signals that an item adds to its neighbours one and two steps away. Not used with late interaction,
/// which already compares the neighbours' tokens.
const NEIGHBOUR_SHARES: [f64; STEPS_MAX] = [0.3, 0.2];
/// A cosine that stands out by so many deviations has none or all of the query's meaning (bench/README.md, "An absolute scale").
const MEANING: [f64; 2] = [-1.0, 4.0];
/// Late interaction's share of the meaning, at most; the rest is the embedding's. Tokens alone would rank texts with the same
/// words above those that say the same in other words.
pub const LATE_SHARE: f64 = 0.7;
/// Late interaction scores of unrelated texts and of paraphrases.
const LATE: [f64; 2] = [0.1, 0.6];
/// The share of meaning that is expected of a text without a vector whose words all match.
const EXPECTED_OF_WORDS: f64 = 0.6;
/// A best answer below this is a weak one: scores are divided by at least this.
const BEST_MIN: f64 = 0.3;
/// What a text with all rare words has of its own likeness above what likeness alone reaches.
const RARE_STEP: f64 = 0.1;
/// With so much meaning in common, and so much more, a text may outrank one that has the rare words of a sentence.
const PARAPHRASE: f64 = 0.3;
const NEARER: f64 = 0.03;
/// Factor of a turn's score: with the same words, a memory ranks first (bench/README.md, "Turns").
pub const TURN_WEIGHT: f64 = 0.6;
/// Factor of the score of a text that states nothing.
pub const CHATTER_WEIGHT: f64 = 0.4;
/// Factor of the score of what is over or has not begun: what holds ranks first.
pub const OUT_OF_TIME_WEIGHT: f64 = 0.5;
/// Factor of the agent's own items, if its settings say `own_first` (GoClaw).
pub const OWN_WEIGHT: f64 = 1.2;
/// Factor of an episode's score: it repeats what memories and turns say.
pub const EPISODE_WEIGHT: f64 = 0.7;

impl CandidateSignals {
    /// See [`Explanation::own_weight`].
    pub fn own_weight(&self) -> f64 {
        match (self.comes_first, self.is_lent) {
            (true, _) => OWN_WEIGHT,
            (_, true) => 1.0 / OWN_WEIGHT,
            _ => 1.0,
        }
    }

    fn tier_weight(&self) -> f64 {
        let of_tier = match (self.is_turn, self.is_episode) {
            (true, _) => TURN_WEIGHT,
            (_, true) => EPISODE_WEIGHT,
            _ => 1.0,
        };
        let of_time = if self.is_out_of_time { OUT_OF_TIME_WEIGHT } else { 1.0 };
        of_tier * of_time * self.project_weight * if self.is_chatter { CHATTER_WEIGHT } else { 1.0 }
    }

    /// Meaning in common with the query, 0 to 1; `None` without an embedding.
    fn meaning(&self) -> Option<f64> {
        let [nothing, all] = MEANING;
        let by_vector = ((self.standing? - nothing) / (all - nothing)).clamp(0.0, 1.0);
        let Some(late) = self.late else {
            return Some(by_vector);
        };
        let [nothing, all] = LATE;
        let by_tokens = ((late.likeness - nothing) / (all - nothing)).clamp(0.0, 1.0);
        Some((1.0 - late.share) * by_vector + late.share * by_tokens)
    }
}

impl Explanation {
    /// Without what [`weighted`] adds by comparison with other candidates.
    fn of(candidate: &CandidateSignals, balance: Balance, has: [bool; 2]) -> Self {
        let words = match has {
            [_, false] => 0.0,
            [false, true] => 1.0,
            [true, true] => {
                balance.lexical_weight(candidate.late.map_or(0.0, |late| late.share / LATE_SHARE))
            }
        };
        let meaning = candidate.meaning();
        let weights = match meaning {
            Some(_) => SignalWeights { semantic: 1.0 - words, lexical: words },
            None => {
                SignalWeights { semantic: 0.0, lexical: words + (1.0 - words) * EXPECTED_OF_WORDS }
            }
        };
        Self {
            distance: candidate.distance,
            semantic: candidate.distance.map_or(0.0, |distance| 1.0 / (1.0 + distance)),
            late: candidate.late.map(|late| late.likeness),
            late_share: candidate.late.map_or(0.0, |late| late.share),
            semantic_normalised: meaning.unwrap_or_default(),
            lexical: candidate.lexical,
            lexical_normalised: candidate.lexical,
            words_matched: candidate.words_matched,
            is_substring: candidate.is_substring,
            weights,
            speaker: if candidate.is_of_named { SPEAKER_WEIGHT } else { 0.0 },
            entities: ENTITY_WEIGHT * candidate.entities,
            time: TIME_WEIGHT * candidate.time,
            likeness_scale: 1.0,
            tier_weight: candidate.tier_weight(),
            own_weight: candidate.own_weight(),
            scale: 1.0,
            ..Self::default()
        }
    }
}

/// Weighs the signals of all candidates, best first. Ties: memories before turns, then nearer, then newer, then higher id.
pub fn weighted(
    candidates: Vec<CandidateSignals>,
    balance: Balance,
) -> Vec<(CandidateSignals, Explanation)> {
    let has_meaning = candidates.iter().any(|c| c.standing.is_some());
    let has_words = candidates.iter().any(|c| c.lexical > 0.0);
    let has = [has_meaning, has_words];
    let has_others = candidates.iter().any(|c| !c.is_users_word);
    let has_late = candidates.iter().any(|c| c.late.is_some());
    let of = |candidate: CandidateSignals| {
        let trust = if candidate.is_users_word && has_others { USER_WEIGHT } else { 0.0 };
        (candidate.clone(), Explanation { trust, ..Explanation::of(&candidate, balance, has) })
    };
    let mut ranked: Vec<(CandidateSignals, Explanation)> = candidates.into_iter().map(of).collect();
    if !has_late {
        share_with_neighbours(&mut ranked);
    }
    divide_by_best(&mut ranked);
    lift_exact(&mut ranked);
    sort(&mut ranked);
    ranked
}

/// Scales likeness to at most 1, so that what stands beside it has the same weight in each answer; neighbours lift no turn
/// above its tier.
fn divide_by_best(ranked: &mut [(CandidateSignals, Explanation)]) {
    for is_turn in [false, true] {
        let of_tier = |candidate: &CandidateSignals| candidate.is_turn == is_turn;
        let likeness = ranked.iter().map(|(candidate, why)| match of_tier(candidate) {
            true => why.signals() + why.neighbours,
            // A weak turn is none of the best if there are memories, and the other way round.
            false => why.signals(),
        });
        let best = likeness.fold(BEST_MIN, f64::max);
        let mut highest: f64 = 1.0;
        for (_, why) in ranked.iter_mut().filter(|(candidate, _)| of_tier(candidate)) {
            why.likeness_scale = 1.0 / best;
            highest = highest.max(why.score() / why.tier_weight);
        }
        for (_, why) in ranked.iter_mut().filter(|(candidate, _)| of_tier(candidate)) {
            why.scale = 1.0 / highest;
        }
    }
}

/// Lifts a text with all rare words of the query above those that are only like it (if the query is a sentence, not above what
/// is much nearer), and one with more of the query's identifiers above all others. A text that states nothing is not lifted.
fn lift_exact(ranked: &mut [(CandidateSignals, Explanation)]) {
    let is_lifted = |candidate: &CandidateSignals| candidate.has_rare && !candidate.is_chatter;
    let others = ranked.iter().filter(|(candidate, _)| !is_lifted(candidate));
    let others = others.map(|(_, why)| (why.semantic_normalised, why.likeness()));
    let others: Vec<(f64, f64)> = others.collect();
    for (candidate, why) in ranked.iter_mut().filter(|(candidate, _)| is_lifted(candidate)) {
        let nearer = match candidate.asks_rare || candidate.standing.is_none() {
            true => f64::INFINITY,
            false => (why.semantic_normalised + NEARER).max(PARAPHRASE),
        };
        let outranked = others.iter().filter(|(meaning, _)| *meaning < nearer);
        let reached = outranked.map(|(_, likeness)| *likeness).fold(0.0, f64::max);
        let likeness = why.likeness();
        if likeness < reached {
            why.exact = reached - likeness * (1.0 - RARE_STEP);
        }
    }
    let identifiers = |candidate: &CandidateSignals| match candidate.is_chatter {
        true => 0,
        false => candidate.identifiers,
    };
    let mut counts: Vec<u32> = ranked.iter().map(|(candidate, _)| identifiers(candidate)).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut reached = 0.0;
    for count in counts {
        let mut highest: f64 = reached;
        for (_, why) in ranked.iter_mut().filter(|(c, _)| identifiers(c) == count) {
            why.exact += reached;
            highest = highest.max(why.score());
        }
        reached = highest;
    }
    for (_, why) in ranked.iter_mut().filter(|_| reached > 1.0) {
        (why.scale, why.exact) = (why.scale / reached, why.exact / reached);
    }
}

/// Best first. Ties: by tier, then nearer, then newer, then higher id.
pub fn sort(ranked: &mut [(CandidateSignals, Explanation)]) {
    ranked.sort_by(|(a, why_a), (b, why_b)| {
        why_b
            .score()
            .total_cmp(&why_a.score())
            .then(why_b.tier_weight.total_cmp(&why_a.tier_weight))
            .then(why_b.semantic.total_cmp(&why_a.semantic))
            .then(b.created_at.cmp(&a.created_at))
            .then(b.id.0.cmp(&a.id.0))
    });
}

/// Weight of the similarity to earlier hits when results are diversified.
const LIKENESS_WEIGHT: f64 = 0.15;

/// Diversifies the `first` places by maximal marginal relevance: each is chosen by its score minus its similarity to those
/// before it. The rest keeps its order.
pub fn spread(ranked: &mut [(CandidateSignals, Explanation)], first: usize) {
    let best = ranked.first().map_or(1.0, |(_, why)| why.score()).max(f64::MIN_POSITIVE);
    let mut likeness = vec![0.0_f64; ranked.len()];
    for place in 0..first.min(ranked.len()) {
        let value = |at: usize| ranked[at].1.score() / best - LIKENESS_WEIGHT * likeness[at];
        let chosen = (place..ranked.len()).reduce(|a, b| if value(b) > value(a) { b } else { a });
        let Some(chosen) = chosen else { break };
        ranked[place..=chosen].rotate_right(1);
        likeness[place..=chosen].rotate_right(1);
        let Some(direction) = ranked[place].0.direction.clone() else {
            continue;
        };
        for at in place + 1..ranked.len() {
            let other = ranked[at].0.direction.as_ref();
            let like = other.map_or(0.0, |other| direction.likeness(other));
            likeness[at] = likeness[at].max(like);
        }
    }
}

/// Adds each neighbour's share in both directions, once per pair.
fn share_with_neighbours(ranked: &mut [(CandidateSignals, Explanation)]) {
    let places: HashMap<ItemId, usize> =
        ranked.iter().enumerate().map(|(place, (candidate, _))| (candidate.id, place)).collect();
    let mut pairs: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (place, (candidate, _)) in ranked.iter().enumerate() {
        for (neighbour, steps) in &candidate.neighbours {
            let Some(&other) = places.get(neighbour) else {
                continue;
            };
            let share = NEIGHBOUR_SHARES[(*steps - 1) as usize];
            pairs.insert((place.min(other), place.max(other)), share);
        }
    }
    for ((one, other), share) in pairs {
        let (of_one, of_other) = (ranked[one].1.signals(), ranked[other].1.signals());
        ranked[one].1.neighbours += share * of_other;
        ranked[other].1.neighbours += share * of_one;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::candidate::LateSimilarity;
    use time::Duration;

    fn candidate(id: i64, distance: Option<f64>, lexical: f64) -> CandidateSignals {
        CandidateSignals {
            lexical,
            words_matched: i64::from(lexical > 0.0),
            ..CandidateSignals::at(id, distance)
        }
    }

    fn with(
        mut candidate: CandidateSignals,
        change: impl Fn(&mut CandidateSignals),
    ) -> CandidateSignals {
        change(&mut candidate);
        candidate
    }

    fn round(score: f64) -> f64 {
        (score * 1e6).round() / 1e6
    }

    fn scores(candidates: Vec<CandidateSignals>) -> Vec<(i64, f64)> {
        let ranked = weighted(candidates, Balance::Meaning).into_iter();
        ranked.map(|(c, why)| (c.id.0, round(why.score()))).collect()
    }

    #[test]
    fn meaning_and_words_are_weighed_and_divided_by_the_best() {
        let union = vec![
            candidate(1, Some(0.0), 0.0),
            candidate(2, Some(0.25), 1.0),
            candidate(3, Some(1.0), 0.5),
        ];
        let best = 0.65 * 0.75 + 0.35;
        let expected = [(2, 1.0), (1, round(0.65 / best)), (3, round(0.175 / best))];
        assert_eq!(scores(union), expected);
        // Words weigh less where tokens are compared.
        let late = Some(LateSimilarity { likeness: 0.6, share: LATE_SHARE });
        let ranked =
            weighted(vec![with(candidate(1, Some(0.0), 0.0), |c| c.late = late)], Balance::Meaning);
        assert_eq!(round(ranked[0].1.weights.semantic), 1.0);
        let words = with(candidate(1, Some(0.0), 1.0), |c| c.late = late);
        let ranked = weighted(vec![words], Balance::Meaning);
        assert_eq!(round(ranked[0].1.weights.lexical), 0.15);
    }

    #[test]
    fn an_item_without_a_vector_is_scored_by_its_words() {
        let union = vec![
            candidate(1, None, 1.0),
            candidate(2, Some(0.1), 0.3),
            candidate(3, None, 0.3),
            candidate(4, Some(0.9), 0.3),
        ];
        let ranked = weighted(union, Balance::Meaning);
        assert_eq!(ranked.iter().map(|(c, _)| c.id.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let why = ranked[0].1;
        assert_eq!((why.semantic, why.weights.semantic, why.similarity()), (0.0, 0.0, 0.0));
        assert_eq!(round(why.weights.lexical), round(0.35 + 0.65 * EXPECTED_OF_WORDS));
    }

    #[test]
    fn a_silent_arm_leaves_the_score_to_the_other() {
        let far_and_near = vec![candidate(1, Some(1.0), 0.0), candidate(2, Some(0.5), 0.0)];
        assert_eq!(scores(far_and_near), [(2, 1.0), (1, 0.0)]);
        let words_alone = vec![candidate(1, None, 1.0), candidate(2, None, 0.2)];
        assert_eq!(scores(words_alone), [(1, 1.0), (2, 0.2)]);
        assert_eq!(scores(vec![]), []);
    }

    #[test]
    fn a_weak_answer_is_weak_although_it_is_the_only_one() {
        assert_eq!(scores(vec![candidate(1, Some(1.9), 0.1)]), [(1, round(0.035 / BEST_MIN))]);
    }

    #[test]
    fn a_turn_counts_for_less_than_a_memory_of_the_same_signals() {
        let turn =
            |id, distance, lexical| with(candidate(id, distance, lexical), |c| c.is_turn = true);
        let union = vec![turn(9, Some(0.25), 1.0), candidate(1, Some(0.25), 1.0)];
        assert_eq!(scores(union), [(1, 1.0), (9, TURN_WEIGHT)]);
        // Also a weaker memory among many turns.
        let mut flood: Vec<CandidateSignals> =
            (10..60).map(|id| turn(id, Some(0.25), 1.0)).collect();
        flood.push(candidate(1, Some(0.4), 0.75));
        flood.push(candidate(2, Some(1.2), 0.0));
        let ranked = scores(flood);
        assert_eq!((ranked[0].0, ranked[51]), (1, (2, 0.0)));
        // Alone, turns rank as usual.
        let alone = vec![turn(1, Some(0.5), 0.0), turn(2, Some(0.25), 0.0)];
        assert_eq!(scores(alone)[0], (2, TURN_WEIGHT));
    }

    #[test]
    fn what_states_nothing_ranks_behind_what_does() {
        let question = with(candidate(1, Some(0.0), 1.0), |c| {
            (c.is_turn, c.is_chatter, c.has_rare, c.identifiers) = (true, true, true, 1);
        });
        assert_eq!(scores(vec![question, candidate(2, Some(0.5), 0.3)])[0].0, 2);
    }

    #[test]
    fn whoever_asks_may_weigh_words_more() {
        let union = || vec![candidate(1, Some(0.0), 0.0), candidate(2, Some(1.0), 1.0)];
        let first = |balance| weighted(union(), balance)[0].0.id.0;
        assert_eq!((first(Balance::Meaning), first(Balance::Words)), (1, 2));
        let even = weighted(union(), Balance::Even);
        assert_eq!((even[0].1.score(), even[1].1.score()), (1.0, 1.0));
    }

    #[test]
    fn late_interaction_has_its_share_of_the_meaning() {
        let late = |likeness, share| {
            let late = LateSimilarity { likeness, share };
            with(candidate(1, Some(0.5), 0.0), |c| c.late = Some(late)).meaning().map(round)
        };
        assert_eq!((late(0.8, 1.0), late(0.05, 1.0)), (Some(1.0), Some(0.0)));
        assert_eq!((late(0.6, 0.0), late(0.6, 0.5)), (Some(0.5), Some(0.75)));
        assert_eq!(candidate(1, None, 1.0).meaning(), None);
    }

    #[test]
    fn likeness_does_not_outrank_rare_words_and_a_named_speaker_does() {
        let rare =
            |id| with(candidate(id, Some(0.9), 0.3), |c| (c.asks_rare, c.has_rare) = (true, true));
        let like = with(candidate(2, Some(0.0), 0.6), |c| c.asks_rare = true);
        // A rare word among others outranks what is a little like the query, and no paraphrase.
        for (distance, first) in [(0.3, 2), (0.75, 1)] {
            let among_others = with(rare(1), |c| c.asks_rare = false);
            let union = vec![among_others, candidate(2, Some(distance), 0.2)];
            assert_eq!(scores(union)[0].0, first);
        }
        let ranked = scores(vec![rare(1), like.clone(), rare(3)]);
        assert_eq!(ranked.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(ranked[0].1, 1.0);
        let said = with(like, |c| c.is_of_named = true);
        assert_eq!(scores(vec![rare(1), said])[0].0, 2);
    }

    #[test]
    fn identifiers_outrank_all_else() {
        let of =
            |id, identifiers| with(candidate(id, Some(0.9), 0.2), |c| c.identifiers = identifiers);
        let like = with(candidate(2, Some(0.0), 1.0), |c| (c.is_of_named, c.time) = (true, 1.0));
        let ranked = scores(vec![of(1, 1), like, of(3, 2)]);
        assert_eq!(ranked.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 1, 2]);
        assert!(ranked.iter().all(|(_, score)| (0.0..=1.0).contains(score)));
    }

    #[test]
    fn who_is_named_counts_and_no_score_is_more_than_one() {
        let of_named = with(candidate(1, Some(0.0), 1.0), |c| c.is_of_named = true);
        let union = vec![of_named, candidate(2, Some(0.0), 1.0)];
        assert_eq!(scores(union), [(1, 1.0), (2, round(1.0 / 1.4))]);
    }

    #[test]
    fn the_users_own_word_counts_a_little_beside_others() {
        let own = |id| with(candidate(id, Some(0.0), 1.0), |c| c.is_users_word = true);
        let others = candidate(2, Some(0.0), 1.0);
        assert_eq!(scores(vec![own(1), others]), [(1, 1.0), (2, round(1.0 / 1.15))]);
        assert_eq!(scores(vec![own(1), own(2)]), [(2, 1.0), (1, 1.0)]);
    }

    #[test]
    fn neighbours_share_once_and_are_no_measure_of_what_was_found() {
        let beside = |id, distance, neighbours: &[(i64, i64)]| {
            let neighbours = neighbours.iter().map(|(id, steps)| (ItemId(*id), *steps));
            with(candidate(id, Some(distance), 0.0), |c| {
                c.neighbours = neighbours.clone().collect();
            })
        };
        let union = vec![
            beside(1, 0.0, &[(2, 1), (3, 2), (99, 1)]),
            beside(2, 1.0, &[(1, 1)]),
            with(candidate(3, Some(1.5), 0.0), |c| c.is_found = false),
        ];
        assert_eq!(scores(union), [(1, 1.0), (2, 0.3), (3, 0.2)]);
    }

    #[test]
    fn ties_go_to_the_newer_then_to_the_later_id() {
        let newer = with(candidate(1, Some(0.5), 0.0), |c| {
            c.created_at += Duration::seconds(1);
        });
        let equal = vec![candidate(3, Some(0.5), 0.0), newer, candidate(2, Some(0.5), 0.0)];
        assert_eq!(scores(equal), [(1, 1.0), (3, 1.0), (2, 1.0)]);
    }

    #[test]
    fn no_score_leaves_zero_to_one() {
        for distance in [0.0, 1e-12, 2.0] {
            for lexical in [0.0, 1e-300, 1.0] {
                let union = vec![candidate(1, Some(distance), lexical), candidate(2, None, 1.0)];
                assert!(scores(union).iter().all(|(_, s)| (0.0..=1.0).contains(s)));
            }
        }
    }

    #[test]
    fn what_the_query_names_counts_a_little() {
        let naming = with(candidate(1, Some(0.0), 1.0), |c| c.entities = 1.0);
        let union = vec![naming, candidate(2, Some(0.0), 1.0)];
        assert_eq!(scores(union), [(1, 1.0), (2, round(1.0 / (1.0 + ENTITY_WEIGHT)))]);
    }
}
