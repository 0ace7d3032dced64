//! Summary: what is remembered as one narrative, with its date and the memories it stands
//! on; or why there is none, and what to do about it.

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;
use time::OffsetDateTime;

use crate::components::{
    Fact, Facts, FormError, Marked, Renewal, Section, SourceList, StateBadge, When, count, memories,
};
use crate::consolidation::summary::{SummaryOff, SummaryProgress, SummaryStatus, SummaryText};
use crate::forms::{FormName, FormState, Outcome, Posted};
use crate::input::sentence;
use crate::page::{Page, PageError, asked, database};
use crate::tools::ToolError;

const PATH: &str = "/summary";

pub async fn show(page: Page) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let form = page.form.clone();
    page.render(Section::Summary, "Summary", PATH, status(&page).await, move |summary| {
        view! { <SummaryPage summary form=form.clone() is_held /> }.into_any()
    })
    .await
}

/// The text and its progress, as the page of work shows it too.
pub async fn status(page: &Page) -> Result<SummaryStatus, PageError> {
    let found = page.state.consolidation.summary(page.viewer.user_id).await;
    found.map_err(|error| match error.into() {
        ToolError::Database(error) => database(error),
        error => PageError { is_invalid: false, sentence: sentence(&error.to_string()) },
    })
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SummaryForm {
    Write,
}

/// Requests a new summary.
pub async fn write_now(Posted(posted, form): Posted<SummaryForm>) -> Response {
    let attempt = async {
        let SummaryForm::Write = form?;
        let asked = posted.state.consolidation.ask_for_summary(posted.user()).await;
        asked.map_err(ToolError::from)?;
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, FormName::Summary, attempt.await).await
}

#[component]
fn SummaryPage(summary: SummaryStatus, form: FormState, is_held: bool) -> impl IntoView {
    let is_under_way = match &summary.state {
        SummaryProgress::Writing => true,
        SummaryProgress::Waiting(at) => is_due(*at),
        _ => false,
    };
    let renewal = (is_under_way && form.form.is_none())
        .then(|| view! { <Renewal path=PATH.to_owned() is_held /> });
    view! {
        <article class="page summary">
            <header class="item-head">
                <h1>"Summary"</h1>
                <p class="badges">
                    <StateBadge state=badge(&summary.state) />
                </p>
            </header>
            <FormError form=form fields=&[] />
            {summary.told.clone().map(|text| view! { <Narrative text /> })}
            <Standing summary=summary.clone() />
            {renewal}
            {summary.told.map(|text| view! { <Sources text /> })}
        </article>
    }
    .into_any()
}

fn badge(state: &SummaryProgress) -> &'static str {
    match state {
        SummaryProgress::Current => "ready",
        SummaryProgress::Waiting(_) | SummaryProgress::Writing => "pending",
        SummaryProgress::Failed(..) => "failed",
        SummaryProgress::Empty => "nothing",
        SummaryProgress::Off(SummaryOff::Memory) => "memory off",
        SummaryProgress::Off(_) => "off",
    }
}

fn is_due(next_try: Option<OffsetDateTime>) -> bool {
    next_try.is_some_and(|at| at <= asked().state.clock.now())
}

#[component]
fn Narrative(text: SummaryText) -> impl IntoView {
    let mut facts: Vec<Fact> = vec![("Written", view! { <When at=text.made_at /> }.into_any())];
    if let Some(model) = text.model {
        facts.push(("By", view! { <bdi>{model}</bdi> }.into_any()));
    }
    view! {
        <div class="narrative">
            {text
                .text
                .split("\n\n")
                .map(|paragraph| {
                    view! {
                        <p dir="auto">
                            <Marked text=paragraph.to_owned() />
                        </p>
                    }
                })
                .collect_view()}
        </div>
        <Facts facts inline=true />
    }
    .into_any()
}

/// The state in a sentence or two, and the button where it helps.
#[component]
fn Standing(summary: SummaryStatus) -> impl IntoView {
    let has_text = summary.told.is_some();
    let is_stale = summary.told.is_some_and(|text| text.is_stale);
    let label = if has_text { "Write again" } else { "Write now" };
    let changed = is_stale.then_some("Your memories have changed since. ");
    let next_try = match summary.state {
        SummaryProgress::Waiting(at) | SummaryProgress::Failed(_, at) => at,
        _ => None,
    };
    let is_due = is_due(next_try);
    let said = match &summary.state {
        SummaryProgress::Current => None,
        SummaryProgress::Writing => Some("The summary is being written.".to_owned()),
        SummaryProgress::Waiting(_) if is_due => {
            Some("The summary will be written in a moment.".to_owned())
        }
        SummaryProgress::Waiting(Some(_)) => Some("It will be written".to_owned()),
        SummaryProgress::Waiting(None) if has_text => Some(
            "It is written again once nothing was added or archived for five minutes.".to_owned(),
        ),
        SummaryProgress::Waiting(None) => {
            Some("It is written once nothing was added or archived for five minutes.".to_owned())
        }
        SummaryProgress::Failed(why, _) => Some(sentence(why)),
        SummaryProgress::Empty => Some("No memories yet.".to_owned()),
        SummaryProgress::Off(off) => Some(sentence(&off.to_string())),
    };
    let is_asked = matches!(summary.state, SummaryProgress::Waiting(Some(_)));
    let before = if is_asked { " " } else { " Next attempt " };
    let next = next_try.filter(|_| !is_due).map(|at| {
        view! {
            {before}
            <When at=at />
            "."
        }
    });
    let link = match summary.state {
        SummaryProgress::Off(SummaryOff::Memory) => Some(("/account", "Open Account")),
        SummaryProgress::Off(_) => Some(("/settings/chat", "Open Settings › Chat model")),
        SummaryProgress::Empty => Some(("/memory", "How memories are created")),
        SummaryProgress::Writing => Some((PATH, "Look again")),
        SummaryProgress::Waiting(_) if is_due => Some((PATH, "Look again")),
        _ => None,
    };
    let is_under_way = is_asked || is_due || summary.state == SummaryProgress::Writing;
    let offers_writing = summary.can_be_written && !is_under_way;
    let about = (!has_text).then(|| {
        view! {
            <p class="lead">
                "This page will show what your agents know about you, in a few paragraphs. The chat model writes it from your memories only. Agents read it with "
                <code>"memory_summary"</code> "."
            </p>
        }
    });
    let words = said.map(|said| {
        let is_trouble = matches!(summary.state, SummaryProgress::Failed(..));
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
    let words = if text.facts_total > told {
        format!(
            "Based on {} of {}: the most certain and the newest.",
            count(told),
            memories(text.facts_total)
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
