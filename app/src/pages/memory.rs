//! The memory page: every filter lives in the address, and a form and plain
//! links change it. The parts marked `data-live` are those that the island
//! [`LiveResults`] replaces; no island may stand inside them.

mod areas;
mod empty;
mod filters;
pub mod load;
mod waiting;
mod week;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{DayBanner, ItemRow, Section};
use crate::islands::LiveResults;
use crate::limits::{RANKED_MAX, ROWS_MAX};
use crate::page::Page;
use crate::view::{MemoryFilters, MemoryPage, SearchMode};
use areas::Areas;
use empty::{Beginning, NothingMatches, OnlyConversations};
use filters::{SearchForm, Themes};
use waiting::Waiting;
use week::Week;

/// More are not counted.
const COUNTED_MAX: i64 = 100;

pub async fn show(page: Page) -> Response {
    let filters = MemoryFilters::from_query(page.query());
    let found = page.memory_view(&page.viewer, &filters).await;
    let title = match filters.q.trim() {
        "" => "Memory".to_owned(),
        words => format!("{words} · Memory"),
    };
    let href = filters.href();
    page.render(Section::Memory, title, href, found, move |page| {
        if page.total_items == 0 && page.rows.is_empty() && page.conversations.is_none() {
            view! { <Beginning public_url=page.public_url /> }.into_any()
        } else {
            view! { <Found page filters=filters.clone() /> }.into_any()
        }
    })
    .await
}

#[component]
fn Found(page: MemoryPage, filters: MemoryFilters) -> impl IntoView {
    let degraded =
        page.degraded.clone().map(|sentence| view! { <p class="degraded">{sentence}</p> });
    let note = |sentence| view! { <p class="answer-note">{sentence}</p> };
    let notes = page.notes.clone().into_iter().map(note).collect_view();
    let (day, today) = (page.day.clone(), filters.today().href());
    let more = page.has_more.then(|| more_of(&filters));
    // Without filters nothing is listed because there is nothing but conversations.
    let said = page.conversations.filter(|_| filters == MemoryFilters::from_query(""));
    let (count, class) = match said {
        Some(_) => ("No memories yet.".to_owned(), "first-words"),
        None => (count_of(&page), "count"),
    };
    let rows = if let Some(conversations) = said {
        view! { <OnlyConversations conversations public_url=page.public_url.clone() /> }.into_any()
    } else if page.rows.is_empty() {
        view! { <NothingMatches filters=filters.clone() /> }.into_any()
    } else {
        view! {
            <ol class="rows">
                {page.rows.into_iter().map(|row| view! { <ItemRow row /> }).collect_view()}
            </ol>
        }
        .into_any()
    };
    view! {
        <div id="live" class="memory">
            <h1>"Memory"</h1>
            <SearchForm agents=page.agents filters=filters.clone() />
            <Themes themes=page.themes.clone() has_more=page.has_more_themes filters=filters.clone() />
            <div class="found">
                <ToLookAt learned=page.learned imported=page.imported proposed=page.proposed proposals=page.proposals />
                <Week week=page.week />
                <Areas themes=page.themes filters />
                <Waiting waiting=page.waiting />
                <section id="results" class="results" data-live="results" aria-labelledby="count">
                    <h2 id="count" class=class>
                        {count}
                    </h2>
                    <DayBanner day today />
                    {degraded}
                    {notes}
                    {rows}
                    {more}
                </section>
            </div>
        </div>
        <LiveResults />
    }
    .into_any()
}

/// The way to what was learned or imported since, and to what agents and dreams propose.
#[component]
fn ToLookAt(learned: i64, imported: i64, proposed: i64, proposals: i64) -> impl IntoView {
    let link = |href: &'static str, words: &'static str, count: i64| {
        let told = match count {
            0 => return None,
            n if n >= COUNTED_MAX => format!("{COUNTED_MAX} and more"),
            n => n.to_string(),
        };
        Some(view! {
            <a href=href>
                {words} " " <span class="count-badge">{told}</span>
            </a>
        })
    };
    let links: Vec<_> = [
        link("/learned", "New to review", learned),
        link("/learned#imported", "Imported, to review", imported),
        link("/learned#proposed", "Proposed by agents", proposed),
        link("/dreams", "Proposed in dreams", proposals),
    ]
    .into_iter()
    .flatten()
    .collect();
    match links.is_empty() {
        true => ().into_any(),
        false => view! { <p class="to-look-at">{links}</p> }.into_any(),
    }
}

/// What the list is, in a few words: the heading, and what is announced.
fn count_of(page: &MemoryPage) -> String {
    let rows = page.rows.len();
    let is_ranked = page.mode != SearchMode::Recent;
    let what = what_of(page);
    match (rows, is_ranked, page.has_more) {
        (0, ..) => "No memories".to_owned(),
        (1, _, false) => format!("1 {}", what.0),
        (_, true, has_more) if has_more || rows >= RANKED_MAX => {
            format!("Top {rows}")
        }
        (_, true, _) => format!("{rows} {} by relevance", what.1),
        (_, false, true) => format!("The newest {rows} {}", what.1),
        (_, false, false) => format!("{rows} {}, newest first", what.1),
    }
}

/// What one row is, and several: what is no memory is not called one.
fn what_of(page: &MemoryPage) -> (&'static str, &'static str) {
    let of = |row: &crate::view::ItemRow| match row.item_type.as_str() {
        "turn" => ("message", "messages"),
        "episode" => ("episode", "episodes"),
        "document" => ("part of a document", "parts of documents"),
        _ => ("memory", "memories"),
    };
    let mut all = page.rows.iter().map(of);
    let first = all.next().unwrap_or(("memory", "memories"));
    match all.all(|other| other == first) {
        true => first,
        false => ("result", "results"),
    }
}

fn more_of(filters: &MemoryFilters) -> AnyView {
    match filters.with_more() {
        Some(more) => {
            let step = more.shown - filters.shown;
            let href = more.href();
            view! {
                <p class="more">
                    <a class="button" href=href data-live-link="more">
                        {format!("Show {step} more")}
                    </a>
                </p>
            }
            .into_any()
        }
        None => view! {
            <p class="more hint">
                {format!("At most {ROWS_MAX} are shown. Search to find older ones.")}
            </p>
        }
        .into_any(),
    }
}
