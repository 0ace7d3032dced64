//! Dreams, as their page shows them.

use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq)]
pub struct DreamsPage {
    /// The newest first.
    pub dreams: Vec<DreamView>,
    /// From before this number on there are older ones.
    pub older_than: Option<i64>,
    /// Why none will be dreamt, where the model may not be asked.
    pub why_none: Option<&'static str>,
    /// Sessions that wait to be dreamt of, and how many are enough.
    pub waiting: i64,
    pub episodes_min: i64,
    /// What is proposed holds at once.
    pub applies: bool,
    /// A person decides about memories here: not where an admin says so.
    pub is_manageable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DreamView {
    pub id: i64,
    pub at: OffsetDateTime,
    /// The agent whose own it is about.
    pub owner: Option<String>,
    /// That it read; some may be gone.
    pub episodes: i64,
    pub read: Vec<DreamtOf>,
    /// By number and path.
    pub document: Option<(i64, String)>,
    /// What it says: headings, each with its lines.
    pub body: Vec<(String, Vec<String>)>,
    /// Whose word the document is.
    pub word: Option<&'static str>,
    pub proposals: Vec<ProposalView>,
}

/// What a session was about.
#[derive(Clone, Debug, PartialEq)]
pub struct DreamtOf {
    pub id: i64,
    pub session: Option<i64>,
    pub short: String,
    pub at: OffsetDateTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    Merge,
    Supersede,
    Contradiction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalState {
    Open,
    /// By its person.
    Accepted,
    /// By the dream itself.
    Applied,
    Dismissed,
    Undone,
    Void,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProposalView {
    pub n: i16,
    pub kind: ProposalKind,
    pub why: String,
    pub state: ProposalState,
    pub gone: ProposalSide,
    pub kept: ProposalSide,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProposalSide {
    pub id: i64,
    pub beginning: String,
    /// Whose word it is.
    pub word: &'static str,
    pub is_confirmed: bool,
    /// When it was last said.
    pub said: OffsetDateTime,
}
