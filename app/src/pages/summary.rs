//! Summary: what is remembered as one narrative, with its date and the memories it stands
//! on; or why there is none, and what to do about it.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Fact, Facts, FormError, Marked, Renewal, Section, SourceList, StateBadge, When, count, memories,
};
use crate::forms::FormState;
use crate::page::Page;
use crate::view::{SummaryPage, SummaryState, SummaryText};

const PATH: &str = "/summary";

pub async fn show(page: Page) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let form = page.form.clone();
    let found = page.summary_view(&page.viewer).await;
    page.render(Section::Summary, "Summary", PATH, found, move |page| {
        view! { <Whole page form=form.clone() is_held /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: SummaryPage, form: FormState, is_held: bool) -> impl IntoView {
    let is_under_way =
        page.state == SummaryState::Writing || (page.state == SummaryState::Waiting && page.is_due);
    let renewal = (is_under_way && form.form.is_none())
        .then(|| view! { <Renewal path=PATH.to_owned() is_held /> });
    view! {
        <article class="page summary">
            <header class="item-head">
                <h1>"Summary"</h1>
                <p class="badges">
                    <StateBadge state=badge(&page) />
                </p>
            </header>
            <FormError form=form fields=&[] />
            {page.text.clone().map(|text| view! { <Narrative text /> })}
            <Standing page=page.clone() />
            {renewal}
            {page.text.map(|text| view! { <Sources text /> })}
        </article>
    }
    .into_any()
}

fn badge(page: &SummaryPage) -> &'static str {
    match page.state {
        SummaryState::Current => "ready",
        SummaryState::Waiting | SummaryState::Writing => "pending",
        SummaryState::Failed => "failed",
        SummaryState::Empty => "nothing",
        SummaryState::Off => "off",
        SummaryState::MemoryOff => "memory off",
    }
}

#[component]
fn Narrative(text: SummaryText) -> impl IntoView {
    let mut facts: Vec<Fact> = vec![("Written", view! { <When at=text.made /> }.into_any())];
    if let Some(model) = text.model {
        facts.push(("By", view! { <bdi>{model}</bdi> }.into_any()));
    }
    view! {
        <div class="narrative">
            {text
                .paragraphs
                .into_iter()
                .map(|paragraph| {
                    view! {
                        <p dir="auto">
                            <Marked text=paragraph />
                        </p>
                    }
                })
                .collect_view()}
        </div>
        <Facts facts inline=true />
    }
    .into_any()
}

/// How it stands, in a sentence or two, and the button where it helps.
#[component]
fn Standing(page: SummaryPage) -> impl IntoView {
    let has_text = page.text.is_some();
    let is_stale = page.text.as_ref().is_some_and(|text| text.is_stale);
    let label = if has_text { "Write again" } else { "Write now" };
    let changed = is_stale.then_some("Your memories have changed since. ");
    let said = match page.state {
        SummaryState::Current => None,
        SummaryState::Writing => Some("The summary is being written.".to_owned()),
        SummaryState::Waiting if page.is_due => {
            Some("The summary will be written in a moment.".to_owned())
        }
        SummaryState::Waiting if page.next_try.is_some() => Some("It will be written".to_owned()),
        SummaryState::Waiting if has_text => Some(
            "It is written again once nothing was added or archived for five minutes.".to_owned(),
        ),
        SummaryState::Waiting => {
            Some("It is written once nothing was added or archived for five minutes.".to_owned())
        }
        SummaryState::Failed => page.reason.clone(),
        SummaryState::Empty => Some("No memories yet.".to_owned()),
        SummaryState::Off | SummaryState::MemoryOff => page.reason.clone(),
    };
    let is_asked = page.state == SummaryState::Waiting && page.next_try.is_some();
    let before = if is_asked { " " } else { " Next attempt " };
    let next = page.next_try.filter(|_| !page.is_due).map(|at| {
        view! {
            {before}
            <When at=at />
            "."
        }
    });
    let link = match page.state {
        SummaryState::Off => Some(("/settings/chat", "Open Settings › Chat model")),
        SummaryState::MemoryOff => Some(("/account", "Open Account")),
        SummaryState::Empty => Some(("/memory", "How memories are created")),
        SummaryState::Writing => Some((PATH, "Look again")),
        SummaryState::Waiting if page.is_due => Some((PATH, "Look again")),
        _ => None,
    };
    let is_under_way = is_asked || page.is_due || page.state == SummaryState::Writing;
    let offers_writing = page.can_be_written && !is_under_way;
    let about = (!has_text).then(|| {
        view! {
            <p class="lead">
                "This page will show what your agents know about you, in a few paragraphs. The chat model writes it from your memories only. Agents read it with "
                <code>"memory_summary"</code> "."
            </p>
        }
    });
    let words = said.map(|said| {
        let is_trouble = page.state == SummaryState::Failed;
        view! {
            <p class="standing" role=is_trouble.then_some("alert")>
                {changed} {said} {next}
            </p>
        }
    });
    view! {
        {about}
        {words}
        {link
            .map(|(href, words)| {
                view! {
                    <p>
                        <a href=href>{words}</a>
                    </p>
                }
            })}
        {offers_writing
            .then(|| {
                view! {
                    <form method="post" action=PATH>
                        <button type="submit" name="action" value="write">
                            {label}
                        </button>
                    </form>
                }
            })}
    }
    .into_any()
}

#[component]
fn Sources(text: SummaryText) -> impl IntoView {
    let told = text.items.len() as i64;
    let words = if text.items_total > told {
        format!(
            "Based on {} of {}: the most certain and the newest.",
            count(told),
            memories(text.items_total)
        )
    } else {
        format!("Based on {}.", memories(told))
    };
    view! {
        <section class="part" aria-labelledby="sources">
            <h2 id="sources">"Sources"</h2>
            <p class="hint">
                {words} " When one of them is deleted permanently, this text is deleted too and written again."
            </p>
            <details class="sources">
                <summary>{memories(told)}</summary>
                <SourceList items=text.items />
            </details>
        </section>
    }
    .into_any()
}
