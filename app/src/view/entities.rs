//! The types of the pages of entities: the list, one entity with its relations along time,
//! and the graph.

use time::OffsetDateTime;

/// What the address of `/entities` says: `?q=&type=&sort=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityFilters {
    pub q: String,
    /// Its slug; `None`: all but dates and addresses.
    pub entity_type: Option<&'static str>,
    pub sort: EntitySort,
    /// How many rows to show, in steps of [`PAGE_SIZE`](crate::limits::PAGE_SIZE).
    pub shown: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntitySort {
    #[default]
    Mentions,
    Name,
    LastSeen,
}

/// What leads to an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityLink {
    pub id: i64,
    pub name: String,
    pub entity_type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityRow {
    pub link: EntityLink,
    /// The person whose memory it is.
    pub is_user: bool,
    pub mentions: i64,
    pub relations: i64,
    pub last_seen: Option<OffsetDateTime>,
}

/// Two that may be one. Merged, the first stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityPair {
    pub one: EntityRow,
    pub other: EntityRow,
    /// "spelled almost alike"
    pub why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntitySettingsView {
    pub by_rules: bool,
    pub by_model: bool,
    pub in_search: bool,
    /// There are as many entities as there may be.
    pub is_full: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntitiesPage {
    pub rows: Vec<EntityRow>,
    /// Of the filters.
    pub total: i64,
    /// More rows than `shown` exist.
    pub has_more: bool,
    /// Of each type that there is, however the list is narrowed.
    pub types: Vec<(&'static str, i64)>,
    pub pairs: Vec<EntityPair>,
    pub pairs_total: i64,
    pub settings: EntitySettingsView,
    /// A person decides about them here: not where an admin has made the browser read-only.
    pub is_manageable: bool,
    /// There is none yet: asks for the "how to begin" page.
    pub is_empty: bool,
    /// This server's public URL, for the line to paste.
    pub public_url: String,
}

/// One of the names of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityName {
    pub id: i64,
    pub name: String,
    pub mentions: i64,
}

/// What stands at the other end of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationEnd {
    Entity(EntityLink),
    Value(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationState {
    /// True now, or from a later day on.
    Current,
    /// It has ended.
    Past,
    /// It was said, and is not held for true.
    PutAside,
}

/// A bar on the common axis of all relations, in thousandths of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationBar {
    pub x: u32,
    pub width: u32,
    /// Nobody said since when: it begins where it was first said, and may be older.
    pub is_open_start: bool,
}

/// A sentence that a relation was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationSource {
    pub sentence: Option<String>,
    /// "stated by you", "stated by an agent"
    pub whose: &'static str,
    pub at: OffsetDateTime,
    pub item: Option<i64>,
    /// Of a session, and the message's position there.
    pub session: Option<(i64, Option<i32>)>,
}

/// "lives in Lyon": `before`, the other end, `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationView {
    pub before: String,
    pub end: RelationEnd,
    pub after: String,
    /// "since 2019"; empty where nobody said.
    pub when: String,
    pub state: RelationState,
    /// What holds in its place, in words.
    pub in_its_place: Option<String>,
    pub bar: RelationBar,
    pub sources: Vec<RelationSource>,
}

/// A memory, or a message, that names the entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionedIn {
    pub id: i64,
    pub item_type: String,
    /// Its beginning.
    pub words: String,
    pub created: OffsetDateTime,
}

/// What was decided about an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityDecision {
    pub id: i64,
    /// "Merged with"
    pub words: String,
    /// The other entity that it is about: its number and name.
    pub other: Option<(i64, String)>,
    pub by_person: bool,
    pub at: OffsetDateTime,
    pub undone: Option<OffsetDateTime>,
    /// It is the latest that stands.
    pub can_undo: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityPage {
    pub link: EntityLink,
    pub is_user: bool,
    pub is_protected: bool,
    pub summary: Option<String>,
    /// Most mentioned first; its own name may be one of them.
    pub names: Vec<EntityName>,
    pub mentions: i64,
    pub first_seen: Option<OffsetDateTime>,
    pub last_seen: Option<OffsetDateTime>,
    /// Current first.
    pub relations: Vec<RelationView>,
    /// The day at which the axis of their bars begins; it ends today.
    pub axis_from: String,
    /// Newest first, at most [`MENTIONED_IN_SHOWN`](crate::limits::MENTIONED_IN_SHOWN).
    pub memories: Vec<MentionedIn>,
    /// Newest first.
    pub decisions: Vec<EntityDecision>,
    pub is_manageable: bool,
}

/// What the address of `/graph` says: `?around=&depth=&type=&relation=&at=&together=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphFilters {
    pub around: Option<i64>,
    /// Steps from it: 1 to 3.
    pub depth: u8,
    pub entity_type: Option<&'static str>,
    /// By its slug, such as `lives_in`.
    pub relation: Option<String>,
    /// A day as `2026-05-17`; `None`: today.
    pub at: Option<String>,
    /// `together=0`: only what was stated, not what is only named in the same memories.
    pub with_together: bool,
}

/// An entity in the picture, which is [`WIDTH`](Self::WIDTH) by [`HEIGHT`](Self::HEIGHT).
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    pub link: EntityLink,
    pub is_center: bool,
    /// Connections that are shown.
    pub degree: usize,
    pub x: f64,
    pub y: f64,
}

impl GraphNode {
    pub const WIDTH: f64 = 1_000.0;
    pub const HEIGHT: f64 = 640.0;
}

/// A row of the table, and a part of a line of the picture: nodes by their place in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphTie {
    pub from: usize,
    pub to: usize,
    /// "lives in"
    pub words: String,
    /// "since 2019"
    pub when: String,
    /// Nothing was stated: both are named in the same memories.
    pub is_together: bool,
}

/// Days as the browser counts them: since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphDays {
    pub first: i32,
    pub today: i32,
    pub chosen: i32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GraphPage {
    /// The largest connected part first.
    pub nodes: Vec<GraphNode>,
    pub ties: Vec<GraphTie>,
    /// Of which `nodes` are the first.
    pub nodes_total: usize,
    pub parts_total: usize,
    /// There are more ties than were read.
    pub is_cut: bool,
    pub center: Option<EntityLink>,
    /// All that there are, by slug and words.
    pub relations: Vec<(&'static str, String)>,
    pub days: GraphDays,
    /// The chosen day and the first one, as `2026-05-17`.
    pub chosen_day: String,
    pub first_day: String,
    pub today: String,
}
