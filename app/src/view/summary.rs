//! The types of the page Summary.

use time::OffsetDateTime;

/// How it stands with the writing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryState {
    /// It tells what is remembered.
    Current,
    /// It will be written.
    Waiting,
    Writing,
    Failed,
    /// Nothing is remembered.
    Empty,
    /// No model may or can write it.
    Off,
    /// Memory is switched off.
    MemoryOff,
}

/// A memory, or an episode, that a text was written from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceItem {
    pub id: i64,
    /// Of its text.
    pub beginning: String,
    /// "stated by you", "stated by an agent", …
    pub word: &'static str,
    /// False where it was archived since.
    pub is_active: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryText {
    pub paragraphs: Vec<String>,
    pub made: OffsetDateTime,
    pub model: Option<String>,
    /// Those that it stands on.
    pub items: Vec<SourceItem>,
    /// Memories that there were then; where they are more, the rest was left out.
    pub items_total: i64,
    /// Memories have come or gone since.
    pub is_stale: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryPage {
    pub text: Option<SummaryText>,
    pub state: SummaryState,
    /// There are memories, and a model that may write it.
    pub can_be_written: bool,
    /// Of a failure, or why there is none: one sentence.
    pub reason: Option<String>,
    pub next_try: Option<OffsetDateTime>,
    /// The next try is due at this moment.
    pub is_due: bool,
}
