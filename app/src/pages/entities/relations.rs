//! How an entity is connected, along time: one bar a relation on a common axis. The words of a
//! row say the same as its bar, which is decoration for whoever cannot see it.

use leptos::prelude::*;

use crate::address::said_in;
use crate::components::{Marked, StateBadge, When};
use crate::view::{RelationBar, RelationEnd, RelationSource, RelationState, RelationView};

/// Sources that stand open; the others are folded.
const SOURCES_OPEN: usize = 1;

#[component]
pub fn Relations(relations: Vec<RelationView>, axis_from: String) -> impl IntoView {
    let body = if relations.is_empty() {
        view! {
            <p class="hint">
                "None yet. Relations are found in conversations by your "
                <a href="/settings/chat">"chat model"</a> ", where one is set up."
            </p>
        }
        .into_any()
    } else {
        let rows = relations.into_iter().map(|relation| view! { <Row relation /> });
        view! {
            <p class="hint spans-ends" aria-hidden="true">
                <span>{axis_from}</span>
                <span>"today"</span>
            </p>
            <ol class="spans">{rows.collect_view()}</ol>
        }
        .into_any()
    };
    view! {
        <section class="part" aria-labelledby="relations-title">
            <h2 id="relations-title">"Relations"</h2>
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Row(relation: RelationView) -> impl IntoView {
    let (class, badge) = match relation.state {
        RelationState::Current => ("span", None),
        RelationState::Past => ("span span-past", Some("past")),
        RelationState::PutAside => ("span span-aside", Some("contradicted")),
    };
    let end = match relation.end {
        RelationEnd::Entity(link) => view! {
            <a href=link.href() title=link.entity_type>
                <bdi>
                    <Marked text=link.name.clone() />
                </bdi>
            </a>
        }
        .into_any(),
        RelationEnd::Value(text) => view! {
            <b>
                <bdi>
                    <Marked text />
                </bdi>
            </b>
        }
        .into_any(),
    };
    let when = match relation.when.is_empty() {
        true => "no dates given".to_owned(),
        false => relation.when,
    };
    let replaced = relation.in_its_place.map(|words| {
        view! {
            <p class="hint">
                "Replaced by: " <bdi>{words}</bdi>
            </p>
        }
    });
    view! {
        <li class=class>
            <p class="span-words" dir="auto">
                {relation.before} {end} {relation.after}
                {badge.map(|state| view! { <StateBadge state /> })}
            </p>
            <div class="span-time">
                <Bar bar=relation.bar />
                <span class="hint number">{when}</span>
            </div>
            <div class="span-from">{replaced} <Sources sources=relation.sources /></div>
        </li>
    }
    .into_any()
}

/// Faded at its beginning where nobody said when that was.
#[component]
pub fn Bar(bar: RelationBar) -> impl IntoView {
    const FADE: u32 = 24;
    let (x, width) = (bar.x, bar.width);
    let fade = bar.is_open_start.then(|| {
        [1, 2, 3]
            .into_iter()
            .filter(|step| x >= FADE * step)
            .map(|step| {
                let class = format!("span-fade-{step}");
                view! { <rect class=class x=x - FADE * step y="0" width=FADE height="8" /> }
            })
            .collect_view()
    });
    view! {
        <svg
            class="span-bar"
            viewBox="0 0 1000 8"
            preserveAspectRatio="none"
            aria-hidden="true"
            focusable="false"
        >
            <rect class="span-rail" x="0" y="3.5" width="1000" height="1" />
            {fade}
            <rect class="span-held" x=x y="0" width=width height="8" />
        </svg>
    }
    .into_any()
}

#[component]
fn Sources(sources: Vec<RelationSource>) -> impl IntoView {
    let mut sources = sources.into_iter();
    let open: Vec<_> =
        sources.by_ref().take(SOURCES_OPEN).map(|source| view! { <Source source /> }).collect();
    let rest: Vec<_> = sources.map(|source| view! { <Source source /> }).collect();
    let rest = (!rest.is_empty()).then(|| {
        let words = match rest.len() {
            1 => "1 more source".to_owned(),
            n => format!("{n} more sources"),
        };
        view! {
            <details>
                <summary>{words}</summary>
                {rest}
            </details>
        }
    });
    view! {
        {open}
        {rest}
    }
    .into_any()
}

#[component]
fn Source(source: RelationSource) -> impl IntoView {
    let sentence = source.sentence.map(|text| {
        view! {
            <blockquote class="quote" dir="auto">
                <Marked text />
            </blockquote>
        }
    });
    let memory = source.item.map(|id| view! { <a href=format!("/memory/{id}")>"memory " {id}</a> });
    let session =
        source.session.map(|place| view! { <a href=said_in(place)>"View conversation"</a> });
    view! {
        <div class="span-source">
            {sentence}
            <p class="row-from">
                <span>{source.whose}</span>
                {memory}
                {session}
                <When at=source.at />
            </p>
        </div>
    }
    .into_any()
}
