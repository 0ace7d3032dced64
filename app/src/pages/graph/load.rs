//! The graph of entities, as its page shows it: the relations on a day, and the position of each entity.

use std::num::NonZeroUsize;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::limits::GRAPH_NODES_SHOWN;
use crate::page::PageError;
use crate::view::{GraphDays, GraphFilters, GraphNode, GraphPage, GraphTie};
use lru::LruCache;
use sha2::{Digest, Sha256};
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime, Time};

use crate::accounts::Viewer;
use crate::clock::Zone;
use crate::entities::graph::{self, EdgeKind, Graph, GraphQuery};
use crate::entities::layout::{Point, layout};
use crate::entities::{EntityError, EntityId, Predicate};
use crate::memories::mentions::EntityType;
use crate::moment::parse_day;
use crate::page::Page;
use crate::pages::entities::load::{entity_error, link_of};
use crate::search::reader::on_a_thread;

/// Space around the picture, for names.
const MARGIN: f64 = 48.0;
/// Maximum scale, in picture units per layout unit, so that a small graph is not enlarged too much.
const SCALE_MAX: f64 = 2.6;
/// Maximum horizontal stretch: the layout is round, and the picture wider than high.
const STRETCH_MAX: f64 = 1.7;

/// A cache of layouts: one of 500 nodes takes about 50 ms.
static PICTURES: LazyLock<Mutex<LruCache<[u8; 32], Vec<Point>>>> =
    LazyLock::new(|| Mutex::new(LruCache::new(NonZeroUsize::new(128).expect("not zero"))));

impl Page {
    pub(crate) async fn graph_view(
        &self,
        viewer: &Viewer,
        filters: &GraphFilters,
    ) -> Result<Option<GraphPage>, PageError> {
        let (db, user, now) = (&self.state.db, viewer.user_id, self.state.clock.now());
        let first = graph::first_day(db, user).await;
        let first = first.map_err(crate::page::database)?.unwrap_or(now).min(now);
        let chosen = filters.at.as_deref();
        let chosen = chosen.and_then(|text| parse_day("at", text).ok());
        let at = chosen.map_or(now, end_of_day).min(now);
        let predicate = filters.relation.as_deref().and_then(Predicate::parse);
        let query = GraphQuery {
            around: filters.around.map(EntityId),
            depth: filters.depth,
            types: filters.entity_type.and_then(EntityType::parse).into_iter().collect(),
            predicate,
            at,
            as_of: None,
            with_together: filters.with_together,
            limit: GRAPH_NODES_SHOWN,
        };
        let found = match graph::read(db, user, &query).await {
            Ok(found) => found,
            Err(EntityError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(entity_error(error)),
        };
        let ties = ties_of(&found, &self.zone());
        let (count, pairs) = (found.nodes.len(), ties.iter().map(|t| (t.from, t.to)).collect());
        let points = on_a_thread(move || fitted(&drawn(count, pairs))).await;
        let points = points.map_err(crate::page::database)?;
        let center = center_of(&found, filters);
        Ok(Some(GraphPage {
            nodes: nodes_of(&found, &ties, &points, center),
            center: center.map(|at| link_of(&found.nodes[at])),
            ties,
            nodes_total: found.nodes_total,
            parts_total: found.parts_total,
            is_cut: found.is_cut,
            relations: Predicate::all().map(|one| (one.as_str(), one.in_words(false))).collect(),
            days: GraphDays {
                first: days_since_1970(first),
                today: days_since_1970(now),
                chosen: days_since_1970(at),
            },
            chosen_day: day(at),
            first_day: day(first),
            today: day(now),
        }))
    }
}

/// Both ends as indexes into the nodes.
fn ties_of(found: &Graph, zone: &Zone) -> Vec<GraphTie> {
    let place = |id: EntityId| found.nodes.iter().position(|node| node.id == id);
    let ties = found.edges.iter().filter_map(|edge| {
        let (when, is_together) = match &edge.tie {
            EdgeKind::Relation { period, .. } => (period.told(zone), false),
            EdgeKind::Together(_) => (String::new(), true),
        };
        Some(GraphTie {
            from: place(edge.from)?,
            to: place(edge.to)?,
            words: edge.in_words(),
            when,
            is_together,
        })
    });
    ties.collect()
}

/// The index of the centre. If the entity was merged, its new id comes first.
fn center_of(found: &Graph, filters: &GraphFilters) -> Option<usize> {
    let id = filters.around?;
    let asked = found.nodes.iter().position(|node| node.id.0 == id);
    asked.or((!found.nodes.is_empty()).then_some(0))
}

fn nodes_of(
    found: &Graph,
    ties: &[GraphTie],
    points: &[Point],
    center: Option<usize>,
) -> Vec<GraphNode> {
    let mut degrees = vec![0; found.nodes.len()];
    for tie in ties {
        degrees[tie.from] += 1;
        degrees[tie.to] += 1;
    }
    let placed = found.nodes.iter().zip(points).zip(degrees).enumerate();
    placed
        .map(|(at, ((node, point), degree))| GraphNode {
            link: link_of(node),
            is_center: center == Some(at),
            degree,
            x: point.x,
            y: point.y,
        })
        .collect()
}

fn drawn(count: usize, mut pairs: Vec<(usize, usize)>) -> Vec<Point> {
    // Several relations between two entities pull no harder than one.
    for pair in &mut pairs {
        *pair = (pair.0.min(pair.1), pair.0.max(pair.1));
    }
    pairs.sort_unstable();
    pairs.dedup();
    // The key is the input of the layout, so that an entry is never stale and contains no names.
    let mut hash = Sha256::new();
    for (one, other) in [(count, count)].iter().chain(&pairs) {
        hash.update(one.to_le_bytes());
        hash.update(other.to_le_bytes());
    }
    let key: [u8; 32] = hash.finalize().into();
    let pictures = || PICTURES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = pictures().get(&key) {
        return known.clone();
    }
    let points = layout(count, &pairs);
    pictures().put(key, points.clone());
    points
}

/// Scales the layout to the picture and centres it.
fn fitted(points: &[Point]) -> Vec<Point> {
    let span = |of: fn(&Point) -> f64| {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for point in points {
            (low, high) = (low.min(of(point)), high.max(of(point)));
        }
        ((low + high) / 2.0, (high - low).max(1.0))
    };
    let ((x_middle, x_span), (y_middle, y_span)) = (span(|p| p.x), span(|p| p.y));
    let (x_fit, y_fit) =
        ((GraphNode::WIDTH - 2.0 * MARGIN) / x_span, (GraphNode::HEIGHT - 2.0 * MARGIN) / y_span);
    let scale = x_fit.min(y_fit).min(SCALE_MAX);
    let (x_scale, y_scale) = (x_fit.min(scale * STRETCH_MAX), y_fit.min(scale * STRETCH_MAX));
    points
        .iter()
        .map(|point| Point {
            x: GraphNode::WIDTH / 2.0 + (point.x - x_middle) * x_scale,
            y: GraphNode::HEIGHT / 2.0 + (point.y - y_middle) * y_scale,
        })
        .collect()
}

fn end_of_day(date: Date) -> OffsetDateTime {
    let next = date.next_day().unwrap_or(date);
    next.with_time(Time::MIDNIGHT).assume_utc() - Duration::MICROSECOND
}

fn day(at: OffsetDateTime) -> String {
    let day = format_description!("[year]-[month]-[day]");
    at.format(day).unwrap_or_default()
}

fn days_since_1970(at: OffsetDateTime) -> i32 {
    at.date().to_julian_day() - OffsetDateTime::UNIX_EPOCH.date().to_julian_day()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_within_the_frame_and_two_stand_in_its_middle() {
        let edges: Vec<(usize, usize)> = (1..60).map(|n| (n, n / 3)).collect();
        for count in [1, 2, 3, 60] {
            let points = fitted(&drawn(count, edges.clone()));
            let is_inside = |p: &Point| {
                (MARGIN - 0.1..=GraphNode::WIDTH - MARGIN + 0.1).contains(&p.x)
                    && (MARGIN - 0.1..=GraphNode::HEIGHT - MARGIN + 0.1).contains(&p.y)
            };
            assert!(points.iter().all(is_inside), "{points:?}");
        }
        let two = fitted(&drawn(2, vec![(1, 0)]));
        assert!((two[0].x + two[1].x - GraphNode::WIDTH).abs() < 1.0, "{two:?}");
    }

    #[test]
    fn a_day_is_read_whole() {
        let end = end_of_day(parse_day("at", "2026-05-17").unwrap());
        assert_eq!(day(end), "2026-05-17");
        assert_eq!(days_since_1970(end), 20_590);
        assert!(parse_day("at", "17.5.2026").is_err());
        for far in ["9999-12-31", "-9000-01-01", "0000-01-01"] {
            assert!(parse_day("at", far).is_err(), "{far}");
        }
    }
}
