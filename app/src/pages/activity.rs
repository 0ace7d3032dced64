//! Who read and wrote what, when: every call of the person's agents. Every
//! filter lives in the address; a form and plain links change it. The parts
//! marked `data-live` are those that the island [`LiveResults`] replaces.

mod filters;
pub mod load;
pub mod post;
mod queries;

use axum::response::Response;
use leptos::prelude::*;

use super::used::PATH as USED;
use crate::components::{
    Call, Days, Done, FirstSteps, Run, Section, TOKEN_PLACE, calls, count, search_line,
};
use crate::forms::FormState;
use crate::islands::LiveResults;
use crate::limits::ROWS_MAX;
use crate::page::Page;
use crate::view::{ActivityFilters, ActivityPage, CallRow};
use filters::Narrow;
use queries::Queries;

pub async fn show(page: Page) -> Response {
    let filters = ActivityFilters::from_query(page.query());
    let form = page.form.clone();
    let found = page.activity_view(&page.viewer, &filters).await;
    let href = filters.href();
    page.render(Section::Activity, "Activity", href, found, move |page| {
        let (filters, form) = (filters.clone(), form.clone());
        match page.is_empty {
            true => view! { <Beginning page form /> }.into_any(),
            false => view! { <Found page filters form /> }.into_any(),
        }
    })
    .await
}

/// So many calls in a row that are alike are folded.
const RUN_MIN: usize = 4;

#[component]
fn Found(page: ActivityPage, filters: ActivityFilters, form: FormState) -> impl IntoView {
    let heading = heading_of(&page);
    let mut items = page.rows.iter().flat_map(|row| &row.items);
    let is_document = items.any(|item| item.is_document && Some(item.id) == filters.item);
    let more = page.has_more.then(|| more_of(&filters));
    let kept = format!(
        "Calls are kept for {} days, at most {} of them. They store no content, only which memories they concern.",
        page.kept_days,
        count(page.kept_calls),
    );
    let queries = (page.keeps_queries, page.kept_queries);
    let rows = if page.rows.is_empty() {
        view! {
            <div class="nothing">
                <p class="first-words">"No matching calls."</p>
                <p>
                    <a href="/activity" data-live-link="loosen">
                        "Show all calls"
                    </a>
                </p>
            </div>
        }
        .into_any()
    } else {
        by_day(page.rows)
            .into_iter()
            .map(|(day, runs)| view! { <Day day runs /> })
            .collect_view()
            .into_any()
    };
    view! {
        <div id="live" class="page">
            <h1>"Activity"</h1>
            <Done form=form.clone() />
            <div data-live="days">
                <Days days=page.days filters=filters.clone() />
                <p>
                    <a href=USED>"Used and unused memories"</a>
                </p>
            </div>
            <Narrow agents=page.agents filters day=page.chosen_day is_document />
            <section id="results" class="results" data-live="results" aria-labelledby="count">
                <h2 id="count" class="count">
                    {heading}
                </h2>
                {rows}
                {more}
            </section>
            <Queries is_on=queries.0 kept=queries.1 form kept_for=kept />
        </div>
        <LiveResults />
    }
    .into_any()
}

#[component]
fn Day(day: String, runs: Vec<Vec<CallRow>>) -> impl IntoView {
    let runs = runs.into_iter().map(|run| match run.len() < RUN_MIN {
        true => {
            let calls = run.into_iter().map(|call| view! { <Call call /> });
            calls.collect_view().into_any()
        }
        false => view! { <Run calls=run /> }.into_any(),
    });
    view! {
        <h3 class="day-head">{day}</h3>
        <ol class="calls">{runs.collect_view()}</ol>
    }
    .into_any()
}

/// The calls of each day, and of these those in a row of which an agent did the same.
fn by_day(rows: Vec<CallRow>) -> Vec<(String, Vec<Vec<CallRow>>)> {
    let mut days: Vec<(String, Vec<Vec<CallRow>>)> = Vec::new();
    for row in rows {
        if days.last().is_none_or(|(day, _)| *day != row.day) {
            days.push((row.day.clone(), Vec::new()));
        }
        let Some((_, runs)) = days.last_mut() else {
            continue;
        };
        let is_like = |other: &CallRow| {
            (&other.agent, &other.tool, &other.problem) == (&row.agent, &row.tool, &row.problem)
        };
        match runs.last_mut().filter(|run| run.last().is_some_and(is_like)) {
            Some(run) => run.push(row),
            None => runs.push(vec![row]),
        }
    }
    days
}

/// What the list is, in a few words: the heading, and what is announced.
fn heading_of(page: &ActivityPage) -> String {
    match (page.rows.len(), page.has_more) {
        (0, _) => "No calls".to_owned(),
        (n, true) => format!("The newest {}", calls(n as i64)),
        (1, false) => "1 call".to_owned(),
        (n, false) => format!("{}, newest first", calls(n as i64)),
    }
}

fn more_of(filters: &ActivityFilters) -> AnyView {
    match filters.with_more() {
        Some(more) => {
            let step = more.shown - filters.shown;
            view! {
                <p class="more">
                    <a class="button" href=more.href() data-live-link="more">
                        {format!("Show {step} more")}
                    </a>
                </p>
            }
            .into_any()
        }
        None => view! {
            <p class="more hint">
                {format!("At most {ROWS_MAX} are shown. Filter to see older calls.")}
            </p>
        }
        .into_any(),
    }
}

#[component]
fn Beginning(page: ActivityPage, form: FormState) -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Activity"</h1>
            <Done form=form.clone() />
            <FirstSteps
                first_words="No agent has called yet."
                lead="Here will be every call of your agents: what they searched, read, added and archived, when, and which memories it was about."
                by_hand="make a first call"
                caption="Search memories"
                line=search_line(&page.public_url, TOKEN_PLACE)
            />
            <Queries
                is_on=page.keeps_queries
                kept=page.kept_queries
                form
                kept_for=String::new()
            />
        </div>
    }
    .into_any()
}
