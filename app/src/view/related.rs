//! The memories most like one.

use super::MemoryLine;

#[derive(Clone, Debug, PartialEq)]
pub struct RelatedView {
    /// Most alike first.
    pub rows: Vec<RelatedRow>,
    /// No embedding is ready: they share words.
    pub is_by_words: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RelatedRow {
    pub line: MemoryLine,
    /// Its slug.
    pub theme: Option<String>,
    pub item_type: String,
    /// "very similar (0.82)", "3 words in common"
    pub how: String,
}
