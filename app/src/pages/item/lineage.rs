//! Where a memory comes from, what came of it and what it names: boxes from left to right, each a link, joined by lines;
//! and the same as text.

pub mod load;

use leptos::prelude::*;

use crate::components::Marked;
use crate::view::{LineageEdge, LineageNode, LineageView};

/// In the units of the picture.
const WIDTH: usize = 200;
const HEIGHT: usize = 56;
const STEP_X: usize = 240;
const STEP_Y: usize = 72;
/// Of a text; the rest is in its title.
const CHARS_MAX: usize = 24;

#[component]
pub fn Lineage(lineage: LineageView) -> impl IntoView {
    if lineage.nodes.len() < 2 {
        return ().into_any();
    }
    let width = (lineage.columns - 1) * STEP_X + WIDTH + 2;
    let height = (lineage.rows - 1) * STEP_Y + HEIGHT + 2;
    let edges = lineage.edges.iter().map(|edge| line(&lineage.nodes, edge)).collect_view();
    let told = lineage
        .edges
        .iter()
        .filter_map(|edge| {
            Some((lineage.nodes.get(edge.from)?, edge.how, lineage.nodes.get(edge.to)?))
        })
        .map(|(from, how, to)| view! { <li>{end(from)} " " {how} " " {end(to)}</li> })
        .collect_view();
    let nodes = lineage.nodes.clone().into_iter().map(node).collect_view();
    view! {
        <h3 id="lineage-title">"Connections"</h3>
        <div class="lineage" tabindex="0" role="group" aria-labelledby="lineage-title">
            <svg viewBox=format!("-1 -1 {width} {height}") width=width height=height>
                {edges}
                {nodes}
            </svg>
        </div>
        <details class="fold" id="lineage-text">
            <summary>"As text"</summary>
            <ul class="lines">{told}</ul>
        </details>
    }
    .into_any()
}

/// "this", "session “monday”"
fn end(node: &LineageNode) -> AnyView {
    match node.is_this {
        true => "this memory".into_any(),
        false => view! {
            {node.what}
            " "
            <a href=node.href.clone() dir="auto">
                <Marked text=node.text.clone() />
            </a>
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
