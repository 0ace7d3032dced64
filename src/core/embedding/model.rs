//! Embedding spaces, and the state of an item's embedding in them.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

use super::Vector;
use super::tokens::QueryTokens;
use crate::db::labels;
use crate::json::json_labels;
use crate::providers::ProviderType;
use crate::providers::settings::SpaceSettings;

/// Embeddings of different spaces are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct SpaceId(pub i64);

/// A query's embedding and its space.
#[derive(Clone, Debug)]
pub struct QueryVector {
    pub space_id: SpaceId,
    /// See [`SpaceSettings::has_fitted_scale`].
    pub is_fitted: bool,
    pub vector: Vector,
    /// If the model returns token vectors.
    pub tokens: Option<QueryTokens>,
    /// Speakers of this memory that the query names (folded). The query is embedded without them, because a name attracts
    /// everything that the person said, on any topic.
    pub speakers: Vec<String>,
}

/// A model's answer for a query.
#[derive(Clone, Debug)]
pub struct QueryAnswer {
    pub vector: Vector,
    pub tokens: Option<QueryTokens>,
}

/// A word of a query that may be a speaker's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedWord {
    /// Folded.
    pub word: String,
    /// Byte ranges in the query, ascending.
    pub places: Vec<Range<usize>>,
}

/// The query without the words that name `speakers`; unchanged if nothing else would remain.
pub(super) fn without_speakers(query: &str, names: &[NamedWord], speakers: &[String]) -> String {
    let mut places: Vec<&Range<usize>> = names
        .iter()
        .filter(|name| speakers.contains(&name.word))
        .flat_map(|name| &name.places)
        .collect();
    places.sort_by_key(|place| place.start);
    let mut left = String::new();
    let mut from = 0;
    for place in places {
        // A speaker named S has no part in "Anna's".
        left.push_str(&query[from..place.start.max(from)]);
        let after = &query[place.end..];
        let possessive = ["'s", "’s"].into_iter().find(|s| {
            let rest = after.strip_prefix(s);
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        });
        from = from.max(place.end + possessive.map_or(0, str::len));
    }
    left.push_str(&query[from..]);
    match left.contains(char::is_alphanumeric) {
        true => left.split_whitespace().collect::<Vec<_>>().join(" "),
        false => query.to_owned(),
    }
}

labels! {
    pub enum SpaceState {
        /// Used by searches.
        Active = "active",
        /// Replaces the active one when nothing in it is pending.
        Building = "building",
        /// Still answers searches that began before the swap; its embeddings are kept for a while.
        Retired = "retired",
    }
}

#[derive(Clone, Debug)]
pub struct Space {
    pub id: SpaceId,
    /// The settings it was built with, regardless of later changes.
    pub settings: SpaceSettings,
    /// From the provider's first answer; `None` until then.
    pub dimensions: Option<i32>,
    pub state: SpaceState,
    /// Why no embeddings can be made at the moment, as a sentence for users.
    pub problem: Option<String>,
    /// Consecutive failed calls.
    pub failures: i32,
    pub retry_at: Option<OffsetDateTime>,
    /// The endpoint asked not to be called before this time, by searches either.
    pub wait_until: Option<OffsetDateTime>,
    pub created_at: OffsetDateTime,
    pub activated_at: Option<OffsetDateTime>,
    pub retired_at: Option<OffsetDateTime>,
    pub token_signs: TokenSigns,
}

labels! {
    /// Which first passages of a space have token signs.
    pub enum TokenSigns {
        None = "none",
        /// While they are being created or removed.
        Some = "some",
        All = "all",
    }
}

/// A user's embedding settings that a search needs.
#[derive(Clone, Debug)]
pub struct Serving {
    /// False if the user has switched embeddings off.
    pub enabled: bool,
    pub own_enabled: bool,
    /// The space that searches use.
    pub space: Option<Space>,
}

/// The state of the embeddings in an index.
#[derive(Clone, Debug, Default)]
pub struct HeldVectors {
    pub has_ready: bool,
    /// How many sources wait for an embedding (without a space, all), and how many have one that failed.
    pub unready: [usize; 2],
    /// The query's words that are frequent speakers in this memory.
    pub speakers: Vec<String>,
}

labels! {
    pub enum EmbeddingState {
        Pending = "pending",
        Ready = "ready",
        Error = "error",
        /// No provider is configured: the item is found by words only.
        Off = "off",
    }
}

json_labels!(
    EmbeddingState: EmbeddingState::ALL,
    "Embedding state. pending: not computed yet; ready: semantic search finds the item; error: it could not be computed; off: no embedding provider. Keyword search finds the item in every state."
);

impl EmbeddingState {
    pub const FILTERS: [Self; 3] = [Self::Pending, Self::Ready, Self::Error];
}

// The state of one item's embeddings; its schema has no description.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ItemEmbedding {
    pub state: EmbeddingState,
    /// Why there is no embedding, in a sentence.
    pub error: Option<String>,
    /// Number of passages, and of those with an embedding.
    #[serde(skip)]
    pub passages: i64,
    #[serde(skip)]
    pub passages_ready: i64,
    #[schemars(with = "Option<String>")]
    pub provider_type: Option<ProviderType>,
    pub model: Option<String>,
    pub dimensions: Option<i32>,
    #[serde(skip)]
    pub updated_at: Option<OffsetDateTime>,
}

impl ItemEmbedding {
    /// For an item without a row in any space.
    pub(super) fn without_row(state: EmbeddingState) -> Self {
        Self {
            state,
            error: None,
            passages: 0,
            passages_ready: 0,
            provider_type: None,
            model: None,
            dimensions: None,
            updated_at: None,
        }
    }
}

/// The result of writing pending embeddings, and the settings that decide whether they will be computed.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// Approximate tokens of all texts, see [`tokens_of`].
    pub tokens: usize,
    pub enabled: bool,
    pub own_enabled: bool,
    pub has_space: bool,
    pub is_full: bool,
}

/// Approximate number of tokens in a text of this many bytes.
pub fn tokens_of(bytes: usize) -> usize {
    const BYTES_A_TOKEN: usize = 4;
    /// The builtin model truncates a text to this.
    const WINDOW_TOKENS: usize = 256;
    (bytes / BYTES_A_TOKEN).clamp(1, WINDOW_TOKENS)
}

/// A passage with a pending embedding.
#[derive(Clone, Debug)]
pub struct PendingPassage {
    pub source_id: i64,
    pub passage: i16,
    pub is_turn: bool,
    /// `None` if the source's passages are not made yet.
    pub content_hash: Option<Vec<u8>>,
    pub content: String,
    /// It is compared token by token: the source's only passage, with late interaction on.
    pub gets_signs: bool,
    /// Where an existing embedding of the same text is: source …
    pub known_source: Option<i64>,
    /// … passage …
    pub known_passage: Option<i16>,
    /// … and space.
    pub known_space: Option<i64>,
}

/// A provider's result for one passage.
pub struct EmbeddedPassage {
    pub source_id: i64,
    pub passage: i16,
    pub content_hash: Option<Vec<u8>>,
    /// The error is a sentence for users.
    pub outcome: Result<Vector, String>,
    /// Token signs, if they are kept of it and the model returns tokens.
    pub token_signs: Option<Vec<u8>>,
}

/// Number of items in a space, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    pub ready: i64,
    pub pending: i64,
    pub failed: i64,
    /// Completed within [`super::RATE_WINDOW`].
    pub recent: i64,
}

/// Number of texts to embed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Active and archived.
    pub memories: i64,
    /// Turns, of which a long message has several, and document parts.
    pub from_messages: i64,
}

impl Texts {
    pub fn total(&self) -> i64 {
        self.memories + self.from_messages
    }
}

/// Memories without an embedding in the serving space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingMemories {
    pub pending: i64,
    pub failed: i64,
    /// Why none are made at the moment, as a sentence for users.
    pub problem: Option<String>,
}

impl StateCounts {
    pub fn total(&self) -> i64 {
        self.ready + self.pending + self.failed
    }

    /// Whether there are items and all of them failed.
    pub fn are_all_failed(&self) -> bool {
        self.failed > 0 && self.failed == self.total()
    }
}

/// An item whose embedding failed.
#[derive(Clone, Debug)]
pub struct FailedEmbedding {
    pub item_id: i64,
    pub snippet: String,
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speakers_are_left_out_with_their_possessive_and_no_part_of_another_word() {
        let without = |query: &str, words: &[&str]| {
            let name = |word: &&str| NamedWord {
                word: word.to_lowercase(),
                places: query.match_indices(*word).map(|(at, _)| at..at + word.len()).collect(),
            };
            let names: Vec<NamedWord> = words.iter().map(name).collect();
            let speakers: Vec<String> = names.iter().map(|name| name.word.clone()).collect();
            without_speakers(query, &names, &speakers)
        };
        for (query, words, left) in [
            ("Anna's cup, Sam", &["Anna", "Sam"][..], "cup,"),
            ("where is Anna’s cup?", &["Anna"], "where is cup?"),
            ("anna'sam at noon", &["anna", "sam"], "' at noon"),
            ("anna’sé tea", &["anna"], "’sé tea"),
            ("anna's tea", &["anna", "s"], "tea"),
            ("Anna's", &["Anna"], "Anna's"),
        ] {
            assert_eq!(without(query, words), left, "{query}");
        }
    }
}
