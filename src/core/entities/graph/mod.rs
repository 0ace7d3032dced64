//! The graph of entities at a time: valid relations, and entities named in the same sources. Either around one entity up to a
//! depth, or the whole memory, largest connected component first.

mod store;

use std::collections::{HashMap, HashSet, VecDeque};

use time::OffsetDateTime;

use super::model::{Entity, EntityId, holds};
use super::predicates::Predicate;
use super::relations::held;
use super::{EntityError, store as entities};
use crate::db::{Db, UserId};
use crate::memories::Period;
use crate::memories::mentions::EntityType;

/// Limit on the nodes of a picture.
pub const NODES_MAX: usize = 500;
pub const DEPTH_MAX: u8 = 3;
/// Limit on the edges read.
const EDGES_MAX: i64 = 5_000;
/// Limit on the entities that are checked for common sources.
const TOGETHER_OF: i64 = 300;
/// Minimum number of common sources for an edge.
const TOGETHER_MIN: i64 = 2;

#[derive(Clone, Debug)]
pub struct GraphQuery {
    pub around: Option<EntityId>,
    /// 1 to [`DEPTH_MAX`]; ignored without `around`.
    pub depth: u8,
    /// Empty: all.
    pub types: Vec<EntityType>,
    pub predicate: Option<Predicate>,
    pub at: OffsetDateTime,
    /// When it was known; `None`: now.
    pub as_of: Option<OffsetDateTime>,
    /// Also connect entities named in the same sources.
    pub with_together: bool,
    /// 1 to [`NODES_MAX`]
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Relation {
        id: i64,
        predicate: Predicate,
        words: Option<String>,
        period: Period,
        /// The newest memory that states it.
        item: Option<i64>,
    },
    /// Number of sources that name both.
    Together(i64),
}

#[derive(Clone, Debug)]
pub struct GraphEdge {
    pub from: EntityId,
    pub to: EntityId,
    pub tie: EdgeKind,
}

impl GraphEdge {
    /// "lives in", "named together in 3"
    pub fn in_words(&self) -> String {
        match &self.tie {
            EdgeKind::Relation { predicate, words, .. } => match words {
                Some(words) if predicate.needs_words() => words.clone(),
                _ => predicate.in_words(false),
            },
            EdgeKind::Together(sources) => format!("named together in {sources}"),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Largest connected component first; within one, breadth-first from the best connected entity.
    pub nodes: Vec<Entity>,
    pub edges: Vec<GraphEdge>,
    /// Before the limit.
    pub nodes_total: usize,
    pub parts_total: usize,
    /// More edges exist than were read.
    pub is_cut: bool,
}

/// Reads the graph of a user's memory.
///
/// # Errors
/// [`EntityError::NotFound`] for `around`, or a database error.
pub async fn read(db: &Db, user: UserId, query: &GraphQuery) -> Result<Graph, EntityError> {
    let mut tx = db.as_user(user).await?;
    let around = match query.around {
        None => None,
        Some(id) => {
            let root = entities::find_root(&mut tx, user, id).await?;
            Some(root.ok_or(EntityError::NotFound(id))?)
        }
    };
    let mut edges = match around {
        None => {
            store::list_edges(&mut tx, user, query.predicate, query.as_of, EDGES_MAX + 1).await?
        }
        Some(center) => {
            let (mut known, mut front) = (HashSet::from([center.0]), vec![center.0]);
            let (mut edges, mut read): (Vec<GraphEdge>, HashSet<i64>) =
                (Vec::new(), HashSet::new());
            for _ in 0..query.depth.clamp(1, DEPTH_MAX) {
                let found = store::list_edges_of(
                    &mut tx,
                    user,
                    &front,
                    query.predicate,
                    query.as_of,
                    EDGES_MAX,
                )
                .await?;
                // The next step finds the same relation again from its other end.
                let is_new = |edge: &GraphEdge| match edge.tie {
                    EdgeKind::Relation { id, .. } => read.insert(id),
                    EdgeKind::Together(_) => true,
                };
                let found = found.into_iter().filter(|edge| is_true(edge, query.at));
                edges.extend(found.filter(is_new));
                let ends = edges.iter().flat_map(|e| [e.from.0, e.to.0]);
                front = ends.filter(|id| known.insert(*id)).collect();
                if front.is_empty() || edges.len() >= EDGES_MAX as usize {
                    break;
                }
            }
            edges
        }
    };
    let is_cut = edges.len() > EDGES_MAX as usize;
    edges.truncate(EDGES_MAX as usize);
    edges.retain(|edge| is_true(edge, query.at) && edge.from != edge.to);
    if query.with_together && query.predicate.is_none() {
        let together = store::list_mentioned_together(
            &mut tx,
            user,
            around,
            query.at,
            (TOGETHER_OF, TOGETHER_MIN),
        )
        .await?;
        let related: HashSet<(i64, i64)> = edges.iter().map(|e| ordered(e.from, e.to)).collect();
        edges.extend(together.into_iter().filter(|e| !related.contains(&ordered(e.from, e.to))));
    }
    let mut ids: Vec<i64> =
        edges.iter().flat_map(|e| [e.from.0, e.to.0]).chain(around.map(|id| id.0)).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut nodes = entities::list_of_ids(&mut tx, user, &ids).await?;
    let names: HashMap<i64, &str> = nodes.iter().map(|n| (n.id.0, n.name.as_str())).collect();
    let open = edges.iter().filter_map(|edge| match edge.tie {
        EdgeKind::Relation { id, .. } => Some((id, *names.get(&edge.to.0)?)),
        EdgeKind::Together(_) => None,
    });
    let open: Vec<(i64, &str)> = open.collect();
    let ended = held::list_ended(&mut tx, user, &open, query.as_of).await?;
    tx.commit().await?;
    if !ended.is_empty() {
        edges.retain_mut(|edge| {
            if let EdgeKind::Relation { id, period, .. } = &mut edge.tie
                && let Some(end) = ended.get(id)
            {
                match end.cut(*period) {
                    Some(cut) => *period = cut,
                    None => return false,
                }
            }
            is_true(edge, query.at)
        });
        let is_joined = |id| Some(id) == around || edges.iter().any(|e| e.from == id || e.to == id);
        nodes.retain(|node| is_joined(node.id));
    }
    let is_wanted = |node: &Entity| {
        query.types.is_empty() || query.types.contains(&node.entity_type) || Some(node.id) == around
    };
    let nodes: Vec<Entity> = nodes.into_iter().filter(is_wanted).collect();
    let mut graph = arranged(nodes, edges, around, query.limit.clamp(1, NODES_MAX));
    graph.is_cut = is_cut;
    Ok(graph)
}

/// The date of the first relation or mention, where the date slider starts.
pub async fn first_day(db: &Db, user: UserId) -> Result<Option<OffsetDateTime>, sqlx::Error> {
    db.for_user(user, store::find_first_day).await
}

fn is_true(edge: &GraphEdge, at: OffsetDateTime) -> bool {
    match &edge.tie {
        EdgeKind::Relation { period, .. } => holds(*period, at),
        EdgeKind::Together(_) => true,
    }
}

fn ordered(one: EntityId, other: EntityId) -> (i64, i64) {
    (one.0.min(other.0), one.0.max(other.0))
}

/// Orders components by size, then by their first entity, and each breadth-first from its best connected entity. Counts
/// what exceeds the limit.
fn arranged(
    nodes: Vec<Entity>,
    edges: Vec<GraphEdge>,
    around: Option<EntityId>,
    limit: usize,
) -> Graph {
    let mut by_id: HashMap<i64, Entity> = nodes.into_iter().map(|node| (node.id.0, node)).collect();
    let mut beside: HashMap<i64, Vec<i64>> = HashMap::new();
    let edges: Vec<GraphEdge> = edges
        .into_iter()
        .filter(|e| by_id.contains_key(&e.from.0) && by_id.contains_key(&e.to.0))
        .collect();
    for edge in &edges {
        beside.entry(edge.from.0).or_default().push(edge.to.0);
        beside.entry(edge.to.0).or_default().push(edge.from.0);
    }
    let degree = |id: &i64| beside.get(id).map_or(0, Vec::len);
    let mut starts: Vec<i64> = by_id.keys().copied().collect();
    starts.sort_by_key(|id| (Some(EntityId(*id)) != around, std::cmp::Reverse(degree(id)), *id));
    let mut seen: HashSet<i64> = HashSet::new();
    let mut parts: Vec<Vec<i64>> = Vec::new();
    for start in starts {
        if !seen.insert(start) {
            continue;
        }
        let (mut part, mut queue) = (Vec::new(), VecDeque::from([start]));
        while let Some(id) = queue.pop_front() {
            part.push(id);
            let mut next: Vec<i64> = beside.get(&id).cloned().unwrap_or_default();
            next.sort_by_key(|id| (std::cmp::Reverse(degree(id)), *id));
            queue.extend(next.into_iter().filter(|id| seen.insert(*id)));
        }
        parts.push(part);
    }
    // With `around`, drops entities that were connected to it only through filtered ones.
    if around.is_some() {
        parts.truncate(1);
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let (nodes_total, parts_total) = (parts.iter().map(Vec::len).sum(), parts.len());
    let order: Vec<i64> = parts.into_iter().flatten().take(limit).collect();
    let shown: HashSet<i64> = order.iter().copied().collect();
    Graph {
        nodes: order.iter().filter_map(|id| by_id.remove(id)).collect(),
        edges: edges
            .into_iter()
            .filter(|e| shown.contains(&e.from.0) && shown.contains(&e.to.0))
            .collect(),
        nodes_total,
        parts_total,
        is_cut: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(id: i64) -> Entity {
        Entity {
            id: EntityId(id),
            name: format!("e{id}"),
            entity_type: EntityType::Person,
            is_user: false,
            is_protected: false,
            summary: None,
            mentions: 1,
            first_seen: None,
            last_seen: None,
            relations: 1,
        }
    }

    fn edge(from: i64, to: i64) -> GraphEdge {
        GraphEdge { from: EntityId(from), to: EntityId(to), tie: EdgeKind::Together(2) }
    }

    #[test]
    fn the_largest_part_comes_first_and_the_rest_is_counted() {
        let nodes = (1..=7).map(entity).collect();
        // A triangle with one neighbour, a pair, and a single node 7.
        let edges = vec![edge(5, 6), edge(1, 2), edge(2, 3), edge(3, 1), edge(3, 4)];
        let graph = arranged(nodes, edges, None, 5);
        let ids: Vec<i64> = graph.nodes.iter().map(|n| n.id.0).collect();
        assert_eq!(ids, [3, 1, 2, 4, 5]);
        assert_eq!((graph.nodes_total, graph.parts_total, graph.edges.len()), (7, 3, 4));
    }

    #[test]
    fn around_one_there_is_one_part() {
        let nodes = (1..=4).map(entity).collect();
        let graph = arranged(nodes, vec![edge(1, 2), edge(3, 4)], Some(EntityId(3)), 10);
        let ids: Vec<i64> = graph.nodes.iter().map(|n| n.id.0).collect();
        assert_eq!(ids, [3, 4]);
    }
}
