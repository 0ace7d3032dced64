//! The types of the pages of sessions: the list, and one with its ledger and
//! what was said.

use super::Retired;
use time::OffsetDateTime;

/// What the address of `/sessions` says: `?agent=&state=&outcome=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilters {
    pub agent: Option<i64>,
    /// `state=open` or `state=completed`.
    pub is_open: Option<bool>,
    pub outcome: Option<Outcome>,
    /// How many rows to show, in steps of [`PAGE_SIZE`](crate::limits::PAGE_SIZE).
    pub shown: usize,
}

/// How the reading of a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Pending,
    Stored,
    Nothing,
    Failed,
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub id: i64,
    /// The agent's own id of it.
    pub external_id: String,
    pub agent: String,
    pub is_open: bool,
    pub messages: i64,
    pub last_message: OffsetDateTime,
    /// The newest row of its ledger.
    pub ledger: Option<LedgerRow>,
    /// What it was about of late, in one sentence.
    pub about: Option<String>,
}

/// What a stretch was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodeView {
    /// Positions of its messages.
    pub first: i32,
    pub last: i32,
    pub summary: String,
    /// Whose words these are: `agent`, `model` or `extract`.
    pub made_by: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionsPage {
    /// Newest first.
    pub rows: Vec<SessionRow>,
    /// More rows than `shown` exist: offer `shown + PAGE_SIZE`.
    pub has_more: bool,
    /// Those that have sessions, by id and name.
    pub agents: Vec<(i64, String)>,
    /// There never was one: asks for the "how to begin" page.
    pub is_empty: bool,
    /// What was said is searched too.
    pub turns_are_on: bool,
    pub episode_days: i32,
    /// `None`: as long as their sessions.
    pub turn_days: Option<i32>,
    /// This server's public URL, for the line to paste.
    pub public_url: String,
}

/// A stretch of messages, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    pub first: i32,
    pub last: i32,
    pub outcome: Outcome,
    /// A clause.
    pub reason: Option<String>,
    pub stored: i64,
    pub merged: i64,
    pub superseded: i64,
    pub malformed: i64,
    /// Characters of the middle that were not read.
    pub skipped_chars: i64,
    /// Without a model.
    pub is_fallback: bool,
    pub attempts: i64,
    pub next_try: Option<OffsetDateTime>,
    /// It failed or was skipped, and nobody is at it: its person may have it read again.
    pub may_be_read_again: bool,
    /// Due at this moment.
    pub is_next: bool,
    pub model: Option<String>,
    /// To the model, and from it.
    pub tokens: (i64, i64),
    /// "1.2 s"
    pub duration: String,
    pub created: OffsetDateTime,
    pub ended: Option<OffsetDateTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCallView {
    pub name: String,
    /// JSON, or whatever the model wrote in its place.
    pub arguments: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageView {
    pub position: i32,
    /// `user`, `assistant` or `tool`
    pub role: &'static str,
    pub content: String,
    pub tool_calls: Vec<ToolCallView>,
    /// Of a tool's message: the tool's name, where its call is on the page.
    pub tool: Option<String>,
    /// When it was said, or came in.
    pub at: OffsetDateTime,
}

/// A memory that came of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameOf {
    pub id: i64,
    pub theme: String,
    pub item_type: String,
    /// Its beginning.
    pub words: String,
    /// `None`: it is active.
    pub retired: Option<Retired>,
    /// The message that it comes from.
    pub position: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPage {
    pub id: i64,
    pub external_id: String,
    pub agent: String,
    pub created: OffsetDateTime,
    /// When it was completed and why: `asked`, `another`, `still`, `nightly`. None while it is open.
    pub completed: Option<(OffsetDateTime, &'static str)>,
    pub message_count: i32,
    /// Those since the last completion.
    pub new_count: i32,
    /// In the order of the messages, as what follows.
    pub episodes: Vec<EpisodeView>,
    pub ledger: Vec<LedgerRow>,
    pub messages: Vec<MessageView>,
    /// In the order of what was said; at most [`MEMORIES_SHOWN`](crate::limits::MEMORIES_SHOWN).
    pub memories: Vec<CameOf>,
    pub memory_count: i64,
}
