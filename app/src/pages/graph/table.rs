//! The content of the picture as a table: one row a connection.

use leptos::prelude::*;

use crate::components::{Marked, count};
use crate::view::{EntityLink, GraphNode, GraphTie};

#[component]
pub fn Ties(nodes: Vec<GraphNode>, ties: Vec<GraphTie>) -> impl IntoView {
    let heading = match ties.len() {
        1 => "1 connection".to_owned(),
        n => format!("{} connections", count(n as i64)),
    };
    let link = |at: usize| nodes.get(at).map(|node| link_of(node.link.clone()));
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

fn link_of(link: EntityLink) -> AnyView {
    view! {
        <a href=link.href() dir="auto">
            <Marked text=link.name.clone() />
        </a>
    }
    .into_any()
}
