//! Where a memory comes from, what came of it and what it names: boxes in columns from left to right, each a link, joined by
//! lines; and the same as text, which is all where there are fewer than three boxes. The columns are sessions, episodes and
//! sources, the memory itself, what replaced it, what was written from it, and the entities that it names.

use leptos::prelude::*;

use super::NamedEntity;
use crate::address::said_in;
use crate::components::MarkedLink;
use crate::consolidation::lineage::{
    self, Lineage, LineageKind, LineageLink, OriginEdge, OriginNode,
};
use crate::kinds::whose;
use crate::memories::MemoryItem;
use crate::page::{Page, PageError, database};

/// The first of its text; all are named above the picture.
const NAMES_MAX: usize = 6;
/// Fewer boxes are told in words alone.
const BOXES_MIN: usize = 3;
/// In the units of the picture.
const WIDTH: usize = 200;
const HEIGHT: usize = 56;
const STEP_X: usize = 240;
const STEP_Y: usize = 72;
/// Of a text; the rest is in its title.
const CHARS_MAX: usize = 24;

/// With the entities that the memory names.
pub async fn load(
    page: &Page,
    item: &MemoryItem,
    names: &[NamedEntity],
) -> Result<Lineage, PageError> {
    let found = lineage::of(&page.state.db, page.viewer.user_id, item).await;
    let mut found = found.map_err(database)?;
    for (id, name, _) in names.iter().take(NAMES_MAX) {
        let to = found.nodes.len();
        found.edges.push(OriginEdge { from: 0, to, how: LineageLink::Names });
        let text = name.clone();
        found.nodes.push(OriginNode { kind: LineageKind::Entity, id: id.0, text, trust: None });
    }
    Ok(found)
}

struct LineageView {
    nodes: Vec<LineageNode>,
    edges: Vec<LineageEdge>,
    columns: usize,
    rows: usize,
}

struct LineageNode {
    /// From the left, and from above.
    column: usize,
    row: usize,
    /// "session", "dream" and their like.
    what: &'static str,
    text: String,
    /// Whose word it is.
    word: Option<&'static str>,
    href: String,
    is_this: bool,
}

struct LineageEdge {
    /// Places among the nodes.
    from: usize,
    to: usize,
    /// "replaced by" and its like.
    how: &'static str,
}

#[component]
pub fn Connections(lineage: Lineage) -> impl IntoView {
    if lineage.nodes.len() < 2 {
        return ().into_any();
    }
    let lineage = laid_out(lineage);
    let told = lineage
        .edges
        .iter()
        .filter_map(|edge| {
            Some((lineage.nodes.get(edge.from)?, edge.how, lineage.nodes.get(edge.to)?))
        })
        .map(|(from, how, to)| view! { <li>{end(from)} " " {how} " " {end(to)}</li> })
        .collect_view();
    let told = view! { <ul class="lines">{told}</ul> };
    let body = match lineage.nodes.len() < BOXES_MIN {
        true => told.into_any(),
        false => view! {
            {drawn(lineage)}
            <details class="fold" id="lineage-text">
                <summary>"As text"</summary>
                {told}
            </details>
        }
        .into_any(),
    };
    view! {
        <h3 id="lineage-title">"Connections"</h3>
        {body}
    }
    .into_any()
}

fn drawn(lineage: LineageView) -> impl IntoView {
    let width = (lineage.columns - 1) * STEP_X + WIDTH + 2;
    let height = (lineage.rows - 1) * STEP_Y + HEIGHT + 2;
    let edges = lineage.edges.iter().map(|edge| line(&lineage.nodes, edge)).collect_view();
    let nodes = lineage.nodes.into_iter().map(node).collect_view();
    view! {
        <div class="lineage" tabindex="0" role="group" aria-labelledby="lineage-title">
            <svg viewBox=format!("-1 -1 {width} {height}") width=width height=height>
                {edges}
                {nodes}
            </svg>
        </div>
    }
}

/// "this", "session “monday”"
fn end(node: &LineageNode) -> AnyView {
    match node.is_this {
        true => "this memory".into_any(),
        false => view! {
            {node.what}
            " "
            <MarkedLink href=node.href.clone() text=node.text.clone() />
            {node.word.map(|word| format!(" ({word})"))}
        }
        .into_any(),
    }
}

fn line(nodes: &[LineageNode], edge: &LineageEdge) -> AnyView {
    let (Some(from), Some(to)) = (nodes.get(edge.from), nodes.get(edge.to)) else {
        return ().into_any();
    };
    let (x, y) = (from.column * STEP_X + WIDTH, from.row * STEP_Y + HEIGHT / 2);
    let (to_x, to_y) = (to.column * STEP_X, to.row * STEP_Y + HEIGHT / 2);
    let bend = (to_x.saturating_sub(x)) / 2;
    let path = format!("M{x} {y}C{} {y} {} {to_y} {to_x} {to_y}", x + bend, to_x - bend);
    let title = format!("{} {} {}", from.what, edge.how, to.what);
    view! {
        <path class="lineage-line" d=path>
            <title>{title}</title>
        </path>
    }
    .into_any()
}

fn node(node: LineageNode) -> AnyView {
    let (x, y) = (node.column * STEP_X, node.row * STEP_Y);
    let words = match node.word {
        Some(word) => format!("{} · {word}", node.what),
        None => node.what.to_owned(),
    };
    let text = match node.text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", node.text[..end].trim_end()),
        None => node.text.clone(),
    };
    let title = format!("{words}: {}", node.text);
    view! {
        <a href=node.href class="lineage-node" aria-current=node.is_this.then_some("page")>
            <title>{title}</title>
            <rect x=x y=y width=WIDTH height=HEIGHT rx="4" />
            <text class="lineage-what" x={x + 10} y={y + 21}>
                {words}
            </text>
            <text x={x + 10} y={y + 42}>
                {text}
            </text>
        </a>
    }
    .into_any()
}

/// What gave way to the memory.
fn older(way: Option<LineageLink>) -> &'static str {
    match way {
        Some(LineageLink::PutAsideFor) => "put aside",
        Some(LineageLink::MergedInto) => "merged memory",
        _ => "replaced memory",
    }
}

/// What the memory gave way to.
fn newer(way: Option<LineageLink>) -> &'static str {
    match way {
        Some(LineageLink::PutAsideFor) => "kept memory",
        Some(LineageLink::MergedInto) => "merged memory",
        _ => "newer memory",
    }
}

fn column_of(kind: LineageKind) -> usize {
    match kind {
        LineageKind::Session => 0,
        LineageKind::Turn(_) | LineageKind::Source | LineageKind::Older | LineageKind::Episode => 1,
        LineageKind::This => 2,
        LineageKind::Newer => 3,
        LineageKind::Dream | LineageKind::Reflection | LineageKind::Entity => 4,
    }
}

fn laid_out(lineage: Lineage) -> LineageView {
    let mut taken = [0; 5];
    let is_there = |column: usize| lineage.nodes.iter().any(|node| column_of(node.kind) == column);
    let columns: Vec<usize> = (0..5).filter(|column| is_there(*column)).collect();
    let (is_said, has_newer) = (is_there(0), is_there(3));
    // How the memory at an end of an older or newer one's line gave way.
    let way_of = |at: usize| {
        let mut edges = lineage.edges.iter();
        edges.find(|edge| edge.from == at || edge.to == at).map(|edge| edge.how)
    };
    let ways: Vec<Option<LineageLink>> = (0..lineage.nodes.len()).map(way_of).collect();
    let mut nodes = Vec::with_capacity(lineage.nodes.len());
    for (node, way) in lineage.nodes.into_iter().zip(ways) {
        let column = column_of(node.kind);
        // The first row beside the memory is for its source; episodes come below, since lines run past them
        // to what was written from them. Entities stand below the newer memory, which their lines would run past.
        let least = usize::from(match node.kind {
            LineageKind::Episode => is_said,
            LineageKind::Entity => has_newer,
            _ => false,
        });
        let row = taken[column].max(least);
        taken[column] = row + 1;
        let (what, href) = match node.kind {
            LineageKind::Session => ("session", format!("/sessions/{}", node.id)),
            LineageKind::Turn(position) => ("turn", said_in((node.id, Some(position)))),
            LineageKind::Episode => ("episode", format!("/memory/{}", node.id)),
            LineageKind::Source => ("memory", format!("/memory/{}", node.id)),
            LineageKind::Older => (older(way), format!("/memory/{}", node.id)),
            LineageKind::This => ("this", format!("/memory/{}", node.id)),
            LineageKind::Newer => (newer(way), format!("/memory/{}", node.id)),
            LineageKind::Dream => ("dream", format!("/documents/{}", node.id)),
            LineageKind::Reflection => ("reflection", format!("/memory/{}", node.id)),
            LineageKind::Entity => ("entity", format!("/entities/{}", node.id)),
        };
        nodes.push(LineageNode {
            column: columns.iter().position(|c| *c == column).unwrap_or(0),
            row,
            what,
            text: match node.kind {
                // The document's file name.
                LineageKind::Dream => node.text.rsplit('/').next().unwrap_or_default().to_owned(),
                _ => node.text,
            },
            word: node.trust.map(whose),
            href,
            is_this: node.kind == LineageKind::This,
        });
    }
    let edges = lineage.edges.into_iter().map(|edge| LineageEdge {
        from: edge.from,
        to: edge.to,
        how: match edge.how {
            LineageLink::Has => "has",
            LineageLink::ToldOf => "is stated by",
            LineageLink::WrittenFrom => "was read for",
            LineageLink::ReplacedBy => "was replaced by",
            LineageLink::MergedInto => "was merged into",
            LineageLink::PutAsideFor => "contradicts",
            LineageLink::Names => "names",
        },
    });
    LineageView {
        edges: edges.collect(),
        columns: columns.len(),
        rows: taken.into_iter().max().unwrap_or(1),
        nodes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_are_empty_are_left_out_and_nothing_stands_upon_another() {
        let node = |kind, id| OriginNode { kind, id, text: format!("node {id}"), trust: None };
        let nodes = vec![
            node(LineageKind::This, 1),
            node(LineageKind::Session, 2),
            node(LineageKind::Episode, 3),
            node(LineageKind::Episode, 4),
            node(LineageKind::Older, 5),
            node(LineageKind::Turn(3), 2),
            node(LineageKind::Dream, 6),
            node(LineageKind::Entity, 7),
        ];
        let edge = |from, to, how| OriginEdge { from, to, how };
        let edges =
            vec![edge(2, 5, LineageLink::WrittenFrom), edge(4, 0, LineageLink::PutAsideFor)];
        let view = laid_out(Lineage { nodes, edges });
        assert_eq!((view.columns, view.rows), (4, 5));
        let mut places: Vec<_> = view.nodes.iter().map(|n| (n.column, n.row)).collect();
        assert_eq!(places[0], (2, 0), "itself");
        assert_eq!(places[6], (3, 0), "past a column that nothing stands in");
        assert_eq!((places[7], view.nodes[4].what), ((3, 1), "put aside"));
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), view.nodes.len());
    }
}
