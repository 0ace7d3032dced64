//! The revisions of a document: who changed it when, and what one of them changed, line by line.

use leptos::prelude::*;

use super::diff::{DiffLine, DiffView, LineChange};
use super::other_word;
use crate::address::DocumentFilters;
use crate::components::{Marked, When, WordBadge, count};
use crate::documents::Revision;

/// Newest first.
#[component]
pub fn Revisions(id: i64, revisions: Vec<Revision>, shown: Option<i32>) -> impl IntoView {
    let rows = revisions.iter().enumerate().map(|(n, row)| {
        let event = event_of(row, revisions.get(n + 1));
        let href = DocumentFilters::of_revision(row.revision).href(id) + "#changes-title";
        let current = (shown == Some(row.revision)).then_some("true");
        view! {
            <li>
                <a href=href aria-current=current>
                    {format!("Revision {}", row.revision)}
                </a>
                <span class="event">
                    <bdi>
                        <Marked text=event />
                    </bdi>
                </span>
                <span class="actor">"by " <bdi>{author(row)}</bdi></span>
                {other_word(row.trust).map(|whose| view! { <WordBadge whose /> })}
                <When at=row.at />
            </li>
        }
    });
    view! {
        <section class="part" aria-labelledby="revisions-title">
            <h2 id="revisions-title">"Revisions"</h2>
            <ol class="timeline">{rows.collect_view()}</ol>
        </section>
    }
    .into_any()
}

fn event_of(one: &Revision, before: Option<&Revision>) -> String {
    match (one.event.as_str(), before) {
        ("renamed", Some(before)) => format!("renamed from {} to {}", before.path, one.path),
        ("renamed", None) => format!("renamed to {}", one.path),
        ("archived", _) => "deleted".to_owned(),
        (event, _) => event.to_owned(),
    }
}

pub fn author(revision: &Revision) -> String {
    match &revision.agent {
        Some(agent) => agent.clone(),
        None if revision.event == "imported" => "an import".to_owned(),
        None => "you".to_owned(),
    }
}

#[component]
pub fn Changes(revision: i32, diff: DiffView) -> impl IntoView {
    let body = match diff {
        DiffView::Same => {
            view! { <p class="hint">"The text is the same as in the previous revision."</p> }
                .into_any()
        }
        DiffView::NothingBefore => view! {
            <p class="hint">"The previous revision is no longer kept, so there is nothing to compare with."</p>
        }
        .into_any(),
        DiffView::TooLong => view! {
            <p class="hint">
                "These texts are too long to compare. Each revision shows its whole text."
            </p>
        }
        .into_any(),
        DiffView::Lines {
            lines,
            added,
            removed,
        } => view! { <Lines lines added removed /> }.into_any(),
    };
    view! {
        <section class="part" aria-labelledby="changes-title">
            <h2 id="changes-title">{format!("Changes of revision {revision}")}</h2>
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Lines(lines: Vec<DiffLine>, added: usize, removed: usize) -> impl IntoView {
    let said = format!("{}, {}", lines_of(added, "added"), lines_of(removed, "removed"));
    let rows = lines.into_iter().map(|line| {
        let (class, sign, words) = match line.change {
            LineChange::Same => ("diff-same", " ", ""),
            LineChange::Added => ("diff-added", "+", "added: "),
            LineChange::Removed => ("diff-removed", "-", "removed: "),
            LineChange::Gap => ("diff-gap", "", ""),
        };
        let number = |n: Option<usize>| n.map(|n| n.to_string()).unwrap_or_default();
        view! {
            <tr class=class>
                <td class="number">{number(line.old)}</td>
                <td class="number">{number(line.new)}</td>
                <td class="diff-sign">
                    <span aria-hidden="true">{sign}</span>
                    <span class="visually-hidden">{words}</span>
                </td>
                <td class="diff-text" dir="auto">
                    <Marked text=line.text />
                </td>
            </tr>
        }
    });
    view! {
        <p class="hint number">{said}</p>
        <table class="diff">
            <thead class="visually-hidden">
                <tr>
                    <th scope="col">"Line before"</th>
                    <th scope="col">"Line after"</th>
                    <th scope="col">"Change"</th>
                    <th scope="col">"Text"</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn lines_of(n: usize, done: &str) -> String {
    match n {
        1 => format!("1 line {done}"),
        n => format!("{} lines {done}", count(n as i64)),
    }
}
