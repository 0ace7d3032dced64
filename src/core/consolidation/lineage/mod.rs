//! The lineage of a memory: the session and episodes it comes from, its sources, what it replaced and what
//! replaced it, and the dreams and reflections written from it. One step in each direction, with limits.

mod store;

use crate::db::{Db, UserId};
use crate::memories::{MemoryItem, Trust, with_key};

/// Maximum neighbours of each kind.
const EPISODES_MAX: i64 = 3;
const SOURCES_MAX: i64 = 4;
const OLDER_MAX: i64 = 3;
const WRITTEN_MAX: i64 = 4;
const BEGINNING_CHARS_MAX: i32 = 160;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineageKind {
    Session,
    /// With the position in its session.
    Turn(i32),
    Episode,
    /// The memory was written from it.
    Source,
    /// It gave way to the memory.
    Older,
    This,
    /// The memory gave way to it.
    Newer,
    /// A dream's document.
    Dream,
    Reflection,
    /// Named by the memory.
    Entity,
}

#[derive(Clone, Debug)]
pub struct OriginNode {
    pub kind: LineageKind,
    /// The id of the session, memory or document; for a turn, its session's id.
    pub id: i64,
    /// The beginning of the text; for a session, the agent's name for it; for a turn, the quote that the
    /// memory was read from.
    pub text: String,
    /// `None` for sessions and entities.
    pub trust: Option<Trust>,
}

/// How one node leads to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineageLink {
    Has,
    ToldOf,
    WrittenFrom,
    ReplacedBy,
    MergedInto,
    /// It contradicts the other, which stays active.
    PutAsideFor,
    Names,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginEdge {
    /// Indexes into the nodes.
    pub from: usize,
    pub to: usize,
    pub how: LineageLink,
}

#[derive(Clone, Debug, Default)]
pub struct Lineage {
    pub nodes: Vec<OriginNode>,
    pub edges: Vec<OriginEdge>,
}

impl Lineage {
    fn add(&mut self, node: OriginNode) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn join(&mut self, from: usize, to: usize, how: LineageLink) {
        self.edges.push(OriginEdge { from, to, how });
    }
}

/// The lineage of a memory or an episode; the first node is itself.
///
/// # Errors
/// Only database errors.
pub async fn of(db: &Db, user: UserId, item: &MemoryItem) -> Result<Lineage, sqlx::Error> {
    let mut lineage = Lineage::default();
    let told = with_key(item.key.as_deref(), &item.content);
    let beginning: String = told.chars().take(BEGINNING_CHARS_MAX as usize).collect();
    let this = lineage.add(OriginNode {
        kind: LineageKind::This,
        id: item.id.0,
        text: beginning,
        trust: Some(item.trust),
    });
    let mut tx = db.as_user(user).await?;
    // Possible sources of dreams and reflections.
    let mut read: Vec<(i64, usize)> = vec![(item.id.0, this)];
    let is_episode = item.span.is_some();
    let of_span = item.span.as_ref().and_then(|span| span.session_id);
    let of_span = of_span.map(|session| (session, None));
    if let Some((session, position)) = item.said_in.or(of_span)
        && let Some(name) = store::find_session(&mut tx, user, session).await?
    {
        let said = lineage.add(OriginNode {
            kind: LineageKind::Session,
            id: session,
            text: name,
            trust: None,
        });
        let mut turn = None;
        if let Some(position) = position {
            let limits = (position, BEGINNING_CHARS_MAX);
            turn = store::find_turn(&mut tx, user, session, limits).await?;
        }
        match turn {
            Some(mut turn) => {
                turn.text = item.source_context.clone().unwrap_or(turn.text);
                let at = lineage.add(turn);
                lineage.join(said, at, LineageLink::Has);
                lineage.join(at, this, LineageLink::WrittenFrom);
            }
            None if is_episode => lineage.join(said, this, LineageLink::ToldOf),
            None => lineage.join(said, this, LineageLink::WrittenFrom),
        }
        if !is_episode {
            let limits = (BEGINNING_CHARS_MAX, EPISODES_MAX);
            for episode in store::list_episodes(&mut tx, user, session, limits).await? {
                let id = episode.id;
                let at = lineage.add(episode);
                lineage.join(said, at, LineageLink::ToldOf);
                read.push((id, at));
            }
        }
    }
    let limits = (BEGINNING_CHARS_MAX, SOURCES_MAX);
    for source in store::list_sources(&mut tx, user, item.id, limits).await? {
        let at = lineage.add(source);
        lineage.join(at, this, LineageLink::WrittenFrom);
    }
    let limits = (BEGINNING_CHARS_MAX, OLDER_MAX);
    for (older, event) in store::list_older(&mut tx, user, item.id, limits).await? {
        let at = lineage.add(older);
        lineage.join(at, this, way(event.as_deref()));
    }
    if let Some(newer) = item.superseded_by
        && let Some((newer, event)) =
            store::find_newer(&mut tx, user, (item.id, newer), BEGINNING_CHARS_MAX).await?
    {
        let at = lineage.add(newer);
        lineage.join(this, at, way(event.as_deref()));
    }
    let ids: Vec<i64> = read.iter().map(|(id, _)| *id).collect();
    let limits = (BEGINNING_CHARS_MAX, WRITTEN_MAX);
    for (sources, written) in store::list_written(&mut tx, user, &ids, limits).await? {
        let at = lineage.add(written);
        for (_, from) in read.iter().filter(|(id, _)| sources.contains(id)) {
            lineage.join(*from, at, LineageLink::WrittenFrom);
        }
    }
    tx.commit().await?;
    Ok(lineage)
}

fn way(event: Option<&str>) -> LineageLink {
    match event {
        Some("merged") => LineageLink::MergedInto,
        Some("put_aside") => LineageLink::PutAsideFor,
        _ => LineageLink::ReplacedBy,
    }
}
