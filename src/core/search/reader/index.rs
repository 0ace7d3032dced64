//! The in-memory search index of one user: the sources, an inverted index of their passages' terms, and the embeddings of
//! one space. It only finds candidates; the hits are read from the database under the user's own rights. Rows are added or
//! marked as gone; nothing moves.

use std::collections::{HashMap, HashSet};

use super::numbers::IdNumbers;
use super::owners::OwnerCounts;
use super::vectors::Vectors;
use crate::embedding::EmbeddingState;
use crate::memories::ItemType;
use crate::memories::passages::terms;

/// The passage number in the upper 24 bits, the term's frequency in the low byte.
type Posting = u32;
/// Limit on the passages of one user, by the bits of a posting.
const PASSAGES_MAX: usize = 1 << 24;
/// The term of each text that begins with a speaker ([`crate::memories::speakers`]).
const SAID: &str = ":";
const UNREADY: [EmbeddingState; 2] = [EmbeddingState::Pending, EmbeddingState::Error];

pub fn said() -> u32 {
    terms::number(SAID)
}

/// The term of texts said by this name.
pub fn said_by(name: &str) -> u32 {
    terms::number(&format!("{name}{SAID}"))
}

/// The terms that are looked up for a name.
pub fn terms_of_name(name: &str) -> [u32; 2] {
    [said_by(name), terms::number(name)]
}

/// A source as read from the database.
pub struct SourceRow {
    pub id: i64,
    /// Microseconds since 1970.
    pub created_at: i64,
    /// Microseconds since 1970; `i64::MIN` if archived.
    pub live_until: i64,
    /// Microseconds since 1970; `i64::MIN` if unknown.
    pub valid_from: i64,
    /// Microseconds since 1970; `i64::MAX` if open.
    pub valid_until: i64,
    pub theme: Option<i64>,
    pub agent: Option<i64>,
    /// The only agent that can see it; `None`: shared.
    pub owner: Option<i64>,
    pub project: Option<i64>,
    pub session: Option<i64>,
    pub item_type: ItemType,
    /// The user's own statement or action.
    pub is_users_word: bool,
    /// The state of its embeddings in the space; `None` without a row.
    pub embedding: Option<EmbeddingState>,
    /// Per passage, the terms, ascending, with their frequencies.
    pub passages: Vec<Vec<(u32, u8)>>,
    /// A passage has an embedding.
    pub has_vector: bool,
    /// Embeddings of length 1 with the numbers of their passages, ascending, if embeddings are kept in memory.
    pub vectors: Vec<(u16, Vec<f32>)>,
    /// Hash of the terms and the embeddings, to detect changes.
    pub hash: u64,
}

/// A source in the index.
#[derive(Clone, Debug)]
pub struct IndexedSource {
    pub id: i64,
    pub created_at: i64,
    pub live_until: i64,
    pub valid_from: i64,
    pub valid_until: i64,
    pub theme: Option<u32>,
    pub agent: Option<u32>,
    pub owner: Option<u32>,
    pub project: Option<u32>,
    pub session: Option<u32>,
    pub item_type: ItemType,
    pub is_users_word: bool,
    pub embedding: Option<EmbeddingState>,
    /// Its text begins with a speaker.
    pub is_said: bool,
    /// It states nothing ([`crate::memories::chatter`]).
    pub is_chatter: bool,
    has_vector: bool,
    pub is_gone: bool,
    first_passage: u32,
    passages: u16,
    hash: u64,
}

impl IndexedSource {
    pub fn is_turn(&self) -> bool {
        self.item_type == ItemType::Turn
    }
}

/// Postings by term, each list ascending: the settled ones in one array, later ones per term.
#[derive(Default)]
struct Postings {
    terms: Vec<u32>,
    /// The start of each term's postings in `settled`, and the end of the last.
    begins: Vec<u32>,
    settled: Vec<Posting>,
    since: HashMap<u32, Vec<Posting>>,
    since_count: usize,
    /// Pairs of term and posting from a bulk load, not searchable until settled.
    loaded: Vec<u64>,
}

impl Postings {
    fn of(&self, term: u32) -> impl Iterator<Item = (usize, u8)> {
        let settled = match self.terms.binary_search(&term) {
            Ok(at) => &self.settled[self.begins[at] as usize..self.begins[at + 1] as usize],
            Err(_) => &[],
        };
        let since = self.since.get(&term).map_or(&[][..], Vec::as_slice);
        let read = |posting: &Posting| ((posting >> 8) as usize, posting.to_le_bytes()[0]);
        settled.iter().chain(since).map(read)
    }

    fn push(&mut self, term: u32, passage: usize, count: u8, is_loaded: bool) {
        let posting = (passage as u32) << 8 | u32::from(count);
        if is_loaded {
            return self.loaded.push(both(term, posting));
        }
        self.since.entry(term).or_default().push(posting);
        self.since_count += 1;
    }

    /// Merges everything into the settled array.
    fn settle(&mut self) {
        let mut all = std::mem::take(&mut self.loaded);
        all.reserve_exact(self.settled.len() + self.since_count);
        for (at, term) in self.terms.iter().enumerate() {
            let of_term = self.begins[at] as usize..self.begins[at + 1] as usize;
            all.extend(self.settled[of_term].iter().map(|p| both(*term, *p)));
        }
        for (term, postings) in self.since.drain() {
            all.extend(postings.iter().map(|p| both(term, *p)));
        }
        all.sort_unstable();
        (self.terms, self.begins) = (Vec::new(), Vec::new());
        self.settled = Vec::with_capacity(all.len());
        for entry in &all {
            let term = (entry >> 32) as u32;
            if self.terms.last() != Some(&term) {
                self.terms.push(term);
                self.begins.push(self.settled.len() as u32);
            }
            self.settled.push(*entry as u32);
        }
        self.begins.push(self.settled.len() as u32);
        self.terms.shrink_to_fit();
        self.begins.shrink_to_fit();
        self.since = HashMap::new();
        self.since_count = 0;
    }

    fn bytes(&self) -> usize {
        const SINCE_BYTES_A_POSTING: usize = 40;
        (self.terms.capacity() + self.begins.capacity() + self.settled.capacity()) * 4
            + self.since_count * SINCE_BYTES_A_POSTING
            + self.loaded.capacity() * 8
    }
}

fn both(term: u32, posting: Posting) -> u64 {
    u64::from(term) << 32 | u64::from(posting)
}

#[derive(Default)]
pub struct Index {
    sources: Vec<IndexedSource>,
    /// Length of the prefix of `sources` with ascending ids; the others are in `places`.
    ascending: usize,
    places: HashMap<i64, u32>,
    /// Per passage, its source and its number of terms.
    passages: Vec<(u32, u16)>,
    postings: Postings,
    pub vectors: Vectors,
    /// Memories, then turns, by date and then id, without those that are gone.
    by_date: [Vec<u32>; 2],
    gone: usize,
    pub owners: OwnerCounts,
    /// Sources with a pending embedding, and with one that failed.
    unready: [usize; 2],
    /// Sources with an embedding.
    with_vector: usize,
    /// If set, only these terms have postings.
    terms: Option<HashSet<u32>>,
    pub themes: IdNumbers,
    pub agents: IdNumbers,
    pub projects: IdNumbers,
    sessions: IdNumbers,
}

impl Index {
    /// An index of these terms only, without embeddings: for one search of a memory that is too large to keep.
    pub fn of_terms(terms: HashSet<u32>) -> Self {
        Self { terms: Some(terms), ..Self::default() }
    }

    /// Number of memories or turns.
    pub fn count(&self, is_turn: bool) -> usize {
        self.by_date[usize::from(is_turn)].len()
    }

    /// Numbers of the memories or turns by date and then id, oldest first.
    pub fn by_date(&self, is_turn: bool) -> &[u32] {
        &self.by_date[usize::from(is_turn)]
    }

    pub fn source(&self, number: u32) -> &IndexedSource {
        &self.sources[number as usize]
    }

    /// All sources, including those that are gone.
    pub fn sources(&self) -> &[IndexedSource] {
        &self.sources
    }

    pub fn passages_len(&self) -> usize {
        self.passages.len()
    }

    /// A passage's source and number of terms; `None` if the source is gone.
    pub fn passage(&self, passage: usize) -> Option<(u32, u16)> {
        let (source, terms) = self.passages[passage];
        (!self.source(source).is_gone).then_some((source, terms))
    }

    /// The passages of a source.
    pub fn passages_of(&self, source: u32) -> std::ops::Range<usize> {
        let source = self.source(source);
        let first = source.first_passage as usize;
        first..first + usize::from(source.passages)
    }

    /// Passages with this term and its frequency, including sources that are gone.
    pub fn postings(&self, term: u32) -> impl Iterator<Item = (usize, u8)> {
        self.postings.of(term)
    }

    /// Sources with this term, without duplicates, excluding those that are gone.
    pub fn sources_with(&self, term: u32) -> impl Iterator<Item = u32> {
        let mut last = None;
        let passages = self.postings(term).filter_map(|(passage, _)| self.passage(passage));
        let sources = passages.map(|(source, _)| source);
        sources.filter(move |source| last.replace(*source) != Some(*source))
    }

    /// The number of the source with this id.
    pub fn find(&self, id: i64) -> Option<u32> {
        let ascending = &self.sources[..self.ascending];
        let number = match ascending.binary_search_by_key(&id, |s| s.id) {
            // It may have been removed and added again.
            Ok(at) if !ascending[at].is_gone => at as u32,
            _ => *self.places.get(&id)?,
        };
        (!self.source(number).is_gone).then_some(number)
    }

    /// Adds sources with higher ids than all others, in bulk. They are searchable after [`Self::settle`]. Returns false if
    /// there are too many passages.
    pub fn load(&mut self, rows: Vec<SourceRow>) -> bool {
        rows.into_iter().all(|row| self.push(row, true))
    }

    /// Adds or replaces a source. Returns false if there are too many passages.
    pub fn put(&mut self, row: SourceRow) -> bool {
        if let Some(number) = self.find(row.id) {
            let (theme, owner) = (self.theme(row.theme), self.agent(row.owner));
            let project = row.project.map(|id| self.projects.number(id));
            let known = &mut self.sources[number as usize];
            if known.hash == row.hash && known.created_at == row.created_at {
                for (count, state) in self.unready.iter_mut().zip(UNREADY) {
                    *count -= usize::from(known.embedding == Some(state));
                    *count += usize::from(row.embedding == Some(state));
                }
                known.theme = theme;
                known.project = project;
                self.owners.remove(known.owner, known.is_turn());
                known.owner = owner;
                self.owners.add(owner, known.is_turn());
                known.live_until = row.live_until;
                known.valid_from = row.valid_from;
                known.valid_until = row.valid_until;
                known.item_type = row.item_type;
                known.is_users_word = row.is_users_word;
                known.embedding = row.embedding;
                return true;
            }
            self.remove(row.id);
        }
        self.push(row, false)
    }

    fn push(&mut self, row: SourceRow, is_loaded: bool) -> bool {
        if self.passages.len() + row.passages.len() > PASSAGES_MAX {
            return false;
        }
        let number = self.sources.len() as u32;
        let first = row.passages.first();
        let has = |mark: u32| {
            first.is_some_and(|terms| terms.binary_search_by_key(&mark, |(term, _)| *term).is_ok())
        };
        let (is_said, is_chatter) = (has(said()), has(terms::chatter()));
        let first_passage = self.passages.len() as u32;
        for terms in &row.passages {
            let passage = self.passages.len();
            let is_kept = |term: &u32| self.terms.as_ref().is_none_or(|kept| kept.contains(term));
            for (term, count) in terms.iter().filter(|(term, _)| is_kept(term)) {
                self.postings.push(*term, passage, *count, is_loaded);
            }
            let terms = u16::try_from(terms.len()).unwrap_or(u16::MAX);
            self.passages.push((number, terms));
        }
        for (n, vector) in &row.vectors {
            if usize::from(*n) < row.passages.len() {
                self.vectors.push(first_passage + u32::from(*n), vector);
            }
        }
        let source = IndexedSource {
            id: row.id,
            created_at: row.created_at,
            live_until: row.live_until,
            valid_from: row.valid_from,
            valid_until: row.valid_until,
            theme: self.theme(row.theme),
            agent: self.agent(row.agent),
            owner: self.agent(row.owner),
            project: row.project.map(|id| self.projects.number(id)),
            session: row.session.map(|id| self.sessions.number(id)),
            item_type: row.item_type,
            is_users_word: row.is_users_word,
            embedding: row.embedding,
            is_said,
            is_chatter,
            has_vector: row.has_vector,
            is_gone: false,
            first_passage,
            passages: row.passages.len() as u16,
            hash: row.hash,
        };
        let ascends = self.ascending == self.sources.len()
            && self.sources.last().is_none_or(|last| last.id < row.id);
        match ascends {
            true => self.ascending += 1,
            false => drop(self.places.insert(row.id, number)),
        }
        let is_turn = usize::from(source.is_turn());
        for (count, state) in self.unready.iter_mut().zip(UNREADY) {
            *count += usize::from(source.embedding == Some(state));
        }
        self.with_vector += usize::from(source.has_vector);
        self.owners.add(source.owner, source.is_turn());
        self.sources.push(source);
        let at = match is_loaded {
            true => self.by_date[is_turn].len(),
            false => self.place_by_date(is_turn, number),
        };
        self.by_date[is_turn].insert(at, number);
        true
    }

    fn theme(&mut self, id: Option<i64>) -> Option<u32> {
        id.map(|id| self.themes.number(id))
    }

    fn agent(&mut self, id: Option<i64>) -> Option<u32> {
        id.map(|id| self.agents.number(id))
    }

    /// Its position by date, or where it would be inserted.
    fn place_by_date(&self, is_turn: usize, number: u32) -> usize {
        let key = |number: u32| (self.source(number).created_at, self.source(number).id);
        self.by_date[is_turn].partition_point(|other| key(*other) < key(number))
    }

    /// Its position by date within its tier.
    pub fn place(&self, number: u32) -> usize {
        self.place_by_date(usize::from(self.source(number).is_turn()), number)
    }

    pub fn remove(&mut self, id: i64) {
        let Some(number) = self.find(id) else { return };
        let is_turn = usize::from(self.source(number).is_turn());
        let at = self.place_by_date(is_turn, number);
        self.by_date[is_turn].remove(at);
        let embedding = self.source(number).embedding;
        for (count, state) in self.unready.iter_mut().zip(UNREADY) {
            *count -= usize::from(embedding == Some(state));
        }
        self.with_vector -= usize::from(self.source(number).has_vector);
        let source = &mut self.sources[number as usize];
        self.owners.remove(source.owner, source.is_turn());
        source.is_gone = true;
        self.vectors.remove(self.passages_of(number));
        self.places.remove(&id);
        self.gone += 1;
    }

    /// Whether any source has an embedding.
    pub fn has_vectors(&self) -> bool {
        self.with_vector > 0
    }

    /// Of the seen sources, how many wait for an embedding (without a space, all) and how many failed.
    pub fn unready(&self, is_seen: impl Fn(&IndexedSource) -> bool, has_space: bool) -> [usize; 2] {
        let seen = || self.sources.iter().filter(|source| !source.is_gone && is_seen(source));
        match (has_space, self.unready) {
            (false, _) => [seen().count(), 0],
            (true, [0, 0]) => [0; 2],
            (true, _) => UNREADY.map(|state| seen().filter(|s| s.embedding == Some(state)).count()),
        }
    }

    /// Whether so many sources are gone that a rebuild is better.
    pub fn needs_rebuild(&self) -> bool {
        const GONE_MIN: usize = 256;
        self.gone > GONE_MIN.max(self.sources.len() / 4)
    }

    /// Merges what was added and sorts by date. Call after bulk additions.
    pub fn settle(&mut self) {
        self.postings.settle();
        self.sources.shrink_to_fit();
        self.passages.shrink_to_fit();
        let sources = &self.sources;
        for by_date in &mut self.by_date {
            let key =
                |number: &u32| (sources[*number as usize].created_at, sources[*number as usize].id);
            by_date.sort_by_key(key);
            by_date.shrink_to_fit();
        }
        self.vectors.settle();
    }

    /// Whether enough was added to make settling worthwhile.
    pub fn is_unsettled(&self) -> bool {
        const SINCE_MIN: usize = 4_096;
        self.postings.since_count > SINCE_MIN.max(self.postings.settled.len() / 4)
    }

    /// Approximate size in memory.
    pub fn bytes(&self) -> usize {
        const BYTES_A_NAME: usize = 24;
        let names =
            self.themes.len() + self.agents.len() + self.projects.len() + self.sessions.len();
        size_of::<Self>()
            + self.sources.capacity() * size_of::<IndexedSource>()
            + (names + self.places.len()) * BYTES_A_NAME
            + self.passages.capacity() * size_of::<(u32, u16)>()
            + self.by_date.iter().map(Vec::capacity).sum::<usize>() * size_of::<u32>()
            + self.postings.bytes()
            + self.vectors.bytes()
    }
}

#[cfg(test)]
impl SourceRow {
    /// A fact of one passage, so many seconds after 1970.
    pub fn of(id: i64, text: &str) -> Self {
        let bytes = terms::of(text, None, &[]);
        Self {
            id,
            created_at: id * 1_000_000,
            live_until: i64::MAX,
            valid_from: i64::MIN,
            valid_until: i64::MAX,
            theme: Some(7),
            agent: None,
            owner: None,
            project: None,
            session: None,
            item_type: ItemType::Fact,
            is_users_word: false,
            embedding: None,
            passages: vec![terms::read(&bytes).unwrap_or_default()],
            has_vector: false,
            vectors: Vec::new(),
            hash: u64::from(crc32fast::hash(&bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids_with(index: &Index, word: &str) -> Vec<i64> {
        let sources = index.sources_with(terms::number(word));
        sources.map(|n| index.source(n).id).collect()
    }

    fn ids_by_date(index: &Index) -> Vec<i64> {
        let by_date = index.by_date(false).iter();
        by_date.map(|n| index.source(*n).id).collect()
    }

    #[test]
    fn what_is_put_in_is_found_by_its_terms_before_and_after_it_is_settled() {
        let mut index = Index::default();
        for (id, text) in [(1, "bees and tea"), (2, "tea"), (5, "bees")] {
            assert!(index.put(SourceRow::of(id, text)));
        }
        index.settle();
        index.put(SourceRow::of(3, "tea again"));
        for _ in 0..2 {
            assert_eq!(ids_with(&index, "tea"), [1, 2, 3]);
            assert_eq!(ids_with(&index, "bees"), [1, 5]);
            assert_eq!(ids_by_date(&index), [1, 2, 3, 5]);
            assert_eq!(index.find(3).map(|n| index.source(n).id), Some(3));
            assert_eq!(index.find(4), None);
            index.settle();
        }
    }

    #[test]
    fn what_changes_takes_the_place_of_what_was_there() {
        let mut index = Index::default();
        index.put(SourceRow::of(1, "tea"));
        index.put(SourceRow::of(2, "tea"));
        // Same words, other dates: the row stays.
        let archived = SourceRow { live_until: i64::MIN, ..SourceRow::of(1, "tea") };
        index.put(archived);
        assert_eq!((index.sources().len(), index.find(1)), (2, Some(0)));
        assert_eq!(index.source(0).live_until, i64::MIN);
        index.put(SourceRow::of(1, "coffee"));
        assert_eq!((ids_with(&index, "tea"), ids_with(&index, "coffee")), (vec![2], vec![1]));
        index.remove(2);
        index.remove(2);
        index.remove(99);
        assert_eq!((index.count(false), ids_by_date(&index)), (1, vec![1]));
        assert_eq!(ids_with(&index, "tea"), [0_i64; 0]);
        assert_eq!(index.find(2), None);
        // Added again.
        index.put(SourceRow::of(2, "tea"));
        assert_eq!(ids_with(&index, "tea"), [2]);
    }

    #[test]
    fn it_is_worn_once_much_is_gone() {
        let mut index = Index::default();
        for id in 0..400 {
            index.put(SourceRow::of(id, "tea"));
        }
        for id in 0..300 {
            assert_eq!(index.needs_rebuild(), id > 256, "{id}");
            index.remove(id);
        }
    }
}
