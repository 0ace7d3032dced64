//! Who is connected to whom on a day: a picture drawn on the server, and the same content as a table below it. Filters live in
//! the address; the island only moves the picture and the day.

mod picture;
mod places;

use axum::response::Response;
use leptos::prelude::*;
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime, Time};

use crate::address::{DEPTHS, GraphFilters, entity_path};
use crate::clock::Zone;
use crate::components::{Choice, ENTITY_TYPES, Marked, Pick, Section, TypeBadge, count, not_found};
use crate::entities::graph::{self, EdgeKind, Graph, GraphQuery};
use crate::entities::layout::Point;
use crate::entities::{Entity, EntityError, EntityId, Predicate};
use crate::islands::GraphView;
use crate::limits::GRAPH_NODES_SHOWN;
use crate::moment::parse_day;
use crate::page::{Page, PageError, database};
use crate::pages::entities::entity_error;
use crate::search::reader::on_a_thread;
use picture::Picture;
use places::places;

#[derive(Clone)]
struct GraphFound {
    /// The largest connected part first.
    nodes: Vec<GraphNode>,
    ties: Vec<GraphTie>,
    /// Of which `nodes` are the first.
    nodes_total: usize,
    parts_total: usize,
    /// There are more ties than were read.
    is_cut: bool,
    /// The first day that has a relation.
    first: OffsetDateTime,
    chosen: OffsetDateTime,
    now: OffsetDateTime,
}

impl GraphFound {
    fn center(&self) -> Option<&Entity> {
        self.nodes.iter().find(|node| node.is_center).map(|node| &node.entity)
    }
}

/// An entity in the picture, at its place there.
#[derive(Clone)]
struct GraphNode {
    entity: Entity,
    is_center: bool,
    /// Connections that are shown.
    degree: usize,
    x: f64,
    y: f64,
}

/// A row of the table, and a part of a line of the picture: nodes by their place in the list.
#[derive(Clone)]
struct GraphTie {
    from: usize,
    to: usize,
    /// "lives in"
    words: String,
    /// "since 2019"
    when: String,
    /// Nothing was stated: both are named in the same memories.
    is_together: bool,
}

pub async fn show(page: Page) -> Response {
    let filters = GraphFilters::from_query(page.query());
    let found = load(&page, &filters).await;
    let href = filters.href();
    page.render(Section::Graph, "Graph", href, found, move |graph| {
        let body = match graph {
            Some(graph) => view! { <GraphPage graph filters=filters.clone() /> }.into_any(),
            None => {
                not_found();
                view! { <NoSuchCenter /> }.into_any()
            }
        };
        view! { <div class="page">{body}</div> }.into_any()
    })
    .await
}

/// `None`: there is no such entity to show the graph around.
async fn load(page: &Page, filters: &GraphFilters) -> Result<Option<GraphFound>, PageError> {
    let (db, user, now) = (&page.state.db, page.viewer.user_id, page.state.clock.now());
    let first = graph::first_day(db, user).await.map_err(database)?.unwrap_or(now).min(now);
    let chosen = filters.at.as_deref().and_then(|text| parse_day("at", text).ok());
    let chosen = chosen.map_or(now, end_of_day).min(now);
    let query = GraphQuery {
        around: filters.around.map(EntityId),
        depth: filters.depth,
        types: filters.entity_type.into_iter().collect(),
        predicate: filters.relation.as_deref().and_then(Predicate::parse),
        at: chosen,
        as_of: None,
        with_together: filters.with_together,
        limit: GRAPH_NODES_SHOWN,
    };
    let found = match graph::read(db, user, &query).await {
        Ok(found) => found,
        Err(EntityError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(entity_error(error)),
    };
    let ties = ties_of(&found, &page.zone());
    let (count, pairs) = (found.nodes.len(), ties.iter().map(|t| (t.from, t.to)).collect());
    let points = on_a_thread(move || places(count, pairs)).await.map_err(database)?;
    let center = center_of(&found, filters);
    Ok(Some(GraphFound {
        nodes_total: found.nodes_total,
        parts_total: found.parts_total,
        is_cut: found.is_cut,
        nodes: nodes_of(found.nodes, &ties, &points, center),
        ties,
        first,
        chosen,
        now,
    }))
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
    nodes: Vec<Entity>,
    ties: &[GraphTie],
    points: &[Point],
    center: Option<usize>,
) -> Vec<GraphNode> {
    let mut degrees = vec![0; nodes.len()];
    for tie in ties {
        degrees[tie.from] += 1;
        degrees[tie.to] += 1;
    }
    let placed = nodes.into_iter().zip(points).zip(degrees).enumerate();
    placed
        .map(|(at, ((entity, point), degree))| GraphNode {
            entity,
            is_center: center == Some(at),
            degree,
            x: point.x,
            y: point.y,
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

#[component]
fn NoSuchCenter() -> impl IntoView {
    view! {
        <h1>"No such entity"</h1>
        <p>"The memories that named it may have been deleted, or it was never yours."</p>
        <p>
            <a href="/graph">"Whole graph"</a>
        </p>
    }
}

#[component]
fn GraphPage(graph: GraphFound, filters: GraphFilters) -> impl IntoView {
    let is_narrowed = filters.is_narrowed();
    if graph.nodes.is_empty() && !is_narrowed {
        return view! { <Beginning /> }.into_any();
    }
    let heading = heading_of(&graph, &filters);
    let body = match graph.nodes.is_empty() || (graph.ties.is_empty() && graph.nodes.len() < 2) {
        true => view! { <Nothing /> }.into_any(),
        false => view! { <Drawn graph=graph.clone() /> }.into_any(),
    };
    view! {
        <h1>{heading}</h1>
        <Narrow graph filters />
        {body}
    }
    .into_any()
}

fn heading_of(graph: &GraphFound, filters: &GraphFilters) -> AnyView {
    let day = filters
        .at
        .as_ref()
        .filter(|_| graph.chosen.date() != graph.now.date())
        .map(|_| format!(" on {}", day(graph.chosen)));
    let center = graph.center().map(|center| {
        let name = center.name.clone();
        view! {
            " around "
            <bdi>
                <Marked text=name />
            </bdi>
        }
    });
    view! {
        "Graph"
        {center}
        {day}
    }
    .into_any()
}

#[component]
fn Drawn(graph: GraphFound) -> impl IntoView {
    let mut types: Vec<&'static str> = ENTITY_TYPES.to_vec();
    types.retain(|slug| graph.nodes.iter().any(|node| node.entity.entity_type.as_str() == *slug));
    let legend = types.into_iter().map(|slug| {
        view! {
            <li>
                <TypeBadge item_type=slug.to_owned() />
            </li>
        }
    });
    let cut = graph.is_cut.then_some(" There are more connections than one picture can show.");
    view! {
        <figure
            class="graph"
            id="graph"
            aria-labelledby="graph-caption"
            data-first=days_since_1970(graph.first)
            data-today=days_since_1970(graph.now)
            data-chosen=days_since_1970(graph.chosen)
            data-day=day(graph.chosen)
        >
            <figcaption id="graph-caption" class="count">
                {extent(&graph)}
                {cut}
            </figcaption>
            <div class="graph-tools">
                <GraphView />
            </div>
            <Picture nodes=graph.nodes.clone() ties=graph.ties.clone() />
            <ul class="graph-legend hint">
                {legend.collect_view()} <li class="key-stated">"stated"</li>
                <li class="key-together">"named together"</li>
            </ul>
        </figure>
        <Ties nodes=graph.nodes ties=graph.ties />
    }
    .into_any()
}

/// "120 of 431 entities shown, 12 parts"
fn extent(graph: &GraphFound) -> String {
    let shown = graph.nodes.len();
    let entities = match (shown, graph.nodes_total) {
        (1, 1) => "1 entity".to_owned(),
        (shown, total) if shown == total => format!("{} entities", count(total as i64)),
        (shown, total) => {
            format!("{} of {} entities shown", count(shown as i64), count(total as i64))
        }
    };
    let parts = match graph.parts_total {
        1 => "1 part".to_owned(),
        n => format!("{} parts", count(n as i64)),
    };
    format!("{entities}, {parts}.")
}

#[component]
fn Nothing() -> impl IntoView {
    view! {
        <div class="nothing">
            <p class="first-words">"Nothing is connected here."</p>
            <p>"Choose a later day, another relation or more steps, or "
                <a href="/graph">"show everything"</a> "."
            </p>
        </div>
    }
    .into_any()
}

#[component]
fn Beginning() -> impl IntoView {
    view! {
        <h1>"Graph"</h1>
        <div class="nothing">
            <p class="first-words">"Nothing is connected yet."</p>
            <p>"This page will show who is connected to whom. Connections come from two sources:"</p>
            <ul>
                <li>
                    "Your chat model finds them in conversations, such as “Anna works at Acme”: "
                    <a href="/settings/chat">"set up a chat model"</a> "."
                </li>
                <li>"Two names that appear together in at least two memories are connected without a model."</li>
            </ul>
            <p>
                <a href="/entities">"Entities found so far"</a>
            </p>
        </div>
    }
    .into_any()
}

#[component]
fn Narrow(graph: GraphFound, filters: GraphFilters) -> impl IntoView {
    let types: Vec<Choice> = ENTITY_TYPES
        .map(|slug| {
            let is_chosen = filters.entity_type.is_some_and(|one| one.as_str() == slug);
            (slug.to_owned(), slug.to_owned(), is_chosen)
        })
        .to_vec();
    let relations: Vec<Choice> = Predicate::all()
        .map(|one| {
            let is_chosen = filters.relation.as_deref() == Some(one.as_str());
            (one.as_str().to_owned(), one.in_words(false), is_chosen)
        })
        .collect();
    let together: Vec<Choice> =
        vec![("0".to_owned(), "Only stated connections".to_owned(), !filters.with_together)];
    let around = graph.center().map(|center| {
        let steps: Vec<Choice> = DEPTHS[1..]
            .iter()
            .map(|depth| {
                let words = format!("{depth} steps");
                (depth.to_string(), words, filters.depth == *depth)
            })
            .collect();
        view! {
            <input type="hidden" name="around" value=center.id.0 />
            <Pick name="depth" label="Steps" any="1 step" choices=steps />
        }
    });
    let reset = filters.is_narrowed().then(|| {
        view! {
            <a class="reset" href="/graph">
                "Show everything"
            </a>
        }
    });
    view! {
        <form id="filters" class="filters" method="get" action="/graph" autocomplete="off">
            <div class="narrow picks">
                {around}
                <Pick name="type" label="Type" any="Any type" choices=types />
                <Pick name="relation" label="Relation" any="Any relation" choices=relations />
                <Pick
                    name="together"
                    label="Connections"
                    any="Also named together"
                    choices=together
                />
                <label class="pick graph-day">
                    <span>"Date"</span>
                    <input
                        id="graph-at"
                        type="date"
                        name="at"
                        value=filters.at.as_ref().map(|_| day(graph.chosen))
                        min=day(graph.first)
                        max=day(graph.now)
                    />
                </label>
                <button type="submit">"Show"</button>
                {reset}
            </div>
        </form>
    }
    .into_any()
}

/// The content of the picture as a table: one row a connection.
#[component]
fn Ties(nodes: Vec<GraphNode>, ties: Vec<GraphTie>) -> impl IntoView {
    let heading = match ties.len() {
        1 => "1 connection".to_owned(),
        n => format!("{} connections", count(n as i64)),
    };
    let link = |at: usize| nodes.get(at).map(|node| link_to(&node.entity));
    let rows = ties
        .into_iter()
        .map(|tie| {
            view! {
                <tr>
                    <th scope="row">{link(tie.from)}</th>
                    <td class="tie-words">
                        <bdi>
                            <Marked text=tie.words />
                        </bdi>
                    </td>
                    <td>{link(tie.to)}</td>
                    <td class="number">{tie.when}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="part" aria-labelledby="ties-title">
            <h2 id="ties-title">{heading}</h2>
            <table class="ties">
                <thead>
                    <tr>
                        <th scope="col">"From"</th>
                        <th scope="col">"Relation"</th>
                        <th scope="col">"To"</th>
                        <th scope="col">"When"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
    .into_any()
}

fn link_to(entity: &Entity) -> AnyView {
    view! {
        <a href=entity_path(entity.id.0) dir="auto">
            <Marked text=entity.name.clone() />
        </a>
    }
    .into_any()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
