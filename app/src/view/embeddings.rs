//! The types of Settings › Embeddings, and of what other
//! pages say about vectors. A key is never among them: only that there is one.

use super::{EffectiveProvider, EndpointView};
use time::OffsetDateTime;

/// Where an item's vector stands in the space that search uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingState {
    Pending,
    Ready,
    Error,
}

impl EmbeddingState {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Ready, Self::Error];

    /// As it stands in the address: `embedding=pending`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Error => "error",
        }
    }

    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.slug() == slug)
    }
}

/// How many items stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingCounts {
    pub ready: i64,
    pub pending: i64,
    pub failed: i64,
    /// All memories, active and archived, and texts from messages and documents.
    pub total: i64,
    /// Of the total.
    pub from_messages: i64,
}

/// Memories that are found by their words alone until they are embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingWait {
    pub pending: i64,
    /// All memories, active and archived.
    pub total: i64,
    /// One sentence: why no embeddings are made right now.
    pub problem: Option<String>,
}

/// The space whose vectors search uses.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceView {
    pub provider: String,
    pub model: String,
    pub dimensions: Option<i32>,
    /// `None` where its model gives no token vectors.
    pub late: Option<LateView>,
    pub since: OffsetDateTime,
}

/// How it stands with late interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateView {
    Off,
    /// Texts whose token vectors are made.
    Making {
        done: i64,
        of: i64,
    },
    On,
}

/// A building space on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Rebuild {
    pub provider: String,
    pub model: String,
    pub done: i64,
    pub failed: i64,
    pub total: i64,
    /// `None` until it can be told.
    pub rate_per_second: Option<f64>,
    pub seconds_left: Option<i64>,
    pub started: OffsetDateTime,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedItem {
    pub id: i64,
    pub snippet: String,
    /// One sentence.
    pub error: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingsPage {
    /// `false`: this user has switched embeddings off.
    pub is_enabled: bool,
    /// One sentence: the files of the builtin model that should make the vectors are missing.
    pub missing_model: Option<String>,
    pub effective: EffectiveProvider,
    /// What search uses now; `None`: words alone.
    pub serving: Option<SpaceView>,
    /// One sentence: why no vectors are being made right now.
    pub problem: Option<String>,
    /// In the serving space, or in the building one where none serves.
    pub counts: EmbeddingCounts,
    pub rebuild: Option<Rebuild>,
    /// Memories that an earlier version embedded without their key.
    pub without_key: i64,
    pub own: EndpointView,
    /// The first 5.
    pub failures: Vec<FailedItem>,
    pub is_admin: bool,
    /// The last rebuild that was measured.
    pub measured: Option<MeasuredView>,
    pub evaluation: EvaluationView,
}

impl EmbeddingsPage {
    /// Something changes by itself: the page is worth looking at again.
    pub fn is_working(&self) -> bool {
        self.rebuild.is_some()
            || matches!(self.evaluation, EvaluationView::UnderWay { .. })
            || (self.is_enabled && (self.counts.pending > 0 || self.is_making_tokens()))
    }
}

impl EmbeddingsPage {
    fn is_making_tokens(&self) -> bool {
        let late = self.serving.as_ref().and_then(|space| space.late);
        matches!(late, Some(LateView::Making { .. }))
    }
}

/// How it stands with measuring what the last rebuild changed.
#[derive(Clone, Debug, PartialEq)]
pub enum EvaluationView {
    /// There is nothing to measure, or it is measured.
    Idle,
    /// It can be asked for.
    Offered(EvaluationOffer),
    UnderWay {
        answers: i64,
        /// 0: the questions are still to be made.
        total: i64,
    },
    /// One sentence: why nothing was measured.
    GivenUp(String),
}

/// About what it would cost.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationOffer {
    pub questions: i64,
    /// Of them, put by the chat model.
    pub by_model: i64,
    /// At each of the two models.
    pub embedding_tokens: i64,
    pub chat_tokens: i64,
    pub until: OffsetDateTime,
}

/// How well the person's own memory was found after a rebuild, and before it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredView {
    pub at: OffsetDateTime,
    /// Each about one memory.
    pub questions: i32,
    /// Of them, put by the chat model.
    pub by_model: i32,
    pub now: FoundView,
    /// `None` where its vectors were gone, or its model did not answer any more.
    pub before: Option<FoundView>,
    /// What it took, about: tokens for vectors, of both models …
    pub embedding_tokens: i64,
    /// … and of the chat model.
    pub chat_tokens: i64,
}

/// Questions whose memory came first, among the first 5, among the first 10.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundView {
    /// Whose vectors: "Your endpoint · nomic-embed-text".
    pub name: String,
    pub found: [i32; 3],
    pub found_by_meaning: [i32; 3],
}

/// How a score came about (DESIGN §4). `…_normalised` is 0 to 1 within one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreParts {
    /// The share of the query's words, by rarity; 0 to 1.
    pub lexical: f64,
    /// Meaning in common, 0 to 1.
    pub semantic_normalised: f64,
    /// By late interaction, token by token; `None` where the model gives no tokens.
    pub late: Option<f64>,
    /// How much of the meaning that is, 0 to 1.
    pub late_share: f64,
    /// Cosine distance, 0 to 2; `None` without a ready vector.
    pub distance: Option<f64>,
    pub words_matched: i64,
    /// No word matched; the text was found as a substring.
    pub is_substring: bool,
    pub weight_semantic: f64,
    pub weight_lexical: f64,
    /// Added where it was said by whom the query names.
    pub speaker: f64,
    /// Added where it mentions what the query names.
    pub entities: f64,
    /// Added where it was said in the time that the query names, or near it.
    pub time: f64,
    /// Added for what the user said themselves, where other words are found too.
    pub trust: f64,
    /// Added for what was said just before and after it.
    pub neighbours: f64,
    /// Added for what has the query's rare words, or its numbers and codes.
    pub exact: f64,
    /// By which the sum is multiplied, so that no score is more than 1.
    pub scale: f64,
    /// By which the sum is multiplied too: 1, or less for a message, for what states nothing, or for what has faded.
    pub factor: f64,
}

/// The vectors of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemEmbedding {
    /// `None`: no space, so no vector is to be had.
    pub state: Option<EmbeddingState>,
    pub error: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub dimensions: Option<i32>,
    /// Stretches of its text, each with a vector of its own; and those that have theirs.
    pub passages: i64,
    pub passages_ready: i64,
    pub updated: Option<OffsetDateTime>,
}

/// Why an item would surface: by which words, and for a query that was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The words full text finds this item by, most telling first.
    pub index_words: Vec<String>,
    pub surface: Option<WhySurface>,
}

/// The answer to "Would it surface for …".
#[derive(Clone, Debug, PartialEq)]
pub struct WhySurface {
    pub query: String,
    /// From 1; `None`: not among the best `of`.
    pub rank: Option<usize>,
    pub score: f64,
    /// `None` where the item is no candidate at all.
    pub parts: Option<ScoreParts>,
    /// How many the search found.
    pub of: usize,
    /// One sentence, when the search was less than it could be.
    pub degraded: Option<String>,
}
