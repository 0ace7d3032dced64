//! What a space is, and where an item's vector can stand in it.

use std::ops::Range;

use time::OffsetDateTime;

use super::Vector;
use super::tokens::QueryTokens;
use crate::providers::ProviderType;
use crate::providers::settings::ProviderSettings;

/// Vectors of two spaces are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpaceId(pub i64);

/// A query's vector, and the space it may be compared in.
#[derive(Clone, Debug)]
pub struct QueryVector {
    pub space_id: SpaceId,
    pub vector: Vector,
    /// Where its model gives them.
    pub tokens: Option<QueryTokens>,
    /// Who the query names of those who speak in this memory (folded): the vector is made
    /// without them, since they draw it to all that they said, whatever it is about.
    pub speakers: Vec<String>,
}

/// What a model makes of a query.
#[derive(Clone, Debug)]
pub struct QueryAnswer {
    pub vector: Vector,
    pub tokens: Option<QueryTokens>,
}

/// A word of a query that may be the name of who speaks in a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedWord {
    /// Folded.
    pub word: String,
    /// Bytes of the query, in order.
    pub places: Vec<Range<usize>>,
}

/// The query without those of its words that name `speakers`; whole where nothing else is left.
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
        left.push_str(&query[from..place.start]);
        let after = &query[place.end..];
        let possessive = ["'s", "’s"].into_iter().find(|s| after.starts_with(s));
        from = place.end + possessive.map_or(0, str::len);
    }
    left.push_str(&query[from..]);
    match left.contains(char::is_alphanumeric) {
        true => left.split_whitespace().collect::<Vec<_>>().join(" "),
        false => query.to_owned(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceState {
    /// Serves searches.
    Active,
    /// Takes the active one's place when nothing in it is pending any more.
    Building,
    /// Answers searches that were under way; its vectors are kept for a while.
    Retired,
}

impl SpaceState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Building => "building",
            Self::Retired => "retired",
        }
    }

    /// The column's check admits nothing else.
    pub(super) fn from_column(text: &str) -> Self {
        match text {
            "active" => Self::Active,
            "building" => Self::Building,
            _ => Self::Retired,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Space {
    pub id: SpaceId,
    /// As it was built: it serves on with these whatever is set since.
    pub settings: ProviderSettings,
    /// As the provider first answered; `None` until then.
    pub dimensions: Option<i32>,
    pub state: SpaceState,
    /// Why no vectors are made right now, for people.
    pub problem: Option<String>,
    /// Calls in a row that failed.
    pub failures: i32,
    pub retry_at: Option<OffsetDateTime>,
    pub created_at: OffsetDateTime,
    pub activated_at: Option<OffsetDateTime>,
    pub retired_at: Option<OffsetDateTime>,
    pub token_signs: TokenSigns,
}

/// Which first passages of a space have the signs of their tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSigns {
    None,
    /// While they are made or removed.
    Some,
    All,
}

impl TokenSigns {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Some => "some",
            Self::All => "all",
        }
    }

    /// The column's check admits nothing else.
    pub(super) fn from_column(text: &str) -> Self {
        match text {
            "all" => Self::All,
            "some" => Self::Some,
            _ => Self::None,
        }
    }
}

/// What a search needs to know of its user.
#[derive(Clone, Debug)]
pub struct Serving {
    /// False: the user has switched embeddings off.
    pub enabled: bool,
    pub own_enabled: bool,
    /// What searches compare with.
    pub space: Option<Space>,
}

/// What a search knows of the vectors it may compare with.
#[derive(Clone, Debug, Default)]
pub struct HeldVectors {
    pub has_ready: bool,
    /// Some are pending; where there is no space, some items are there.
    pub has_pending: bool,
    /// Of the words asked for, those by whom much is said in this memory.
    pub speakers: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingState {
    Pending,
    Ready,
    Error,
    /// No provider is in force: the item is found by its words.
    Off,
}

impl EmbeddingState {
    pub const FILTERS: [Self; 3] = [Self::Pending, Self::Ready, Self::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Error => "error",
            Self::Off => "off",
        }
    }

    /// The column's check admits nothing else.
    pub fn from_column(text: &str) -> Self {
        match text {
            "pending" => Self::Pending,
            "ready" => Self::Ready,
            _ => Self::Error,
        }
    }
}

/// Where one item's vectors stand.
#[derive(Clone, Debug)]
pub struct ItemEmbedding {
    pub state: EmbeddingState,
    pub error: Option<String>,
    /// Of its text; and those that have their vector.
    pub passages: i64,
    pub passages_ready: i64,
    pub provider_type: Option<ProviderType>,
    pub model: Option<String>,
    pub dimensions: Option<i32>,
    pub updated_at: Option<OffsetDateTime>,
}

impl ItemEmbedding {
    /// Of an item that has no row in any space.
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

/// What became of new items' embeddings, and what decides whether they will be computed.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// Of all their texts, about: see [`tokens_of`].
    pub tokens: usize,
    pub enabled: bool,
    pub own_enabled: bool,
    pub has_space: bool,
    pub is_full: bool,
}

/// About how many tokens of a text of so many bytes a model reads.
pub fn tokens_of(bytes: usize) -> usize {
    const BYTES_A_TOKEN: usize = 4;
    /// The builtin model reads no more of a text.
    const WINDOW_TOKENS: usize = 256;
    (bytes / BYTES_A_TOKEN).clamp(1, WINDOW_TOKENS)
}

/// A passage that waits for its vector.
#[derive(Clone, Debug)]
pub struct Row {
    pub source_id: i64,
    pub passage: i16,
    pub is_turn: bool,
    /// `None` while the passages of its source are still to be made.
    pub content_hash: Option<Vec<u8>>,
    pub content: String,
    /// Where a vector of the same text is: its source, …
    pub known_source: Option<i64>,
    /// … passage …
    pub known_passage: Option<i16>,
    /// … and space.
    pub known_space: Option<i64>,
}

/// What a provider made of one passage.
pub struct Written {
    pub source_id: i64,
    pub passage: i16,
    pub content_hash: Option<Vec<u8>>,
    /// Or a sentence for people.
    pub outcome: Result<Vector, String>,
    /// Of a first passage the signs of its tokens, where they are wanted and the model gives them.
    pub token_signs: Option<Vec<u8>>,
}

/// The items of one space by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub ready: i64,
    pub pending: i64,
    pub failed: i64,
    /// Ended within [`super::RATE_WINDOW`].
    pub recent: i64,
}

/// What is embedded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Active and archived.
    pub memories: i64,
    /// Turns, of which a long message is several, and parts of documents.
    pub from_messages: i64,
}

impl Texts {
    pub fn total(&self) -> i64 {
        self.memories + self.from_messages
    }
}

/// Memories without an embedding, in the space that serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub pending: i64,
    pub failed: i64,
    /// Why none are made right now, for people.
    pub problem: Option<String>,
}

impl Counts {
    pub fn total(&self) -> i64 {
        self.ready + self.pending + self.failed
    }

    /// There were items, and none got a vector or still may.
    pub fn are_all_failed(&self) -> bool {
        self.failed > 0 && self.failed == self.total()
    }
}

/// An item that no vector could be made of.
#[derive(Clone, Debug)]
pub struct Failure {
    pub item_id: i64,
    pub snippet: String,
    pub error: String,
}
