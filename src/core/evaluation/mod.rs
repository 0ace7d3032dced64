//! Measures how well search finds, through the same search as agents use: with a data set whose answers are
//! known (`trial.rs`; format in docs/evaluation.md), or with a user's own memory, also before and after a rebuild
//! (`own.rs`). It must store no questions, and read nothing that an agent could not.

pub mod dataset;
pub mod model;
pub mod own;
mod questions;
pub mod score;
mod store;
pub mod trial;

pub use dataset::{DataSet, DataSetError};
pub use model::Measurement;
pub use score::Scores;

use crate::accounts::AccountError;
use crate::db::Db;
use crate::embedding::{EmbeddingError, Embeddings};
use crate::erasure::ErasureError;
use crate::input::Invalid;
use crate::memories::MemoryError;
use crate::providers::chat::{Chat, ChatError};
use crate::search::arms::CANDIDATES_MAX;
use crate::search::query::{Balance, Ingredients};
use crate::search::{Filters, Hit, Search, SearchQuery, many};

#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    #[error(
        "there are too few memories to measure: {questions} questions could be made of them, and {} are needed",
        questions::QUESTIONS_MIN
    )]
    TooFew { questions: usize },
    #[error(
        "no vectors serve this account, or their model does not answer; see Settings › Embeddings"
    )]
    NothingServes,
    /// Why a model did not embed a question, as a clause.
    #[error("{0}")]
    Silent(String),
    #[error("no vectors are being made: {problem}")]
    NoVectors { problem: String },
    #[error("broken off; what was made for it is erased")]
    BrokenOff,
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error(transparent)]
    Erasure(#[from] ErasureError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Evaluation {
    db: Db,
    embeddings: Embeddings,
    search: Search,
    chat: Chat,
}

impl Evaluation {
    pub fn new(search: Search, chat: Chat) -> Self {
        Self { db: search.db().clone(), embeddings: search.embeddings().clone(), search, chat }
    }
}

/// The signals that a ranking uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arm {
    /// As search ranks.
    Both,
    Words,
    Meaning,
}

impl Arm {
    pub const ALL: [Self; 3] = [Self::Both, Self::Words, Self::Meaning];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Both => "as search answers",
            Self::Words => "by words alone",
            Self::Meaning => "by meaning alone",
        }
    }

    /// The ids, best first, of an answer that contains every candidate.
    fn ranked(self, hits: &[Hit]) -> Vec<i64> {
        let mut of_arm: Vec<&Hit> = hits
            .iter()
            .filter(|hit| match self {
                Self::Both => true,
                Self::Words => hit.matched_by_words(),
                Self::Meaning => hit.is_near,
            })
            .collect();
        match self {
            Self::Both => {}
            Self::Words => {
                of_arm.sort_by(|a, b| b.explanation.lexical.total_cmp(&a.explanation.lexical))
            }
            Self::Meaning => of_arm.sort_by(|a, b| {
                let distance = |hit: &Hit| hit.explanation.distance.unwrap_or(f64::INFINITY);
                distance(a).total_cmp(&distance(b))
            }),
        }
        of_arm.iter().map(|hit| hit.item.id.0).collect()
    }
}

/// A question as an agent asks it, with a limit that returns every candidate.
fn all_candidates(text: &str, ingredients: Ingredients) -> SearchQuery {
    SearchQuery {
        text: Some(text.trim().to_owned()),
        limit: 6 * CANDIDATES_MAX,
        filters: Filters {
            status: Some(crate::memories::Status::Active),
            spread: ingredients.spread && many::are_asked(Some(text)),
            ingredients,
            ..Filters::default()
        },
        cursor: None,
        min_similarity: None,
        balance: Balance::default(),
        explain: false,
    }
}
