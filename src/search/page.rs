//! What a search answers.

use std::sync::Arc;

use super::candidate::FoundItem;
use super::fuse::Explanation;
use super::relevance;
use super::snippet::Snippet;
use crate::memories::Period;

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By meaning and by words.
    Hybrid,
    /// By words alone.
    Fts,
    /// Newest first.
    Recent,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Fts => "fts",
            Self::Recent => "recent",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Hit {
    pub item: FoundItem,
    pub snippet: Snippet,
    /// 0 to 1 within this answer; 0 where it is by date.
    pub score: f64,
    /// Among the nearest by meaning.
    pub is_near: bool,
    pub explanation: Explanation,
    /// Whose memory it is lent from, as answers call it; `None`: the viewer's own.
    pub memory_of: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub struct Page {
    pub hits: Vec<Hit>,
    pub mode: Mode,
    /// Where a listing by date goes on; `None` at its end and in ranked answers.
    pub cursor: Option<String>,
    /// Why the search was less than it could be, as a clause; the caller that
    /// could not bring a vector says so here. `None` when it was not.
    pub degraded: Option<String>,
    /// Memory that is lent to the viewer was read too.
    pub has_lent: bool,
    /// The time that was asked about, or that the query names.
    pub time: Option<Period>,
    /// That the answer is among the hits, 0 to 1; `None` of a listing by date.
    pub confidence: Option<f64>,
}

impl Page {
    /// Nothing here answers, most likely. Words alone cannot tell, unless nothing has any of them.
    pub fn is_probably_absent(&self) -> bool {
        let is_hybrid = self.mode == Mode::Hybrid;
        let is_unsure =
            |sure| sure < relevance::CONFIDENCE_MIN && (is_hybrid || self.hits.is_empty());
        self.confidence.is_some_and(is_unsure)
    }
}
