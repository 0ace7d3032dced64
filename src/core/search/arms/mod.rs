//! The arms (retrievers) of a search: pure functions over an [`Index`], one per file. Memories and turns are two tiers with
//! separate limits, so that neither crowds out the other.

pub mod entity;
pub mod lexical;
pub mod neighbours;
mod project_weights;
pub mod recent;
mod run;
pub mod scanned;
pub mod semantic;
pub mod speakers;
pub mod when;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use self::project_weights::ProjectWeights;
pub use self::run::ArmQuery;
use self::when::TimeRange;
use super::candidate::{CandidateSignals, is_of_another_project};
use super::query::Filters;
use super::reader::index::{Index, IndexedSource};
use super::reader::seen::{SeenSources, ViewerScope};
use super::reader::vectors;
use crate::memories::passages::terms;
use crate::memories::words::Term;
use crate::memories::{ItemId, ItemType, Status};

/// Limit per arm and tier (Nova's K).
pub const CANDIDATES_MAX: usize = 50;

/// Microseconds since 1970.
pub fn micros(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000).unwrap_or(i64::MAX)
}

/// The required status of a source.
enum RequiredStatus {
    Any,
    Now(Status),
    /// On a past day: these memories, and turns said by this time and not deleted.
    Then(Arc<HashSet<i64>>, i64),
}

/// Which sources a search may return, regardless of the text.
pub struct SourceFilter {
    /// Memories, then turns.
    pub tiers: [bool; 2],
    theme: Option<Option<u32>>,
    types: Vec<ItemType>,
    standing: RequiredStatus,
    since: i64,
    filters: Filters,
    /// Added by this agent; the inner `None` is an agent without sources.
    agent: Option<Option<u32>>,
    pub seen: SeenSources,
    /// The agent whose own sources rank first.
    own_first: Option<u32>,
    /// The projects that are meant, in the numbers of the index, and the weights of their sources.
    projects: Option<ProjectWeights>,
    /// Sources from this time rank higher.
    time: Option<TimeRange>,
    now: i64,
    /// The day that is asked about.
    day: i64,
}

impl SourceFilter {
    /// `with_turns`: the user's setting.
    pub fn new(
        index: &Index,
        filters: &Filters,
        theme: Option<i64>,
        with_turns: bool,
        scope: ViewerScope,
        now: OffsetDateTime,
    ) -> Self {
        let seen = SeenSources::of(index, scope);
        let known = filters.day.as_of.unwrap_or(now);
        let since = filters.recency_days.map(|days| known - Duration::days(days));
        let of_items = filters.types.iter().filter(|t| **t != ItemType::Turn);
        Self {
            tiers: [filters.wants_items(), filters.wants_turns() && with_turns],
            // The inner `None` is a theme without sources.
            theme: filters.theme.as_ref().map(|_| theme.and_then(|id| index.themes.of(id))),
            types: of_items.copied().collect(),
            standing: match (&filters.on_day, filters.status) {
                (Some(ids), _) => RequiredStatus::Then(Arc::clone(ids), micros(known)),
                (None, Some(status)) => RequiredStatus::Now(status),
                (None, None) => RequiredStatus::Any,
            },
            since: since.map_or(i64::MIN, micros),
            filters: filters.clone(),
            agent: filters.agent.map(|id| index.agents.of(id)),
            own_first: seen.own().filter(|_| scope.is_own_first),
            seen,
            projects: filters.projects.as_ref().map(|meant| ProjectWeights::of(index, meant)),
            time: filters.time.map(TimeRange::of),
            now: micros(now),
            day: micros(filters.day.at.unwrap_or(known)),
        }
    }

    pub fn has(&self, source: &IndexedSource) -> bool {
        let is_turn = source.is_turn();
        let is_of_theme = self.theme.is_none_or(|theme| theme.is_some() && source.theme == theme);
        let is_of_type = is_turn || self.types.is_empty() || self.types.contains(&source.item_type);
        let is_memory = source.item_type.is_memory();
        let is_of_agent = self.agent.is_none_or(|agent| agent.is_some() && source.agent == agent);
        self.tiers[usize::from(is_turn)]
            && self.seen.has(source)
            && is_of_theme
            && is_of_agent
            && is_of_type
            && (is_memory || !self.filters.memories_alone)
            && match &self.standing {
                RequiredStatus::Any => true,
                RequiredStatus::Now(status) => {
                    (source.live_until > self.now) == (*status == Status::Active)
                }
                RequiredStatus::Then(ids, at) => match is_turn {
                    true => source.created_at <= *at && source.live_until > *at,
                    false => ids.contains(&source.id),
                },
            }
            && source.created_at >= self.since
            && self.filters.except.is_none_or(|one| one.0 != source.id)
            && (self.filters.tagged.as_ref()).is_none_or(|ids| !is_turn && ids.contains(&source.id))
            && self.filters.embedding.is_none_or(|state| source.embedding == Some(state))
    }

    fn brings_neighbours(&self) -> bool {
        self.filters.ingredients.neighbours
    }

    /// Whether it belongs to the searching agent, whose own sources rank first.
    pub fn comes_first(&self, source: &IndexedSource) -> bool {
        self.own_first.is_some() && source.owner == self.own_first
    }

    /// See [`CandidateSignals::project_weight`].
    fn project_weight(&self, source: &IndexedSource) -> f64 {
        let weights = self.projects.as_ref().zip(source.project);
        weights.map_or(1.0, |(weights, project)| weights.weight(project))
    }

    /// See [`CandidateSignals::is_of_another_project`].
    fn is_of_another(&self, source: &IndexedSource) -> bool {
        is_of_another_project(self.project_weight(source))
    }

    /// Whether it is over or has not begun, and the query asks for no time at which it held.
    fn is_out_of_time(&self, source: &IndexedSource) -> bool {
        let is_over = source.valid_until <= self.day;
        let is_asked_for = self.time.is_some_and(|time| time.has_period_of(source))
            || is_over && self.filters.asks_past;
        (is_over || source.valid_from > self.day) && !is_asked_for
    }

    /// Like [`Self::has`], for a listing by date: other sources than memories only if requested by type.
    pub fn lists(&self, source: &IndexedSource) -> bool {
        let is_memory = source.item_type.is_memory();
        self.has(source)
            && self.time.is_none_or(|time| time.has(source))
            && (is_memory || self.types.contains(&source.item_type))
    }

    /// Per source of the index: wanted and not deleted.
    pub fn mask(&self, index: &Index) -> Vec<bool> {
        let sources = index.sources().iter();
        sources.map(|s| !s.is_gone && self.has(s)).collect()
    }
}

/// The query, as input of the arms.
pub struct ArmInput<'a> {
    pub terms: &'a [Term],
    /// The query is these words alone, and no sentence.
    pub is_bare: bool,
    /// In the index's space.
    pub vector: Option<&'a vectors::PreparedQuery>,
    /// See [`crate::embedding::QueryVector::is_fitted`].
    pub is_fitted: bool,
    /// Capitalized words of the query …
    pub names: &'a [String],
    /// … and those that speak in this memory.
    pub speakers: &'a [String],
    /// Words that only express a time.
    pub times: &'a [String],
    /// If no word matches: ids of sources that contain fragments of the query, with the number of fragments …
    pub containing: &'a [(i64, i64)],
    /// … of so many.
    pub fragments: usize,
    /// Neighbours count for all candidates, not only for the first.
    pub with_context: bool,
    /// Ids of sources that mention the query's entities, with their weights, 0 to 1, best first.
    pub naming: &'a [(i64, f64)],
}

/// What the arms found.
pub struct Found {
    /// The union of all arms' candidates and the neighbours of their first, unordered.
    pub candidates: Vec<CandidateSignals>,
    /// Any word matches.
    pub has_words: bool,
    /// Weights of the query's words by rarity; 0 for those that do not occur.
    pub weights: Vec<f64>,
}

pub fn candidates(index: &Index, asked: &ArmInput<'_>, wanted: &SourceFilter) -> Found {
    let mask = wanted.mask(index);
    let seen = &wanted.seen;
    let subjects = speakers::subjects(index, seen, asked.names, asked.speakers);
    let left_out = subjects.iter().map(String::as_str).chain(times(asked.terms, asked.times));
    let left_out = left_out.map(terms::number).collect();
    let scored = lexical::score(index, seen, asked.terms, &left_out, wanted.tiers);
    let mut by_words = scored.best(index, &mask);
    let containing = containing(index, asked.containing, &mask);
    let meaning = asked.vector.map(|vector| semantic::Asked::of(index, seen, vector));
    let nearest = |mask: &[bool]| match &meaning {
        Some(meaning) => meaning.nearest(index, mask, wanted.tiers),
        None => Vec::new(),
    };
    let mut near = nearest(&mask);
    // The best of all times may all be outside the requested time, so that time is searched separately as well.
    let then = wanted.time.map(|time| when::mask(index, &mask, time));
    if let Some(then) = &then {
        add_to(&mut by_words, scored.best(index, then));
        add_to(&mut near, nearest(then));
    }
    // What other projects say alike may fill the places of what is known here.
    if wanted.projects.as_ref().is_some_and(|weights| weights.of_others < 1.0) {
        let of_others = |n: usize| wanted.is_of_another(index.source(n as u32));
        let here = mask.iter().enumerate().map(|(n, is_wanted)| *is_wanted && !of_others(n));
        let here: Vec<bool> = here.collect();
        add_to(&mut by_words, scored.best(index, &here));
        add_to(&mut near, nearest(&here));
    }
    let time_tells = then.map_or(0.0, |then| when::telling(&mask, &then));
    let has_words = !by_words.is_empty();
    let of_words: Vec<u32> =
        by_words.into_iter().chain(containing.iter().map(|(n, _)| *n)).collect();
    let containing: HashMap<u32, i64> = containing.into_iter().collect();
    let mut bringing = first_of_tiers(index, &near);
    if !near.is_empty() {
        bringing.extend(first_of_tiers(index, &of_words));
    }
    bringing.sort_unstable();
    bringing.dedup();
    let beside = match wanted.brings_neighbours() {
        true => neighbours::beside(index, wanted, &bringing),
        false => Vec::new(),
    };
    let near: HashSet<u32> = near.into_iter().collect();
    let naming = naming(index, asked.naming, &mask);
    let found: HashSet<u32> =
        near.iter().copied().chain(of_words).chain(naming.keys().copied()).collect();
    let all: HashSet<u32> = found.iter().copied().chain(beside.iter().map(|b| b.source)).collect();
    let of_named = speakers::of_named(index, asked.speakers, &all);
    let of_subjects = speakers::of_named(index, &subjects, &all);
    let beside = match asked.with_context && wanted.brings_neighbours() {
        true => neighbours::beside(index, wanted, &all.iter().copied().collect::<Vec<_>>()),
        false => beside,
    };
    let mut neighbours_of: HashMap<u32, Vec<(ItemId, i64)>> = HashMap::new();
    for beside in &beside {
        let neighbour = (ItemId(index.source(beside.source).id), beside.steps as i64);
        neighbours_of.entry(beside.of).or_default().push(neighbour);
    }
    let mut signals = |number: &u32| {
        let source = index.source(*number);
        let words = scored.of(index, *number);
        let substrings = containing.get(number);
        let nearness = meaning.as_ref().and_then(|meaning| meaning.nearness(index, *number));
        let distance = nearness.map(|near| f64::from(near.distance));
        let passages = index.passages_of(*number);
        let best_passage = match (words.words, nearness) {
            (0, Some(near)) => near.passage as usize - passages.start,
            _ => words.passage,
        };
        CandidateSignals {
            id: ItemId(source.id),
            created_at: time_of(source.created_at),
            is_episode: source.item_type == ItemType::Episode,
            is_turn: source.is_turn(),
            is_chatter: source.is_chatter,
            is_out_of_time: wanted.is_out_of_time(source),
            project_weight: wanted.project_weight(source),
            is_users_word: source.is_users_word && wanted.filters.ingredients.trust,
            comes_first: wanted.comes_first(source),
            is_lent: false,
            lexical: match substrings {
                Some(pieces) => (*pieces as f64 / asked.fragments.max(1) as f64).min(1.0),
                None => words.share,
            },
            words_matched: i64::from(words.words),
            is_substring: substrings.is_some(),
            asks_rare: scored.asks_rare && asked.is_bare,
            has_rare: words.has_rare,
            identifiers: words.identifiers,
            distance,
            cosine: distance.zip(meaning.as_ref()).map(|(distance, meaning)| {
                match asked.is_fitted {
                    true => 1.0 - distance,
                    false => meaning.spread.as_fitted(distance),
                }
            }),
            standing: distance.zip(meaning.as_ref()).map(|(d, meaning)| meaning.spread.standing(d)),
            passages: passages.len(),
            best_passage,
            late: None,
            is_near: near.contains(number),
            is_found: found.contains(number),
            is_of_named: of_named.contains(number),
            share_of_words: words.telling_share,
            is_of_subject: (!subjects.is_empty()).then(|| of_subjects.contains(number)),
            entities: naming.get(number).copied().unwrap_or_default(),
            direction: match wanted.filters.spread {
                true => index.vectors.direction(passages.clone()),
                false => None,
            },
            time: wanted.time.map_or(0.0, |time| time_tells * time.closeness(source)),
            neighbours: neighbours_of.remove(number).unwrap_or_default(),
        }
    };
    let candidates = all.iter().map(&mut signals).collect();
    Found { candidates, has_words, weights: scored.word_weights() }
}

/// The words of the query that only express a time, written-out dates among them; a long number is none.
fn times<'a>(asked: &'a [Term], times: &'a [String]) -> impl Iterator<Item = &'a str> {
    const YEAR_DIGITS: usize = 4;
    fn pieces(word: &str) -> impl Iterator<Item = &str> {
        word.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty())
    }
    let is_time = |piece: &str| {
        let is_number = piece.bytes().all(|b| b.is_ascii_digit());
        let is_long = is_number && piece.len() > YEAR_DIGITS;
        !is_long && times.iter().any(|time| pieces(time).any(|of_time| of_time == piece))
    };
    let words = asked.iter().filter_map(|term| term.alternatives.first());
    // An emoji has no pieces, and is no time.
    words
        .map(String::as_str)
        .filter(move |word| pieces(word).next().is_some() && pieces(word).all(is_time))
}

/// Appends the results of a second search, without duplicates.
fn add_to(found: &mut Vec<u32>, more: Vec<u32>) {
    let known: HashSet<u32> = found.iter().copied().collect();
    found.extend(more.into_iter().filter(|source| !known.contains(source)));
}

/// From microseconds since 1970.
pub fn time_of(micros: i64) -> OffsetDateTime {
    let nanos = i128::from(micros) * 1_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// The first few of each tier; `found` is best first.
fn first_of_tiers(index: &Index, found: &[u32]) -> Vec<u32> {
    let of_tier = |is_turn: bool| {
        found.iter().copied().filter(move |n| index.source(*n).is_turn() == is_turn)
    };
    let first = of_tier(false).take(neighbours::BRINGING);
    first.chain(of_tier(true).take(neighbours::BRINGING)).collect()
}

/// Wanted sources that mention the query's entities, up to the limit per tier.
fn naming(index: &Index, found: &[(i64, f64)], mask: &[bool]) -> HashMap<u32, f64> {
    let mut counts = [0; 2];
    let mut kept = HashMap::new();
    for (id, weight) in found {
        let Some(number) = index.find(*id).filter(|number| mask[*number as usize]) else {
            continue;
        };
        let count = &mut counts[usize::from(index.source(number).is_turn())];
        *count += 1;
        if *count <= CANDIDATES_MAX {
            kept.insert(number, *weight);
        }
    }
    kept
}

/// Wanted sources that contain fragments of the query, up to the limit per tier.
fn containing(index: &Index, found: &[(i64, i64)], mask: &[bool]) -> Vec<(u32, i64)> {
    let numbers = found.iter().filter_map(|(id, pieces)| Some((index.find(*id)?, *pieces)));
    let wanted: Vec<(u32, i64)> = numbers.filter(|(number, _)| mask[*number as usize]).collect();
    let of_tier = |is_turn: bool| {
        wanted.iter().copied().filter(move |(n, _)| index.source(*n).is_turn() == is_turn)
    };
    of_tier(false).take(CANDIDATES_MAX).chain(of_tier(true).take(CANDIDATES_MAX)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::embedding::{EmbeddingState, Vector};
    use crate::memories::words::query_terms;
    use crate::search::reader::index::SourceRow;

    /// Ids from 1; dates one second apart, from 1970.
    pub fn index_of(texts: &[&str]) -> Index {
        let mut index = Index::default();
        for (id, text) in (1..).zip(texts) {
            index.put(row(id, text));
        }
        index.settle();
        index
    }

    pub fn row(id: i64, text: &str) -> SourceRow {
        SourceRow { embedding: Some(EmbeddingState::Pending), ..SourceRow::of(id, text) }
    }

    pub fn turn(id: i64, text: &str) -> SourceRow {
        SourceRow { theme: None, session: Some(1), item_type: ItemType::Turn, ..row(id, text) }
    }

    pub const ALL: ViewerScope =
        ViewerScope { agent: None, sees_shared: true, sees_turns: true, is_own_first: false };

    pub fn wanted(index: &Index, filters: Filters) -> SourceFilter {
        let now = OffsetDateTime::UNIX_EPOCH;
        SourceFilter::new(index, &filters, Some(7), true, ALL, now)
    }

    fn ids_wanted(index: &Index, filters: Filters) -> Vec<i64> {
        let mask = wanted(index, filters).mask(index);
        let numbers = (0..).zip(&mask).filter(|(_, is_wanted)| **is_wanted);
        numbers.map(|(n, _)| index.source(n).id).collect()
    }

    #[test]
    fn words_that_only_express_a_time_are_left_out_and_an_emoji_is_none() {
        let of = |query: &str, of_time: &[&str]| -> Vec<String> {
            let of_time: Vec<String> = of_time.iter().map(|word| (*word).to_owned()).collect();
            times(&query_terms(query), &of_time).map(str::to_owned).collect()
        };
        assert_eq!(of("lunch 🎂 on 2023-05-07", &["2023-05-07"]), ["2023-05-07", "2023"]);
        assert_eq!(of("🎂", &["may"]), [""; 0]);
    }

    #[test]
    fn filters_let_through_what_they_say() {
        let mut index = index_of(&["a", "b", "c"]);
        index.put(SourceRow { live_until: i64::MIN, ..row(4, "archived") });
        index.put(SourceRow { theme: Some(8), ..row(5, "elsewhere") });
        index.put(SourceRow { item_type: ItemType::Preference, ..row(6, "tea") });
        index.put(SourceRow { embedding: Some(EmbeddingState::Error), ..row(7, "d") });
        index.put(turn(8, "said"));
        index.remove(1);
        let active = Filters { status: Some(Status::Active), ..Filters::default() };
        assert_eq!(ids_wanted(&index, active.clone()), [2, 3, 5, 6, 7, 8]);
        let archived = Filters { status: Some(Status::Archived), ..Filters::default() };
        assert_eq!(ids_wanted(&index, archived), [4]);
        let types = vec![ItemType::Preference, ItemType::Turn];
        assert_eq!(ids_wanted(&index, Filters { types, ..active.clone() }), [6, 8]);
        let failed = Some(EmbeddingState::Error);
        assert_eq!(ids_wanted(&index, Filters { embedding: failed, ..active.clone() }), [7]);
        assert_eq!(ids_wanted(&index, Filters { memories_alone: true, ..active }), [2, 3, 5, 6, 7]);
    }

    fn asked(terms: &[Term]) -> ArmInput<'_> {
        ArmInput {
            terms,
            is_bare: true,
            vector: None,
            is_fitted: true,
            speakers: &[],
            containing: &[],
            fragments: 0,
            naming: &[],
            with_context: false,
            times: &[],
            names: &[],
        }
    }

    #[test]
    fn the_union_has_both_signals_of_what_either_arm_finds() {
        let vector =
            |values: &[f32]| Vector::from_answer(values).expect("a vector").values().to_vec();
        let mut index = Index::default();
        let near = SourceRow { vectors: vec![(0, vector(&[1.0, 0.1]))], ..row(1, "honey") };
        index.put(SourceRow { hash: 1, ..near });
        let far = SourceRow { vectors: vec![(0, vector(&[0.1, 1.0]))], ..row(2, "bees") };
        index.put(SourceRow { hash: 2, ..far });
        index.put(row(3, "bees without a vector"));
        let asked_vector = vectors::PreparedQuery::new(&vector(&[1.0, 0.0]));
        let terms = query_terms("bees");
        let asked = ArmInput { vector: Some(&asked_vector), ..asked(&terms) };
        let all = wanted(&index, Filters::default());
        let Found { candidates: mut found, has_words, .. } = candidates(&index, &asked, &all);
        found.sort_by_key(|c| c.id.0);
        assert!(has_words);
        assert_eq!(found.iter().map(|c| c.id.0).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(found.iter().map(|c| c.words_matched).collect::<Vec<_>>(), [0, 1, 1]);
        let distances: Vec<bool> = found.iter().map(|c| c.distance.is_some()).collect();
        assert_eq!(distances, [true, true, false]);
        assert!(found[0].distance < found[1].distance);
        assert!(found.iter().all(|c| c.is_found));
    }

    #[test]
    fn where_no_word_is_found_pieces_of_texts_are() {
        let index = index_of(&["unbelievable", "tea"]);
        let terms = query_terms("believ");
        let asked = ArmInput { containing: &[(1, 1), (99, 1)], fragments: 1, ..asked(&terms) };
        let all = wanted(&index, Filters::default());
        let Found { candidates: found, has_words, .. } = candidates(&index, &asked, &all);
        assert!(!has_words);
        assert_eq!(found.len(), 1);
        assert!(found[0].is_substring && found[0].id.0 == 1);
    }
}
