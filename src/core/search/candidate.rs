//! A candidate's ranking signals, and the data of a hit. About a hundred candidates are ranked for ten hits.

use time::OffsetDateTime;

use super::reader::vectors::Direction;
use crate::memories::day::PastState;
use crate::memories::derived::Outdated;
use crate::memories::{
    DocumentPart, EpisodeSpan, ItemId, ItemType, Period, Status, Trust, TurnPosition,
};

/// Factor of the score of what is of another project than the one that is worked on …
pub const OTHER_PROJECT_WEIGHT: f64 = 0.4;
/// … and of what is of that one: its own value stands before the person's of the same name.
pub const PROJECT_WEIGHT: f64 = 1.1;

/// The ranking signals of a candidate.
#[derive(Clone, Debug)]
pub struct CandidateSignals {
    pub id: ItemId,
    pub created_at: OffsetDateTime,
    pub is_turn: bool,
    pub is_episode: bool,
    /// It states nothing ([`crate::memories::chatter`]).
    pub is_chatter: bool,
    /// It is over or has not begun, and the query does not ask for its time.
    pub is_out_of_time: bool,
    /// More than 1 of a project that the query is about, less of another.
    pub project_weight: f64,
    /// The user's own statement or action, if the query uses trust.
    pub is_users_word: bool,
    /// Owned by the searching agent, whose own items rank first.
    pub comes_first: bool,
    /// Belongs to another user, who lends it to the searching agent.
    pub is_lent: bool,
    /// Its best passage's share of the query's words, weighted by rarity; 0 to 1.
    pub lexical: f64,
    pub words_matched: i64,
    pub is_substring: bool,
    /// Has all of the query's rare words that occur in this memory.
    pub has_rare: bool,
    /// The query is words alone, and most of them are rare ones.
    pub asks_rare: bool,
    /// How many of the query's identifiers it has: numbers, addresses, versions, codes.
    pub identifiers: u32,
    /// Cosine distance, 0 to 2, of its nearest passage, corrected for their number. `None` without a ready embedding in the
    /// query's space.
    pub distance: Option<f64>,
    /// Of the distance, on the scale of the model that relevance is fitted for.
    pub cosine: Option<f64>,
    /// How many deviations the distance stands out from those of all texts of this memory.
    pub standing: Option<f64>,
    /// Number of its passages.
    pub passages: usize,
    /// The passage that matches best: by words, else by embedding.
    pub best_passage: usize,
    /// Late interaction ([`super::closer`]).
    pub late: Option<LateSimilarity>,
    /// Among the [`CANDIDATES_MAX`](super::arms::CANDIDATES_MAX) nearest by embedding.
    pub is_near: bool,
    /// Found by an arm; false if it is only the neighbour of such a candidate.
    pub is_found: bool,
    /// Said by a person that the query names, or mentions them in a text without a speaker.
    pub is_of_named: bool,
    /// Share of the query's words in it, weighted by rarity, without names and time words; 0 to 1.
    pub share_of_words: f64,
    /// Whether it is about the subject that the query names; `None` if the query names none.
    pub is_of_subject: Option<bool>,
    /// Its embedding's direction, if the results are diversified.
    pub direction: Option<Direction>,
    /// Closeness to the time that the query names or asks for, 0 to 1; 0 without one.
    pub time: f64,
    /// Share of the query's entities that it mentions, 0 to 1; 0 if entities are not used.
    pub entities: f64,
    /// Turns just before or after, with their distance in steps: 1 to [`STEPS_MAX`](super::arms::neighbours::STEPS_MAX).
    /// One direction only, and only for an arm's first few; for all candidates if late interaction is used.
    pub neighbours: Vec<(ItemId, i64)>,
}

impl CandidateSignals {
    /// Whether it is of another project than those that the query is about.
    pub fn is_of_another_project(&self) -> bool {
        is_of_another_project(self.project_weight)
    }
}

pub(super) fn is_of_another_project(weight: f64) -> bool {
    // Less than of the one that is worked on where others are named.
    weight < 1.0 / PROJECT_WEIGHT
}

/// Similarity to the query by late interaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LateSimilarity {
    /// The mean, over the query's tokens, of the best match among the text's tokens; about 0.8 for the same words.
    pub likeness: f64,
    /// Its share of the semantic signal, less for long texts; the rest is the embedding's.
    pub share: f64,
}

/// The data of a hit: less than a [`MemoryItem`](crate::memories::model::MemoryItem), because each search reads it.
#[derive(Clone, Debug)]
pub struct FoundItem {
    pub id: ItemId,
    pub created_at: OffsetDateTime,
    /// The theme's slug; `None` for turns and document parts.
    pub theme: Option<String>,
    pub item_type: ItemType,
    pub content: String,
    pub tags: Vec<String>,
    /// With expiry applied, even if the item is not archived yet.
    pub status: Status,
    pub key: Option<String>,
    /// Name of the only agent that can see it; `None`: shared.
    pub owner: Option<String>,
    /// Name of the project it was learned of; `None`: it is about the person.
    pub project: Option<String>,
    pub source: String,
    pub trust: Trust,
    /// Name of the agent that added it.
    pub agent: Option<String>,
    pub expires_at: Option<OffsetDateTime>,
    pub period: Period,
    /// Another item superseded it.
    pub is_superseded: bool,
    pub turn: Option<TurnPosition>,
    pub part: Option<DocumentPart>,
    pub span: Option<EpisodeSpan>,
    pub replaced: ReplacedText,
}

/// What a row says of what does not hold any more ([`super::replaced`]).
#[derive(Clone, Debug, Default)]
pub struct ReplacedText {
    pub outdated: Option<Outdated>,
    /// It says what a person or an agent archived.
    pub is_forgotten: bool,
    /// What replaced what it says, and when.
    pub successors: Vec<(ItemId, OffsetDateTime)>,
    /// The memories that it stands on, too, and that hold.
    pub held: Vec<ItemId>,
    /// What may still be told of it, if it is not all.
    pub rest: Option<String>,
}

impl FoundItem {
    pub fn as_then(&mut self, then: PastState) {
        self.status = then.status();
        self.is_superseded = then.state.superseded_by.is_some();
        self.key = self.key.take().filter(|_| then.has_key);
        self.trust = then.state.trust;
        self.tags = then.state.tags;
        self.expires_at = then.state.expires_at;
        self.period = then.state.period;
    }
}

#[cfg(test)]
impl CandidateSignals {
    /// Found by its embedding only, at this distance if there is one.
    pub fn at(id: i64, distance: Option<f64>) -> Self {
        Self {
            id: ItemId(id),
            created_at: OffsetDateTime::UNIX_EPOCH,
            is_turn: false,
            is_episode: false,
            is_chatter: false,
            is_out_of_time: false,
            project_weight: 1.0,
            is_users_word: false,
            comes_first: false,
            is_lent: false,
            lexical: 0.0,
            words_matched: 0,
            is_substring: false,
            asks_rare: false,
            has_rare: false,
            identifiers: 0,
            distance,
            cosine: distance.map(|distance| 1.0 - distance),
            // So that its meaning in common is 1 − distance.
            standing: distance.map(|distance| 4.0 - 5.0 * distance),
            passages: 1,
            best_passage: 0,
            late: None,
            is_near: distance.is_some(),
            is_found: true,
            is_of_named: false,
            entities: 0.0,
            share_of_words: 0.0,
            is_of_subject: None,
            direction: None,
            time: 0.0,
            neighbours: Vec::new(),
        }
    }
}
