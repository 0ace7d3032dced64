//! The picture of a graph as SVG: a line for each two that are connected, a link for each entity.
//! Names are drawn where they do not cover each other; the others show on hover and focus.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::places::{HEIGHT, WIDTH};
use super::{GraphNode, GraphTie};
use crate::address::entity_path;
use crate::components::{shape_of, without_unseen};

/// Of a name in the picture.
const LABEL_CHARS_MAX: usize = 22;
/// Height of a letter, in the picture's units; `style/main.css` draws it so.
const LETTER: f64 = 14.0;
/// How much larger nodes and names are drawn on a phone, as `style/main.css` does.
const ON_A_PHONE: f64 = 2.4;
/// Past so many nodes, each is drawn smaller.
const NODES_AT_FULL_SIZE: f64 = 40.0;

#[component]
pub fn Picture(nodes: Vec<GraphNode>, ties: Vec<GraphTie>) -> impl IntoView {
    let size = (NODES_AT_FULL_SIZE / nodes.len().max(1) as f64).sqrt().clamp(0.4, 1.0);
    let radii: Vec<f64> = nodes.iter().map(|node| radius(node, size)).collect();
    let lines = lines_of(&ties)
        .into_iter()
        .map(|line| view! { <Line one=nodes[line.one].clone() other=nodes[line.other].clone() line /> })
        .collect_view();
    let wide = labelled(&nodes, &radii, 1.0);
    let narrow = labelled(&nodes, &radii, ON_A_PHONE);
    let drawn = nodes
        .into_iter()
        .enumerate()
        .map(|(at, node)| {
            let label = match (wide[at], narrow[at]) {
                (_, true) => "label",
                (true, false) => "label label-wide",
                (false, false) => "label label-rest",
            };
            view! { <Node node radius=radii[at] label /> }
        })
        .collect_view();
    let frame = format!("0 0 {} {}", WIDTH, HEIGHT);
    view! {
        <svg id="graph-picture" class="graph-picture" viewBox=frame role="group" aria-labelledby="graph-caption">
            <g class="lines" aria-hidden="true">
                {lines}
            </g>
            <g class="nodes">{drawn}</g>
        </svg>
    }
    .into_any()
}

fn radius(node: &GraphNode, size: f64) -> f64 {
    let grown = 8.0 + 2.6 * (node.degree as f64).sqrt();
    (grown.min(22.0) + if node.is_center { 4.0 } else { 0.0 }) * size
}

/// All that connects two.
#[derive(Clone)]
struct LineBetween {
    one: usize,
    other: usize,
    ties: Vec<GraphTie>,
}

fn lines_of(ties: &[GraphTie]) -> Vec<LineBetween> {
    let mut lines: BTreeMap<(usize, usize), Vec<GraphTie>> = BTreeMap::new();
    for tie in ties {
        let ends = (tie.from.min(tie.to), tie.from.max(tie.to));
        lines.entry(ends).or_default().push(tie.clone());
    }
    lines.into_iter().map(|((one, other), ties)| LineBetween { one, other, ties }).collect()
}

#[component]
fn Line(one: GraphNode, other: GraphNode, line: LineBetween) -> impl IntoView {
    let name = |at: usize| match at == line.one {
        true => &one.entity.name,
        false => &other.entity.name,
    };
    let said: Vec<String> = line
        .ties
        .iter()
        .map(|tie| {
            let said = match tie.is_together {
                true => format!("{} and {}: {}", name(tie.from), name(tie.to), tie.words),
                false => format!("{} {} {}", name(tie.from), tie.words, name(tie.to)),
            };
            match tie.when.is_empty() {
                true => said,
                false => format!("{said}, {}", tie.when),
            }
        })
        .collect();
    let class = match line.ties.iter().all(|tie| tie.is_together) {
        true => "line line-together",
        false => "line",
    };
    view! {
        <line class=class x1=round(one.x) y1=round(one.y) x2=round(other.x) y2=round(other.y)>
            <title>{without_unseen(&said.join("\n"))}</title>
        </line>
    }
    .into_any()
}

#[component]
fn Node(node: GraphNode, radius: f64, label: &'static str) -> impl IntoView {
    let name = without_unseen(&node.entity.name);
    let entity_type = node.entity.entity_type.as_str();
    let class = match node.is_center {
        true => format!("node node-{entity_type} node-center"),
        false => format!("node node-{entity_type}"),
    };
    let place = format!("translate({} {})", round(node.x), round(node.y));
    // The shape is 12 by 12, and fits into the circle.
    let shape = format!("scale({}) translate(-6 -6)", round(radius / 9.5));
    let title = format!("{name}, {entity_type}");
    view! {
        <g transform=place>
        <a class=class href=entity_path(node.entity.id.0)>
            <title>{title}</title>
            <g class="node-face">
                <circle r=round(radius) />
                <path d=shape_of(entity_type) fill-rule="evenodd" transform=shape />
                <text class=label y=round(radius + LETTER) text-anchor="middle">
                    {cut(&name)}
                </text>
            </g>
        </a>
        </g>
    }
    .into_any()
}

/// One decimal is enough for a picture.
fn round(n: f64) -> f64 {
    (n * 10.0).round() / 10.0
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(LABEL_CHARS_MAX) {
        Some((at, _)) => format!("{}…", name[..at].trim_end()),
        None => name.to_owned(),
    }
}

#[derive(Clone, Copy)]
struct Rectangle {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Rectangle {
    fn around(x: f64, y: f64, half_width: f64, half_height: f64) -> Self {
        Self {
            left: x - half_width,
            top: y - half_height,
            right: x + half_width,
            bottom: y + half_height,
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Which names are drawn at this scale: of the best connected first, each that covers no node, no
/// name before it and no edge of the picture.
fn labelled(nodes: &[GraphNode], radii: &[f64], scale: f64) -> Vec<bool> {
    let faces: Vec<Rectangle> = nodes
        .iter()
        .zip(radii)
        .map(|(node, r)| Rectangle::around(node.x, node.y, r * scale, r * scale))
        .collect();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|at| (!nodes[*at].is_center, std::cmp::Reverse(nodes[*at].degree), *at));
    let mut taken: Vec<Rectangle> = Vec::new();
    let mut drawn = vec![false; nodes.len()];
    for at in order {
        let (node, letter) = (&nodes[at], LETTER * scale);
        let width = cut(&node.entity.name).chars().count() as f64 * letter * 0.56;
        let middle = node.y + (radii[at] + LETTER * 0.65) * scale;
        let area = Rectangle::around(node.x, middle, width / 2.0, letter * 0.55);
        let is_inside = area.left >= 0.0 && area.right <= WIDTH && area.bottom <= HEIGHT;
        let covers_a_face = faces.iter().enumerate().any(|(n, f)| n != at && f.meets(&area));
        if is_inside && !covers_a_face && !taken.iter().any(|one| one.meets(&area)) {
            drawn[at] = true;
            taken.push(area);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::{Entity, EntityId};
    use crate::memories::mentions::EntityType;

    fn node(name: &str, x: f64, degree: usize) -> GraphNode {
        GraphNode {
            entity: Entity {
                id: EntityId(1),
                name: name.to_owned(),
                entity_type: EntityType::Person,
                is_user: false,
                is_protected: false,
                summary: None,
                mentions: 1,
                first_seen: None,
                last_seen: None,
                relations: 1,
            },
            is_center: false,
            degree,
            x,
            y: 100.0,
        }
    }

    fn tie(from: usize, to: usize, is_together: bool) -> GraphTie {
        GraphTie { from, to, words: "knows".to_owned(), when: String::new(), is_together }
    }

    #[test]
    fn names_that_would_cover_each_other_are_left_to_the_best_connected() {
        let nodes = [
            node("Anna Bergmann", 200.0, 1),
            node("Benedikt Huber", 240.0, 5),
            node("Carla", 700.0, 1),
        ];
        let radii = [9.0; 3];
        assert_eq!(labelled(&nodes, &radii, 1.0), [false, true, true]);
    }

    #[test]
    fn two_have_one_line_whichever_way_they_are_connected() {
        let lines = lines_of(&[tie(0, 1, false), tie(1, 0, true), tie(1, 2, true)]);
        let ends: Vec<_> = lines.iter().map(|l| (l.one, l.other, l.ties.len())).collect();
        assert_eq!(ends, [(0, 1, 2), (1, 2, 1)]);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(cut("Zoë"), "Zoë");
        assert_eq!(cut(&"ä".repeat(40)).chars().count(), LABEL_CHARS_MAX + 1);
    }
}
