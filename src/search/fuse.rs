//! Fuses raw signals into a score. Scores are relative to the best candidate of one answer; they cannot be compared between
//! answers.

use std::collections::{BTreeMap, HashMap};

use super::arms::neighbours::STEPS_MAX;
use super::candidate::CandidateSignals;
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
/// The late interaction score of two unrelated texts.
const NOTHING_IN_COMMON: f64 = 0.1;
/// Factor of a turn's score: with the same words, a memory ranks first (bench/README.md, "Turns").
pub const TURN_WEIGHT: f64 = 0.6;

/// Factor of the agent's own items, if its settings say `own_first` (GoClaw).
pub const OWN_WEIGHT: f64 = 1.2;

/// Factor of an episode's score: it repeats what memories and turns say.
pub const EPISODE_WEIGHT: f64 = 0.7;

/// Why a hit has its rank (`explain: true`). The score is `scale · tier_weight · own_weight · strength · (semantic_weight ·
/// semantic_normalised + lexical_weight · lexical_normalised + speaker + entities + time + trust + neighbours)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Explanation {
    /// Cosine distance, 0 to 2; `None` without a ready embedding of the item or of the query.
    pub distance: Option<f64>,
    /// `1 / (1 + distance)`; 0 without a distance.
    pub semantic: f64,
    /// By late interaction, 0 to about 0.8; `None` if the model returns no tokens.
    pub late: Option<f64>,
    /// Late interaction's share of the semantic signal, 0 to 1.
    pub late_share: f64,
    /// `semantic` and `late`, scaled within this answer and mixed by `late_share`: 0 for the weakest candidate (with turns
    /// or episodes: for a distance of 1 or more), 1 for the strongest.
    pub semantic_normalised: f64,
    /// Σ idf · ts_rank over the matching words, over log length; unbounded.
    pub lexical: f64,
    /// `lexical`, scaled within this answer.
    pub lexical_normalised: f64,
    /// Number of the query's words that match.
    pub words_matched: i64,
    /// No word matches; the text contains a part of the query.
    pub is_substring: bool,
    /// By the query's [`Balance`]: by default 0.7, or 0.85 with late interaction; 1 if no word matches, 0 without near
    /// candidates.
    pub semantic_weight: f64,
    /// `1 − semantic_weight`.
    pub lexical_weight: f64,
    /// [`SPEAKER_WEIGHT`] if it was said by a person that the query names, else 0.
    pub speaker: f64,
    /// Up to [`ENTITY_WEIGHT`], by the share of the query's entities that it mentions.
    pub entities: f64,
    /// Up to [`TIME_WEIGHT`], by closeness to the time that is asked about.
    pub time: f64,
    /// [`USER_WEIGHT`] if it is the user's own statement and not all candidates are, else 0.
    pub trust: f64,
    /// Added by its neighbours in the conversation.
    pub neighbours: f64,
    /// [`TURN_WEIGHT`] for a turn, [`EPISODE_WEIGHT`] for an episode, else 1.
    pub tier_weight: f64,
    /// [`OWN_WEIGHT`] for the agent's own item if those rank first, its inverse for a lent item, else 1.
    pub own_weight: f64,
    /// 1; if strength counts, down to 0.5 for a faded memory.
    pub strength: f64,
    /// The inverse of the highest sum in its tier (with `own_weight`), if that exceeds 1; else 1.
    pub scale: f64,
}

impl CandidateSignals {
    /// See [`Explanation::own_weight`].
    pub fn own_weight(&self) -> f64 {
        match (self.comes_first, self.is_lent) {
            (true, _) => OWN_WEIGHT,
            (_, true) => 1.0 / OWN_WEIGHT,
            _ => 1.0,
        }
    }
}

impl Explanation {
    pub fn score(&self) -> f64 {
        self.strength * self.scale * self.tier_weight * self.sum()
    }

    fn sum(&self) -> f64 {
        self.own_weight * (self.signals() + self.beside_signals() + self.neighbours)
    }

    fn beside_signals(&self) -> f64 {
        self.speaker + self.entities + self.time + self.trust
    }

    fn signals(&self) -> f64 {
        self.semantic_weight * self.semantic_normalised
            + self.lexical_weight * self.lexical_normalised
    }

    /// Cosine similarity; 0 without a ready embedding.
    pub fn similarity(&self) -> f64 {
        self.distance.map_or(0.0, |distance| 1.0 - distance)
    }
}

/// Scales and weighs the signals of all candidates, best first. Ties: memories before turns, then newer, then higher id
/// (DESIGN §4).
pub fn weighted(
    candidates: Vec<CandidateSignals>,
    balance: Balance,
) -> Vec<(CandidateSignals, Explanation)> {
    let semantic: Vec<f64> = candidates.iter().map(|c| closeness(c.distance)).collect();
    let lexical: Vec<f64> = candidates.iter().map(|c| c.lexical).collect();
    let has_near = candidates.iter().any(|c| c.is_near);
    let has_words = lexical.iter().any(|s| *s > 0.0);
    let has_late = candidates.iter().any(|c| c.late.is_some());
    let lexical_share = balance.lexical_weight(has_late);
    let (semantic_weight, lexical_weight) = weights(has_near, has_words, lexical_share);
    // The weakest of many turns or of an episode is no baseline for memories: use "unrelated" as 0 instead.
    let has_turns = candidates.iter().any(|c| c.is_turn || c.is_episode);
    let (no_meaning, no_words) = match has_turns {
        true => (closeness(Some(1.0)), 0.0),
        false => (lowest(&candidates, &semantic), lowest(&candidates, &lexical)),
    };
    let late = late_scaled(&candidates, has_turns);
    let has_others = candidates.iter().any(|c| !c.is_users_word);
    let semantic_scaled = normalise(&semantic, no_meaning).into_iter().zip(&candidates);
    let semantic_scaled = semantic_scaled.enumerate().map(|(at, (near, candidate))| {
        let share = candidate.late.map_or(0.0, |late| late.share);
        (1.0 - share) * near + share * late.get(at).copied().unwrap_or_default()
    });
    let semantic_scaled: Vec<f64> = semantic_scaled.collect();
    let scaled = semantic_scaled.into_iter().zip(normalise(&lexical, no_words));
    let mut ranked: Vec<(CandidateSignals, Explanation)> = candidates
        .into_iter()
        .zip(semantic)
        .zip(scaled)
        .map(|((candidate, semantic), scaled)| {
            let why = Explanation {
                distance: candidate.distance,
                semantic,
                late: candidate.late.map(|late| late.likeness),
                late_share: candidate.late.map_or(0.0, |late| late.share),
                semantic_normalised: if has_near { scaled.0 } else { 0.0 },
                lexical: candidate.lexical,
                lexical_normalised: if has_words { scaled.1 } else { 0.0 },
                words_matched: candidate.words_matched,
                is_substring: candidate.is_substring,
                semantic_weight,
                lexical_weight,
                speaker: match candidate.is_of_named {
                    true => SPEAKER_WEIGHT,
                    false => 0.0,
                },
                entities: ENTITY_WEIGHT * candidate.entities,
                time: TIME_WEIGHT * candidate.time,
                trust: match candidate.is_users_word && has_others {
                    true => USER_WEIGHT,
                    false => 0.0,
                },
                neighbours: 0.0,
                scale: 1.0,
                own_weight: candidate.own_weight(),
                strength: 1.0,
                tier_weight: match (candidate.is_turn, candidate.is_episode) {
                    (true, _) => TURN_WEIGHT,
                    (_, true) => EPISODE_WEIGHT,
                    _ => 1.0,
                },
            };
            (candidate, why)
        })
        .collect();
    if !has_late {
        share_with_neighbours(&mut ranked);
    }
    scale(&mut ranked);
    sort(&mut ranked);
    ranked
}

/// Best first. Ties: by tier, then newer, then higher id.
pub fn sort(ranked: &mut [(CandidateSignals, Explanation)]) {
    ranked.sort_by(|(a, why_a), (b, why_b)| {
        why_b
            .score()
            .total_cmp(&why_a.score())
            .then(why_b.tier_weight.total_cmp(&why_a.tier_weight))
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

/// The late interaction scores, scaled within this answer; empty if there are none.
fn late_scaled(candidates: &[CandidateSignals], has_turns: bool) -> Vec<f64> {
    let likeness = |c: &CandidateSignals| c.late.map(|late| late.likeness);
    let of_found = candidates.iter().filter(|c| c.is_found);
    let Some(least) = of_found.filter_map(likeness).reduce(f64::min) else {
        return Vec::new();
    };
    let least = if has_turns { NOTHING_IN_COMMON } else { least };
    let late = candidates.iter().map(|c| likeness(c).unwrap_or(least));
    normalise(&late.collect::<Vec<_>>(), least)
}

fn closeness(distance: Option<f64>) -> f64 {
    distance.map_or(0.0, |distance| 1.0 / (1.0 + distance))
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

/// Limits each score to its tier's weight, so that neighbours cannot lift a turn above a memory.
fn scale(ranked: &mut [(CandidateSignals, Explanation)]) {
    for is_turn in [false, true] {
        let of_tier = |candidate: &CandidateSignals| candidate.is_turn == is_turn;
        let highest = ranked
            .iter()
            .filter(|(candidate, _)| of_tier(candidate))
            .fold(1.0, |highest: f64, (_, why)| highest.max(why.sum()));
        for (_, why) in ranked.iter_mut().filter(|(c, _)| of_tier(c)) {
            why.scale = 1.0 / highest;
        }
    }
}

/// If one arm finds nothing, the other has the whole weight.
fn weights(has_near: bool, has_words: bool, lexical_share: f64) -> (f64, f64) {
    match (has_near, has_words) {
        (true, true) => (1.0 - lexical_share, lexical_share),
        (true, false) => (1.0, 0.0),
        (false, _) => (0.0, 1.0),
    }
}

/// The lowest signal among the candidates that an arm found; a mere neighbour may be lower.
fn lowest(candidates: &[CandidateSignals], signals: &[f64]) -> f64 {
    let found = candidates.iter().zip(signals).filter(|(c, _)| c.is_found);
    found.map(|(_, signal)| *signal).fold(f64::INFINITY, f64::min)
}

/// Scales from `lowest` (0) to the highest signal (1). If none is above `lowest`: 1 for those that reach it, else 0.
fn normalise(signals: &[f64], lowest: f64) -> Vec<f64> {
    let highest = signals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let spread = highest - lowest;
    signals
        .iter()
        .map(
            |s| {
                if spread > 0.0 {
                    ((s - lowest) / spread).max(0.0)
                } else {
                    f64::from(*s >= lowest)
                }
            },
        )
        .collect()
}

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
        let ranked = weighted(union, Balance::Meaning);
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
    fn a_turn_counts_for_less_than_a_memory_of_the_same_signals() {
        let turn =
            |id, distance, lexical| with(candidate(id, distance, lexical), |c| c.is_turn = true);
        let union = vec![turn(9, Some(0.25), 4.0), candidate(1, Some(0.25), 4.0)];
        assert_eq!(scores(union), [(1, 1.0), (9, TURN_WEIGHT)]);
        // Even among many turns, a weaker memory does not get 0.
        let mut flood: Vec<CandidateSignals> =
            (10..60).map(|id| turn(id, Some(0.25), 4.0)).collect();
        flood.push(candidate(1, Some(0.4), 3.0));
        flood.push(candidate(2, Some(1.2), 0.0));
        let ranked = scores(flood);
        assert_eq!((ranked[0].0, ranked[51]), (1, (2, 0.0)));
        // Alone, turns rank as usual.
        let alone = vec![turn(1, Some(0.5), 0.0), turn(2, Some(0.25), 0.0)];
        assert_eq!(scores(alone)[0], (2, TURN_WEIGHT));
    }

    #[test]
    fn whoever_asks_may_weigh_words_more() {
        let union = || vec![candidate(1, Some(0.0), 0.0), candidate(2, Some(1.0), 1.0)];
        let first = |balance| weighted(union(), balance)[0].0.id.0;
        assert_eq!((first(Balance::Meaning), first(Balance::Words)), (1, 2));
        let even = weighted(union(), Balance::Even);
        assert_eq!((even[0].1.score(), even[1].1.score()), (0.5, 0.5));
    }

    #[test]
    fn what_all_is_unrelated_has_no_meaning_in_common() {
        let meanings = |candidates: Vec<CandidateSignals>| {
            let ranked = weighted(candidates, Balance::Meaning).into_iter();
            let mut ranked: Vec<_> =
                ranked.map(|(c, why)| (c.id.0, why.semantic_normalised)).collect();
            ranked.sort_by_key(|(id, _)| *id);
            ranked
        };
        let turn = |distance| with(candidate(1, distance, 1.0), |c| c.is_turn = true);
        let far = [turn(Some(1.2)), candidate(2, None, 1.0)];
        assert_eq!(meanings(far.to_vec()), [(1, 0.0), (2, 0.0)]);
        let late = |likeness| {
            let late = LateSimilarity { likeness, share: 1.0 };
            move |c: &mut CandidateSignals| c.late = Some(late)
        };
        let unlike =
            [with(turn(Some(0.9)), late(0.05)), with(candidate(2, Some(0.9), 1.0), late(0.01))];
        assert_eq!(meanings(unlike.to_vec()), [(1, 0.0), (2, 0.0)]);
        // The only near one is the nearest; what stands beside it may be farther.
        let beside = with(candidate(2, Some(0.9), 0.0), |c| c.is_found = false);
        let near = [candidate(1, Some(0.5), 1.0), beside];
        assert_eq!(meanings(near.to_vec()), [(1, 1.0), (2, 0.0)]);
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
            for lexical in [0.0, 1e-300, 1e300] {
                let union = vec![candidate(1, Some(distance), lexical), candidate(2, None, 1.0)];
                assert!(scores(union).iter().all(|(_, s)| (0.0..=1.0).contains(s)));
            }
        }
    }

    #[test]
    fn ranks_are_fused_by_their_reciprocals() {
        let fused = reciprocal(&[vec![1, 2, 3], vec![3, 1], vec![9]]);
        let ids: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 3, 9, 2]);
        assert!((fused[0].1 - (1.0 / 61.0 + 1.0 / 62.0)).abs() < 1e-12);
    }

    #[test]
    fn what_the_query_names_counts_a_little() {
        let naming = with(candidate(1, Some(0.0), 1.0), |c| c.entities = 1.0);
        let union = vec![naming, candidate(2, Some(0.0), 1.0)];
        assert_eq!(scores(union), [(1, 1.0), (2, round(1.0 / (1.0 + ENTITY_WEIGHT)))]);
    }
}
