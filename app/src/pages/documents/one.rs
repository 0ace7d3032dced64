//! One document: what it says, now or at a revision, what changed, which calls found it, and what a person decides
//! about it.

use axum::response::Response;
use leptos::prelude::*;

use super::manage::Manage;
use super::markdown::blocks;
use super::revisions::{Changes, Revisions};
use crate::address::document_path;
use crate::components::not_found;
use crate::components::{
    Fact, Facts, Marked, OwnerBadge, Section, StateBadge, When, WordBadge, count, did, size,
};
use crate::limits::FOUND_SHOWN;
use crate::page::Page;
use crate::view::{ActivityFilters, DocumentBody, DocumentFilters, DocumentPage, Reading};

pub async fn show(page: Page) -> Response {
    let filters = DocumentFilters::from_query(page.query());
    // What is not a number names nothing.
    let found = match page.id().parse() {
        Ok(id) => page.document_view(&page.viewer, id, &filters).await,
        Err(_) => Ok(None),
    };
    let href = format!("/documents/{}", page.id());
    page.render(Section::Documents, "A document", href, found, move |page| {
        let body = match page {
            Some(page) => view! { <Whole page filters=filters.clone() /> }.into_any(),
            None => {
                not_found();
                view! { <Missing /> }.into_any()
            }
        };
        view! {
            <div class="page">
                <p class="back">
                    <a href="/documents">
                        <span aria-hidden="true">"← "</span>
                        "All documents"
                    </a>
                </p>
                {body}
            </div>
        }
        .into_any()
    })
    .await
}

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"No such document"</h1>
        <p>
            "It or its revision may have been deleted permanently, or it was never yours."
        </p>
        <p>
            <a href="/data#receipts-title">"Receipts of what was deleted"</a>
        </p>
    }
}

#[component]
fn Whole(page: DocumentPage, filters: DocumentFilters) -> impl IntoView {
    let deleted = page.deleted.clone().map(|moment| {
        view! {
            <p class="aside">"It was deleted " <When at=moment /> ": agents no longer see it."</p>
        }
    });
    let changes = page
        .diff
        .clone()
        .zip(filters.revision)
        .map(|(diff, revision)| view! { <Changes revision diff /> });
    view! {
        <article class="document">
            <header class="item-head">
                <h1 dir="auto">
                    <Marked text=page.path.clone() />
                </h1>
                <p class="badges">
                    {page.deleted.is_some().then(|| view! { <StateBadge state="deleted" /> })}
                    {page.word.map(|whose| view! { <WordBadge whose /> })}
                    <OwnerBadge owner=page.owner.clone() />
                </p>
            </header>
            <About page=page.clone() />
            {deleted}
            {changes}
            <Text page=page.clone() filters=filters.clone() />
            <Revisions page=page.clone() shown=filters.revision />
            <Found id=page.id found=page.found.clone() kept_days=page.kept_days />
            <Manage page shown=filters.revision />
        </article>
    }
    .into_any()
}

#[component]
fn About(page: DocumentPage) -> impl IntoView {
    let by = view! {
        <When at=page.changed.clone() />
        " by "
        <bdi>{page.actor}</bdi>
    };
    let mut facts: Vec<Fact> = vec![
        ("Revision", view! { <span class="number">{page.revision}</span> }.into_any()),
        ("Changed", by.into_any()),
        ("Trust", page.whose.into_any()),
        ("Size", size(page.bytes).into_any()),
    ];
    if page.created != page.changed {
        facts.push(("Created", view! { <When at=page.created /> }.into_any()));
    }
    view! { <Facts facts inline=true /> }.into_any()
}

#[component]
fn Text(page: DocumentPage, filters: DocumentFilters) -> impl IntoView {
    let id = page.id;
    let heading = match filters.revision {
        Some(revision) if revision != page.revision => {
            format!("Text at revision {revision}")
        }
        _ => "Text".to_owned(),
    };
    let now = filters.revision.map(|_| view! { <a href=document_path(id)>"Newest revision"</a> });
    let other = page.is_markdown.then(|| match filters.as_text {
        true => view! { <a href=filters.rendered().href(id)>"Show rendered"</a> },
        false => view! { <a href=filters.as_text().href(id)>"Show source"</a> },
    });
    let body = match page.body {
        DocumentBody::Markdown { blocks: all, is_cut: false } if all.is_empty() => nothing(),
        DocumentBody::Markdown { blocks: all, is_cut } => {
            let rest = is_cut.then(|| {
                view! {
                    <p class="hint">
                        "The rest is not rendered: "
                        <a href=filters.as_text().href(id)>"show source"</a> "."
                    </p>
                }
            });
            view! {
                <div class="markdown">{blocks(all)}</div>
                {rest}
            }
            .into_any()
        }
        DocumentBody::Text { lines, .. } if lines.is_empty() => nothing(),
        DocumentBody::Text { lines, lines_total } => {
            let shown = lines.len();
            let rest = (lines_total > shown).then(|| {
                let words = format!(
                    "The first {} of {} lines are shown. ",
                    count(shown as i64),
                    count(lines_total as i64)
                );
                view! {
                    <p class="hint">
                        {words} <a href=filters.raw_href(id)>"Download the whole text"</a> "."
                    </p>
                }
            });
            view! {
                <Numbered lines />
                {rest}
            }
            .into_any()
        }
    };
    view! {
        <section class="part" aria-labelledby="text-title">
            <div class="title-row">
                <h2 id="text-title">{heading}</h2>
                <p class="row-from">
                    {now} {other}
                    <a href=filters.raw_href(id) download="">
                        "Download"
                    </a>
                </p>
            </div>
            {body}
        </section>
    }
    .into_any()
}

fn nothing() -> AnyView {
    view! { <p class="hint">"It is empty."</p> }.into_any()
}

#[component]
fn Numbered(lines: Vec<String>) -> impl IntoView {
    let lines = lines.into_iter().enumerate().map(|(n, text)| {
        let n = n + 1;
        view! {
            <li id=format!("L{n}")>
                <span dir="auto">
                    <Marked text />
                </span>
            </li>
        }
    });
    view! { <ol class="numbered">{lines.collect_view()}</ol> }.into_any()
}

/// Who got it by search or by its path, and when; the rest is on the page of activity.
#[component]
fn Found(id: i64, found: Vec<Reading>, kept_days: i64) -> impl IntoView {
    let list = if found.is_empty() {
        let none = format!("No call in the last {kept_days} days found, read or changed it.");
        view! { <p class="hint">{none}</p> }.into_any()
    } else {
        let is_full = found.len() == FOUND_SHOWN;
        let entries = found.into_iter().map(|reading| {
            let event = match reading.tool.as_str() {
                "memory_search" => "found by search",
                "memory_files" => "used as a file",
                tool => did(tool),
            };
            view! {
                <li>
                    <span class="event">{event}</span>
                    <span class="actor">"by " <bdi>{reading.agent}</bdi></span>
                    <code class="hint">{reading.tool}</code>
                    <When at=reading.at />
                </li>
            }
        });
        view! {
            <ol class="timeline">{entries.collect_view()}</ol>
            {is_full
                .then(|| {
                    view! { <p class="hint">{format!("The newest {FOUND_SHOWN} are shown.")}</p> }
                })}
        }
        .into_any()
    };
    view! {
        <section class="part" aria-labelledby="found-title">
            <h2 id="found-title">"Found"</h2>
            {list}
            <p>
                <a href=ActivityFilters::of_item(id).href()>"View activity"</a>
            </p>
        </section>
    }
    .into_any()
}
