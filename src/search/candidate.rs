//! What the ranking is made of, and what a hit shows. Some hundred are ranked for ten that are shown.

use time::OffsetDateTime;

use super::reader::vectors::Direction;
use crate::memories::day::Then;
use crate::memories::{ItemId, ItemType, Part, Period, Span, Status, Trust, Turn};

/// What the ranking is made of.
#[derive(Clone, Debug)]
pub struct Signals {
    pub id: ItemId,
    pub created_at: OffsetDateTime,
    pub is_turn: bool,
    pub is_episode: bool,
    /// What the user said or did themselves, where that counts.
    pub is_users_word: bool,
    /// It belongs to the agent that asks, whose own comes first.
    pub comes_first: bool,
    /// It is somebody else's, who lends it to the agent that asks.
    pub is_lent: bool,
    /// Σ idf · ts_rank over the words that matched, over log length; 0 where none did.
    pub lexical: f64,
    pub words_matched: i64,
    pub is_substring: bool,
    /// Cosine distance, 0 to 2, of its first passage or, where it has several, half of that and half of their mean; `None`
    /// without a ready vector in the query's space.
    pub distance: Option<f64>,
    /// Passages of its text.
    pub passages: usize,
    /// Token by token ([`super::closer`]).
    pub late: Option<Late>,
    /// Among the [`CANDIDATES_MAX`](super::arms::CANDIDATES_MAX) nearest.
    pub is_near: bool,
    /// By an arm, and not only as somebody's neighbour.
    pub is_found: bool,
    /// Said by whom the query names, or naming them where nobody is said to speak.
    pub is_of_named: bool,
    /// How much of the query's words it has, by how rare these are, names and words of time left out; 0 to 1.
    pub share_of_words: f64,
    /// It is of whom the query names and the memory is about; `None` where nobody is named.
    pub is_of_subject: Option<bool>,
    /// Where its vector points, where the first are to be of many sides.
    pub direction: Option<Direction>,
    /// How near it is to the time that the query names or asks for, 0 to 1; 0 where there is none.
    pub time: f64,
    /// How much of what the query names it mentions, 0 to 1; 0 where that is not asked for.
    pub entities: f64,
    /// What was said just before or after, and how many steps away: 1 to [`STEPS_MAX`](super::arms::neighbours::STEPS_MAX).
    /// Of an arm's first few alone, and not once more of the neighbour; of all where texts are compared token by token.
    pub neighbours: Vec<(ItemId, i64)>,
}

/// How near a text is to the query by late interaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Late {
    /// The mean over the query's tokens of the best that a token of the text has in common with it; 0.8 for the same words.
    pub likeness: f64,
    /// How much of the semantic signal it is; the rest is the vectors'. Less for long texts.
    pub share: f64,
}

/// What a hit shows of its item.
#[derive(Clone, Debug)]
pub struct FoundItem {
    pub id: ItemId,
    pub created_at: OffsetDateTime,
    /// By slug; a turn has none, nor a part of a document.
    pub theme: Option<String>,
    pub item_type: ItemType,
    pub content: String,
    pub tags: Vec<String>,
    /// What has expired is as good as archived.
    pub status: Status,
    pub key: Option<String>,
    /// The agent that alone it belongs to, by name; `None`: shared.
    pub owner: Option<String>,
    pub source: String,
    pub trust: Trust,
    /// The agent that added it, by name.
    pub agent: Option<String>,
    pub expires_at: Option<OffsetDateTime>,
    pub period: Period,
    /// Another item took its place.
    pub is_superseded: bool,
    pub turn: Option<Turn>,
    pub part: Option<Part>,
    pub span: Option<Span>,
}

impl FoundItem {
    pub fn as_then(&mut self, then: Then) {
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
impl Signals {
    /// Found by meaning at this distance, where there is one, and by nothing else.
    pub fn at(id: i64, distance: Option<f64>) -> Self {
        Self {
            id: ItemId(id),
            created_at: OffsetDateTime::UNIX_EPOCH,
            is_turn: false,
            is_episode: false,
            is_users_word: false,
            comes_first: false,
            is_lent: false,
            lexical: 0.0,
            words_matched: 0,
            is_substring: false,
            distance,
            passages: 1,
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
