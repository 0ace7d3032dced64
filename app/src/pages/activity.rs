//! Who read and wrote what, when: every call of the person's agents. Every
//! filter lives in the address; a form and plain links change it. The parts
//! marked `data-live` are those that the island [`LiveResults`] replaces.

mod filters;
mod queries;

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::backend::{ROWS_MAX, backend};
use crate::components::{
    Call, Days, Done, FirstSteps, Frame, Section, TOKEN_PLACE, Trouble, calls, count, search_line,
};
use crate::islands::LiveResults;
use crate::view::{ActivityFilters, ActivityPage, FormState};
use filters::Narrow;
use queries::Queries;

#[component]
pub fn Activity() -> impl IntoView {
    let query = use_location().search.get_untracked();
    let filters = ActivityFilters::from_query(&query);
    let backend = backend();
    let form = backend.form();
    let page = Suspend::new(async move {
        match backend.activity_page(&filters).await {
            Ok(page) if page.is_empty => view! { <Beginning page form /> }.into_any(),
            Ok(page) => view! { <Found page filters form /> }.into_any(),
            Err(error) => {
                let href = filters.href();
                view! { <Trouble heading="Activity" error href /> }.into_any()
            }
        }
    });
    view! {
        <Frame section=Section::Activity title="Activity".to_owned()>
            {page}
        </Frame>
    }
}

#[component]
fn Found(page: ActivityPage, filters: ActivityFilters, form: FormState) -> impl IntoView {
    let heading = heading_of(&page);
    let mut items = page.rows.iter().flat_map(|row| &row.items);
    let is_document = items.any(|item| item.is_document && Some(item.id) == filters.item);
    let more = page.has_more.then(|| more_of(&filters));
    let kept = format!(
        "Calls are kept for {} days, the newest {} of them. They hold no content: only which memories they were about.",
        page.kept_days,
        count(page.kept_calls),
    );
    let queries = (page.keeps_queries, page.kept_queries);
    let rows = if page.rows.is_empty() {
        view! {
            <div class="nothing">
                <p class="first-words">"No such call."</p>
                <p>
                    <a href="/activity" data-live-link="loosen">
                        "Show all calls"
                    </a>
                </p>
            </div>
        }
        .into_any()
    } else {
        view! {
            <ol class="rows">
                {page.rows.into_iter().map(|call| view! { <Call call /> }).collect_view()}
            </ol>
        }
        .into_any()
    };
    view! {
        <div id="live" class="page">
            <h1>"Activity"</h1>
            <Done form=form.clone() />
            <div data-live="days">
                <Days days=page.days />
            </div>
            <Narrow agents=page.agents filters is_document />
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
                {format!("{ROWS_MAX} are shown at most. Narrow them down to see older ones.")}
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
                caption="Search the memory"
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
