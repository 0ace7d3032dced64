//! Who is connected to whom on a day: a picture drawn on the server, and the same content as a
//! table below it. Filters live in the address; the island only moves the picture and the day.

pub mod load;
mod picture;
mod table;

use axum::response::Response;
use leptos::prelude::*;

use crate::address::DEPTHS;
use crate::components::not_found;
use crate::components::{Choice, ENTITY_TYPES, Marked, Pick, Section, TypeBadge, count};
use crate::islands::GraphView;
use crate::page::Page;
use crate::view::{EntityLink, GraphFilters, GraphPage};
use picture::Picture;
use table::Ties;

pub async fn show(page: Page) -> Response {
    let filters = GraphFilters::from_query(page.query());
    let found = page.graph_view(&page.viewer, &filters).await;
    let href = filters.href();
    page.render(Section::Graph, "Graph", href, found, move |page| {
        let body = match page {
            Some(page) => view! { <Whole page filters=filters.clone() /> }.into_any(),
            None => {
                not_found();
                view! { <Missing /> }.into_any()
            }
        };
        view! { <div class="page">{body}</div> }.into_any()
    })
    .await
}

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"No such entity"</h1>
        <p>"The memories that named it may have been deleted, or it was never yours."</p>
        <p>
            <a href="/graph">"Whole graph"</a>
        </p>
    }
}

#[component]
fn Whole(page: GraphPage, filters: GraphFilters) -> impl IntoView {
    let is_narrowed = filters.is_narrowed();
    if page.nodes.is_empty() && !is_narrowed {
        return view! { <Beginning /> }.into_any();
    }
    let heading = heading_of(&page, &filters);
    let body = match page.nodes.is_empty() || (page.ties.is_empty() && page.nodes.len() < 2) {
        true => view! { <Nothing /> }.into_any(),
        false => view! { <Drawn page=page.clone() /> }.into_any(),
    };
    view! {
        <h1>{heading}</h1>
        <Narrow page filters />
        {body}
    }
    .into_any()
}

fn heading_of(page: &GraphPage, filters: &GraphFilters) -> AnyView {
    let day = filters
        .at
        .as_ref()
        .filter(|_| page.days.chosen != page.days.today)
        .map(|_| format!(" on {}", page.chosen_day));
    let center = page.center.clone().map(|EntityLink { name, .. }| {
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
fn Drawn(page: GraphPage) -> impl IntoView {
    let days = page.days;
    let mut types: Vec<&'static str> = ENTITY_TYPES.to_vec();
    types.retain(|slug| page.nodes.iter().any(|node| node.link.entity_type == *slug));
    let legend = types.into_iter().map(|slug| {
        view! {
            <li>
                <TypeBadge item_type=slug.to_owned() />
            </li>
        }
    });
    let cut = page.is_cut.then_some(" There are more connections than one picture can show.");
    view! {
        <figure
            class="graph"
            id="graph"
            aria-labelledby="graph-caption"
            data-first=days.first
            data-today=days.today
            data-chosen=days.chosen
            data-day=page.chosen_day.clone()
        >
            <figcaption id="graph-caption" class="count">
                {extent(&page)}
                {cut}
            </figcaption>
            <div class="graph-tools">
                <GraphView />
            </div>
            <Picture nodes=page.nodes.clone() ties=page.ties.clone() />
            <ul class="graph-legend hint">
                {legend.collect_view()} <li class="key-stated">"stated"</li>
                <li class="key-together">"named together"</li>
            </ul>
        </figure>
        <Ties nodes=page.nodes ties=page.ties />
    }
    .into_any()
}

/// "120 of 431 entities shown, 12 parts"
fn extent(page: &GraphPage) -> String {
    let shown = page.nodes.len();
    let entities = match (shown, page.nodes_total) {
        (1, 1) => "1 entity".to_owned(),
        (shown, total) if shown == total => format!("{} entities", count(total as i64)),
        (shown, total) => {
            format!("{} of {} entities shown", count(shown as i64), count(total as i64))
        }
    };
    let parts = match page.parts_total {
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
fn Narrow(page: GraphPage, filters: GraphFilters) -> impl IntoView {
    let types: Vec<Choice> = ENTITY_TYPES
        .map(|slug| {
            let is_chosen = filters.entity_type == Some(slug);
            (slug.to_owned(), slug.to_owned(), is_chosen)
        })
        .to_vec();
    let relations: Vec<Choice> = page
        .relations
        .into_iter()
        .map(|(slug, words)| {
            let is_chosen = filters.relation.as_deref() == Some(slug);
            (slug.to_owned(), words, is_chosen)
        })
        .collect();
    let together: Vec<Choice> =
        vec![("0".to_owned(), "Only stated connections".to_owned(), !filters.with_together)];
    let around = page.center.map(|center| {
        let steps: Vec<Choice> = DEPTHS[1..]
            .iter()
            .map(|depth| {
                let words = format!("{depth} steps");
                (depth.to_string(), words, filters.depth == *depth)
            })
            .collect();
        view! {
            <input type="hidden" name="around" value=center.id />
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
                        value=filters.at.as_ref().map(|_| page.chosen_day.clone())
                        min=page.first_day
                        max=page.today
                    />
                </label>
                <button type="submit">"Show"</button>
                {reset}
            </div>
        </form>
    }
    .into_any()
}
