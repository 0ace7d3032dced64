//! The result of a search.

use std::sync::Arc;

use super::candidate::FoundItem;
use super::explanation::Explanation;
use super::relevance::Confidence;
use super::snippet::Snippet;
use crate::db::labels;
use crate::memories::Period;

labels! {
    /// How the results were found.
    pub enum Mode {
        /// By embedding and by words.
        Hybrid = "hybrid",
        /// By words only.
        Fts = "fts",
        /// Newest first.
        Recent = "recent",
    }
}

#[derive(Clone, Debug)]
pub struct Hit {
    pub item: FoundItem,
    pub snippet: Snippet,
    /// 0 to 1 within this answer; 0 in a listing by date.
    pub score: f64,
    /// Among the nearest by embedding.
    pub is_near: bool,
    pub explanation: Explanation,
    /// Display name of the lent memory it is from; `None`: the viewer's own.
    pub memory_of: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub struct ResultPage {
    pub hits: Vec<Hit>,
    pub mode: Mode,
    /// The next page of a listing by date; `None` at its end and for ranked results.
    pub cursor: Option<String>,
    /// Why the search was degraded, as a clause, for example without the query's embedding; `None` if it was not.
    pub degraded: Option<String>,
    /// Lent memory was searched too.
    pub has_lent: bool,
    /// The time that was asked for, or that the query names.
    pub time: Option<Period>,
    /// `None` in a listing by date, or with `nearest_below`.
    pub confidence: Option<Confidence>,
    /// The highest similarity of what was found, if all of it is below the query's `min_similarity`.
    pub nearest_below: Option<f64>,
}

impl ResultPage {
    /// Whether probably nothing here answers the query.
    pub fn is_probably_absent(&self) -> bool {
        self.confidence.is_some_and(|confidence| confidence.is_probably_absent)
    }
}
