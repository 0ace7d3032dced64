//! What was learned, as its page shows it.

use time::OffsetDateTime;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnedPage {
    /// The newest first.
    pub rows: Vec<LearnedRow>,
    /// Of those that wait, as far as they are counted.
    pub count: i64,
    /// More wait than are counted.
    pub has_more: bool,
    /// Memories of imports that nobody has reviewed, the newest first, and how many there are.
    pub imported: Vec<LearnedRow>,
    pub imported_count: i64,
    /// What earlier versions stored as the person's words because an agent said so.
    pub claimed: Vec<LearnedRow>,
    /// What agents may not change themselves, newest first.
    pub proposed: Vec<ProposedRow>,
    /// More proposals wait than are shown.
    pub has_more_proposed: bool,
    /// The latest first.
    pub unwanted: Vec<UnwantedRow>,
    /// A person decides about memories here: not where an admin says so.
    pub is_manageable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LearnedRow {
    pub id: i64,
    pub item_type: String,
    pub theme: (String, String),
    pub beginning: String,
    /// Whose word it is.
    pub word: &'static str,
    pub source: String,
    pub agent: Option<String>,
    /// The sentence that it came from.
    pub quote: Option<String>,
    /// The session that it was read in, and the message's position there.
    pub said_in: Option<(i64, Option<i32>)>,
    pub created: OffsetDateTime,
}

/// An agent's open proposal: to archive a memory, or to replace it by another.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedRow {
    pub id: i64,
    pub agent: String,
    pub item: i64,
    pub beginning: String,
    /// The new memory and the beginning of its text; `None`: to archive it.
    pub instead: Option<(i64, String)>,
    /// Why the agent did not change it itself.
    pub why: &'static str,
    pub proposed: OffsetDateTime,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UnwantedRow {
    pub id: i64,
    pub text: String,
    /// The memory that was forgotten, which can be restored.
    pub item: Option<i64>,
}
