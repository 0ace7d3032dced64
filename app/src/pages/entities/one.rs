//! One entity: what it is, how it is connected and since when, which memories name it, and
//! what was decided about it. What a person decides stands apart (`manage.rs`).

use axum::response::Response;
use leptos::prelude::*;

use super::manage::{Decisions, Manage};
use super::relations::Relations;
use super::same::mentions;
use crate::components::not_found;
use crate::components::{Fact, Facts, Marked, Section, StateBadge, TypeBadge, When};
use crate::limits::MENTIONED_IN_SHOWN;
use crate::page::Page;
use crate::view::{EntityPage, GraphFilters, MentionedIn};

pub async fn show(page: Page) -> Response {
    // What is not a number names nothing.
    let found = match page.id().parse() {
        Ok(id) => page.entity_view(&page.viewer, id).await,
        Err(_) => Ok(None),
    };
    let href = format!("/entities/{}", page.id());
    page.render(Section::Entities, "An entity", href, found, move |page| {
        let body = match page {
            Some(page) => view! { <Whole page /> }.into_any(),
            None => {
                not_found();
                view! { <Missing /> }.into_any()
            }
        };
        view! {
            <div class="page">{body}</div>
        }
        .into_any()
    })
    .await
}

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"No such entity"</h1>
        <p>"The memories that named it may have been deleted, or it was never yours."</p>
        <p>
            <a href="/entities">"All entities"</a>
        </p>
    }
}

#[component]
fn Whole(page: EntityPage) -> impl IntoView {
    let around = GraphFilters::around(page.link.id).href();
    let summary = page.summary.clone().map(|text| {
        view! {
            <p class="entity-summary" dir="auto">
                <Marked text />
            </p>
        }
    });
    view! {
        <article class="entity">
            <header class="item-head">
                <h1 dir="auto">
                    <Marked text=page.link.name.clone() />
                </h1>
                <p class="badges">
                    <TypeBadge item_type=page.link.entity_type.to_owned() />
                    {page.is_user.then(|| view! { <StateBadge state="you" /> })}
                    {(page.is_protected && !page.is_user)
                        .then(|| view! { <StateBadge state="protected" /> })}
                    <a href=around>"Graph around it"</a>
                </p>
            </header>
            {summary}
            <About page=page.clone() />
            <Relations relations=page.relations.clone() axis_from=page.axis_from.clone() />
            <Memories mentions=page.mentions memories=page.memories.clone() />
            <Decisions page=page.clone() />
            <Manage page />
        </article>
    }
    .into_any()
}

#[component]
fn About(page: EntityPage) -> impl IntoView {
    let mut facts: Vec<Fact> = Vec::new();
    let own = page.link.name;
    let others: Vec<String> =
        page.names.into_iter().map(|alias| alias.name).filter(|name| *name != own).collect();
    if !others.is_empty() {
        let names = others.into_iter().enumerate().map(|(n, name)| {
            let joint = if n == 0 { "" } else { ", " };
            view! {
                {joint}
                <bdi>
                    <Marked text=name />
                </bdi>
            }
        });
        facts.push(("Also called", names.collect_view().into_any()));
    }
    facts.push(("Named in", mentions(page.mentions).into_any()));
    for (term, seen) in [("First seen", page.first_seen), ("Last seen", page.last_seen)] {
        if let Some(moment) = seen {
            facts.push((term, view! { <When at=moment /> }.into_any()));
        }
    }
    view! { <Facts facts inline=true /> }.into_any()
}

#[component]
fn Memories(mentions: i64, memories: Vec<MentionedIn>) -> impl IntoView {
    let shown = memories.len();
    let list = if memories.is_empty() {
        view! { <p class="hint">"No memory names it now."</p> }.into_any()
    } else {
        let rows = memories.into_iter().map(|memory| {
            view! {
                <li class="row" data-row="">
                    <div class="row-type">
                        <TypeBadge item_type=memory.item_type />
                    </div>
                    <div class="row-words">
                        <a class="row-link" href=format!("/memory/{}", memory.id) dir="auto">
                            <Marked text=memory.words />
                        </a>
                    </div>
                    <div class="row-when">
                        <When at=memory.created />
                    </div>
                </li>
            }
        });
        view! { <ol class="rows">{rows.collect_view()}</ol> }.into_any()
    };
    let rest = (shown == MENTIONED_IN_SHOWN && mentions > shown as i64).then(|| {
        let words = format!("The newest {} are shown.", crate::components::memories(shown as i64));
        view! { <p class="hint">{words}</p> }
    });
    view! {
        <section class="part" aria-labelledby="memories-title">
            <h2 id="memories-title">"Memories that name it"</h2>
            {list}
            {rest}
        </section>
    }
    .into_any()
}
