//! The types that pages are made of: plain data, already fit to be shown.
//! Nothing secret has a type here (but for a token in the one answer that
//! shows it), so nothing secret can reach a page by accident.

mod activity;
mod chat;
mod data;
mod day;
mod docs;
mod documents;
mod dreams;
mod embeddings;
mod endpoint;
mod entities;
mod fading;
mod learned;
mod lineage;
mod manage;
mod related;
mod sessions;
mod storage;
mod summary;
mod timeline;
mod usage;
mod webhooks;
mod work;

use time::OffsetDateTime;

pub use crate::address::said_in;
pub use activity::{ActivityFilters, ActivityPage, CallItem, CallRow, DayCalls, Reading};
pub use chat::{ChatPage, DayTokens, PurposeView};
pub use data::{
    AboutPage, DataPage, ErasedKind, FoundAbout, FoundKind, FoundRow, ImportProgress, ImportState,
    ItemErasure, Receipt, RowCount,
};
pub use day::{DayFilters, DayTold};
pub use docs::{DocsError, DocsField, DocsGroup, DocsOperation, DocsPage};
pub use documents::{
    Block, DiffLine, DiffView, DocumentBody, DocumentFilters, DocumentFolder, DocumentPage,
    DocumentRow, DocumentTree, DocumentsPage, Inline, LineChange, ListItem, PartPlace, RevisionRow,
};
pub use dreams::{
    DreamView, DreamsPage, DreamtOf, ProposalKind, ProposalSide, ProposalState, ProposalView,
};
pub use embeddings::{
    EmbeddingCounts, EmbeddingState, EmbeddingWait, EmbeddingsPage, EvaluationOffer,
    EvaluationView, FailedItem, FoundView, ItemEmbedding, LateView, MeasuredView, Rebuild,
    ScoreParts, SpaceView, Why, WhySurface,
};
pub use endpoint::{EffectiveProvider, EndpointView, PresetView};
pub use entities::{
    EntitiesPage, EntityDecision, EntityFilters, EntityLink, EntityName, EntityPage, EntityPair,
    EntityRow, EntitySettingsView, EntitySort, GraphDays, GraphFilters, GraphNode, GraphPage,
    GraphTie, MentionedIn, RelationBar, RelationEnd, RelationSource, RelationState, RelationView,
};
pub use fading::{FadedRow, FadingPage, FadingRow, ItemStrength};
pub use learned::{LearnedPage, LearnedRow, ProposedRow, UnwantedRow};
pub use lineage::{LineageEdge, LineageNode, LineageView, OutdatedMark};
pub use manage::{Deletion, Undo};
pub use related::{RelatedRow, RelatedView};
pub use sessions::{
    CameOf, EpisodeView, LedgerRow, MessageView, Outcome, SessionFilters, SessionPage, SessionRow,
    SessionsPage, ToolCallView,
};
pub use storage::StorageView;
pub use summary::{SourceItem, SummaryPage, SummaryState, SummaryText};
pub use timeline::{
    CalendarDay, DifferenceView, FactBar, HappeningRow, MemoryLine, StreamDay, TimelineFilters,
    TimelinePage,
};
pub use usage::{ThemeUse, UsagePage};
pub use webhooks::{DeliveryRow, WebhookRow, WebhooksPage};
pub use work::{Scheduled, Standing, Task, WorkPage};

/// A run of text, marked where a word of the query matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub marked: bool,
}

/// Which memories are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    #[default]
    Active,
    Archived,
    All,
}

/// What the address of `/memory` says: `?q=&theme=&tag=&type=&type=&agent=&days=&status=&embedding=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFilters {
    pub q: String,
    pub theme: Option<String>,
    /// Item types as their slugs (`preference`, `fact`, …); empty means all.
    pub types: Vec<String>,
    /// `tag=`: only what has this tag.
    pub tag: Option<String>,
    /// `status=archived`, `status=all`.
    pub status: StatusFilter,
    /// `days=7`: only what was added in the last days.
    pub days: Option<i64>,
    /// `embedding=pending|ready|error`: only items whose vector stands there.
    pub embedding: Option<EmbeddingState>,
    /// `agent=`: only what this agent added.
    pub agent: Option<i64>,
    /// `as_of=`, `at=`: what was known, and true, on another day.
    pub day: DayFilters,
    /// How many rows to show, in steps of [`PAGE_SIZE`](crate::limits::PAGE_SIZE).
    pub shown: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeCount {
    pub slug: String,
    pub display_name: String,
    /// On the day that is shown.
    pub active_count: i64,
    /// Memories that were added or changed in the last 30 days.
    pub changed_count: i64,
}

/// One row of the memory list.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemRow {
    pub id: i64,
    /// Its page, on the day of the list.
    pub href: String,
    /// A turn has none.
    pub theme: Option<String>,
    /// Of a turn: where it was said.
    pub turn: Option<TurnPlace>,
    /// Of a part of a document: where it stands.
    pub part: Option<PartPlace>,
    pub item_type: String,
    pub snippet: Vec<Span>,
    pub tags: Vec<String>,
    /// Why agents do not find it without asking; `None` while it is active.
    pub retired: Option<Retired>,
    /// It is no memory, and says what does not hold any more.
    pub outdated: Option<OutdatedMark>,
    /// When it is true: "since 2019", "no longer true: 2010 to 2015".
    pub period: Option<String>,
    pub word: Word,
    /// The agent that alone sees it, by name; `None`: it is shared.
    pub owner: Option<String>,
    pub created: OffsetDateTime,
    /// 0 to 1 within this answer; `None` when the list is by date.
    pub score: Option<f64>,
    /// How the score came about; `None` when the list is by date.
    pub parts: Option<ScoreParts>,
    /// One sentence: why it could not be embedded.
    pub embedding_error: Option<String>,
}

/// Whose word a memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// "stated by you", "stated by an agent", "from a tool", "from outside"
    pub whose: &'static str,
    /// How it came, in plain words, where that says more.
    pub source: Option<String>,
    /// The agent that added it, by name.
    pub agent: Option<String>,
}

/// A memory that contradicts another, which holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutAside {
    pub id: i64,
    /// Of its text.
    pub beginning: String,
    pub word: Word,
}

/// The session in which a turn was said, and the message's position there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPlace {
    pub session_id: i64,
    pub position: i32,
    /// "user" or "assistant"
    pub role: String,
}

/// What an episode tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanPlace {
    /// By number and its agent's name; `None` where it was imported.
    pub session: Option<(i64, String)>,
    pub from: OffsetDateTime,
    pub until: OffsetDateTime,
}

/// How an item left what is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retired {
    Archived,
    /// A newer one took its place.
    Superseded,
    /// Another held when it came, and holds.
    PutAside,
    Expired,
    /// Nobody had used it for long.
    Faded,
}

/// How a list was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// By meaning and words.
    Hybrid,
    /// By words alone.
    Fts,
    /// Newest first.
    Recent,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPage {
    pub themes: Vec<ThemeCount>,
    /// Smaller themes than these.
    pub has_more_themes: bool,
    /// To choose from, where there are several.
    pub agents: Vec<(i64, String)>,
    pub rows: Vec<ItemRow>,
    /// More rows than `shown` exist: offer `shown + PAGE_SIZE`.
    pub has_more: bool,
    /// `None`: today.
    pub day: Option<DayTold>,
    /// All items of this user, whatever the filters: 0 asks for the "how to begin" page, unless there are conversations.
    pub total_items: i64,
    /// Where there are no memories, but conversations.
    pub conversations: Option<Conversations>,
    /// Memories that agents and the server have stored and nobody has looked at.
    pub learned: i64,
    /// Memories of imports that nobody has reviewed.
    pub imported: i64,
    /// What agents propose, and what dreams do, and nobody has decided.
    pub proposed: i64,
    pub proposals: i64,
    /// Anything but [`SearchMode::Recent`] is cut at the most relevant 50.
    pub mode: SearchMode,
    /// One sentence: why the search was less than it could be, where `waiting` does not say it.
    pub degraded: Option<String>,
    /// Sentences about the whole answer: which time counts more, that probably nothing here answers.
    pub notes: Vec<String>,
    /// `None` once every memory is embedded.
    pub waiting: Option<EmbeddingWait>,
    /// `None` where the list is filtered.
    pub week: Option<WeekView>,
    /// This server's public URL, for the line to paste.
    pub public_url: String,
}

/// What agents have handed over, counted up to [`COUNTED_MAX`](Conversations::COUNTED_MAX).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversations {
    pub sessions: i64,
    /// Those that search finds.
    pub messages: i64,
}

impl Conversations {
    pub const COUNTED_MAX: i64 = 10_000;
}

/// What changed in the last seven days, and what expires in the next seven.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeekView {
    pub learned: i64,
    pub changed: i64,
    pub ended: i64,
    /// The old, and the new.
    pub changes: Vec<(MemoryLine, MemoryLine)>,
    pub expiring: Vec<(MemoryLine, OffsetDateTime)>,
    /// With how often each was used.
    pub used: Vec<(MemoryLine, i64)>,
}

/// One thing that happened to an item.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// "added", "archived", "replaced by a newer memory", …
    pub event: String,
    /// "claude-code" or "you"; `None` where time did it.
    pub actor: Option<String>,
    pub at: OffsetDateTime,
    /// What was other before: "its tags were north".
    pub changes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ItemPage {
    pub id: i64,
    /// `None`: as it is today.
    pub day: Option<DayTold>,
    /// How the fact of its key changed, newest first; nothing where it never did.
    pub fact: Vec<FactBar>,
    /// By slug and name; a turn has none.
    pub theme: Option<(String, String)>,
    /// It is no memory, but what was said.
    pub turn: Option<TurnPlace>,
    /// It is no memory, but a part of a document.
    pub part: Option<PartPlace>,
    /// It is no memory, but says what a session was about.
    pub span: Option<SpanPlace>,
    pub item_type: String,
    pub key: Option<String>,
    pub content: String,
    pub tags: Vec<String>,
    pub retired: Option<Retired>,
    pub outdated: Option<OutdatedMark>,
    /// Whose word it is, and how it came, in plain words.
    pub word: &'static str,
    pub source: String,
    pub source_context: Option<String>,
    /// What it names, in the order of its text.
    pub names: Vec<EntityLink>,
    pub agent: Option<String>,
    /// The agent that alone sees it, by name; `None`: it is shared.
    pub owner: Option<String>,
    /// When it is true, such as "since 2019"; may be empty.
    pub period: String,
    /// 0 to 100
    pub confidence: i16,
    /// Of a memory.
    pub strength: Option<ItemStrength>,
    /// Confirmed: it does not fade.
    pub protected: bool,
    /// By the person: agents only propose changes.
    pub locked: bool,
    /// What agents propose about it.
    pub proposed: Vec<ProposedRow>,
    pub created: OffsetDateTime,
    pub updated: OffsetDateTime,
    pub expires: Option<OffsetDateTime>,
    /// When it was last said to hold.
    pub verified: Option<OffsetDateTime>,
    /// The item that took its place.
    pub superseded_by: Option<i64>,
    /// The session that it was read in, and the message's position there.
    pub said_in: Option<(i64, Option<i32>)>,
    /// What it was written from, where it was; and how much of that is gone.
    pub origins: Vec<SourceItem>,
    pub origins_gone: i64,
    /// Memories that were written from it.
    pub derived: Vec<i64>,
    /// One step each way, and what it names.
    pub lineage: LineageView,
    /// `None` on another day.
    pub related: Option<RelatedView>,
    /// Those whose place it took, newest first.
    pub superseded: Vec<i64>,
    /// What contradicts it and was put aside, newest first.
    pub put_aside: Vec<PutAside>,
    pub history: Vec<HistoryEntry>,
    /// The last times that an agent got it, newest first.
    pub readings: Vec<Reading>,
    /// Days for which readings are kept.
    pub kept_days: i64,
    /// A person decides about it here: not about a turn or a part of a document, and not where an admin says so.
    pub is_manageable: bool,
    pub undo: Option<Undo>,
    pub deletion: Option<Deletion>,
    /// What would go with it.
    pub erasure: ItemErasure,
    pub embedding: ItemEmbedding,
    pub why: Why,
}
