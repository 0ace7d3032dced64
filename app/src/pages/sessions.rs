//! Sessions: what agents handed over of their conversations, and what came of it.
//! Every filter lives in the address; a form and plain links change it.

mod ledger;
pub mod load;
pub mod one;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Choice, Done, Field, FirstSteps, FormError, Marked, Pick, Section, StateBadge, TOKEN_PLACE,
    When, count, session_line,
};
use crate::forms::FormName;
use crate::limits::ROWS_MAX;
use crate::page::{Page, asked};
use crate::view::{Outcome, SessionFilters, SessionRow, SessionsPage};
use ledger::{OutcomeBadge, came_of};

pub async fn show(page: Page) -> Response {
    let filters = SessionFilters::from_query(page.query());
    let found = page.sessions_view(&page.viewer, &filters).await;
    let href = filters.href();
    page.render(Section::Sessions, "Sessions", href, found, move |page| match page.is_empty {
        true => view! { <Beginning page /> }.into_any(),
        false => view! { <Found page filters=filters.clone() /> }.into_any(),
    })
    .await
}

#[component]
fn Found(page: SessionsPage, filters: SessionFilters) -> impl IntoView {
    let heading = match (page.rows.len(), page.has_more) {
        (0, _) => "No sessions".to_owned(),
        (1, false) => "1 session".to_owned(),
        (n, true) => format!("The newest {n} sessions"),
        (n, false) => format!("{n} sessions, newest first"),
    };
    let more = page.has_more.then(|| more_of(&filters));
    let rows = if page.rows.is_empty() {
        view! {
            <div class="nothing">
                <p class="first-words">"No matching sessions."</p>
                <p>
                    <a href="/sessions">"Show all sessions"</a>
                </p>
            </div>
        }
        .into_any()
    } else {
        view! {
            <ol class="rows">
                {page.rows.into_iter().map(|row| view! { <Row row /> }).collect_view()}
            </ol>
        }
        .into_any()
    };
    view! {
        <div class="page">
            <h1>"Sessions"</h1>
            <p class="lead">
                "Conversations that your agents handed over, and the memories extracted from each."
            </p>
            <Narrow agents=page.agents filters />
            <section id="results" class="results" aria-labelledby="count">
                <h2 id="count" class="count">
                    {heading}
                </h2>
                {rows}
                {more}
            </section>
            <SearchTurns is_on=page.turns_are_on />
            <HowLong episode_days=page.episode_days turn_days=page.turn_days />
        </div>
    }
    .into_any()
}

/// Here, and not with the chat model: no model has to do with it.
#[component]
fn SearchTurns(is_on: bool) -> impl IntoView {
    let (state, action, label) = match is_on {
        true => ("on", "off", "Stop searching messages"),
        false => ("off", "on", "Search messages"),
    };
    view! {
        <section class="part" id="turns" aria-labelledby="turns-title">
            <h2 id="turns-title">"Search messages"</h2>
            <p class="hint">
                "Search finds messages as soon as they are handed over, even before a model has read them. A memory with the same words always ranks first, and messages are not counted as memories. When you switch this off, messages leave search at once and stay in their sessions; when you switch it on again, all sessions are indexed."
            </p>
            <FormError form=asked().form.of(FormName::Turns) fields=&[] />
            <form class="switch" method="post" action="/sessions">
                <StateBadge state />
                <button type="submit" name="action" value=action>
                    {label}
                </button>
            </form>
        </section>
    }
    .into_any()
}

/// What stays of conversations beside themselves.
#[component]
fn HowLong(episode_days: i32, turn_days: Option<i32>) -> impl IntoView {
    let form = asked().form.of(FormName::Lifetimes).or_saved(vec![
        ("episode_days", episode_days.to_string()),
        ("turn_days", turn_days.map_or(String::new(), |days| days.to_string())),
    ]);
    view! {
        <section class="part" id="lifetimes" aria-labelledby="lifetimes-title">
            <h2 id="lifetimes-title">"Retention"</h2>
            <p class="hint">
                "An episode summarizes a session. Expired episodes and messages leave search; sessions and their memories stay. A longer period brings messages back, and extends existing episodes."
            </p>
            <form class="stack" method="post" action="/sessions">
                <Done form=form.clone() />
                <FormError form=form.clone() fields=&["episode_days", "turn_days"] />
                <Field
                    form=form.clone()
                    name="episode_days"
                    label="Days to keep episodes"
                    hint="1 to 36,500"
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="5"
                />
                <Field
                    form=form.clone()
                    name="turn_days"
                    label="Days to search messages"
                    hint="Leave blank to keep them as long as the session"
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="5"
                    optional=true
                />
                <div>
                    <button type="submit" name="action" value="lifetimes">
                        "Save"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Narrow(agents: Vec<(i64, String)>, filters: SessionFilters) -> impl IntoView {
    let agents: Vec<Choice> = agents
        .into_iter()
        .map(|(id, name)| (id.to_string(), name, filters.agent == Some(id)))
        .collect();
    let states: Vec<Choice> = [("open", true), ("completed", false)]
        .map(|(slug, is_open)| {
            let is_chosen = filters.is_open == Some(is_open);
            (slug.to_owned(), slug.to_owned(), is_chosen)
        })
        .to_vec();
    let outcomes: Vec<Choice> = Outcome::ALL
        .map(|outcome| {
            let is_chosen = filters.outcome == Some(outcome);
            (outcome.slug().to_owned(), outcome.slug().to_owned(), is_chosen)
        })
        .to_vec();
    let reset = filters.is_narrowed().then(|| {
        view! {
            <a class="reset" href="/sessions">
                "Show all"
            </a>
        }
    });
    view! {
        <form id="filters" class="filters" method="get" action="/sessions" autocomplete="off">
            <div class="narrow picks">
                <Pick name="agent" label="Agent" any="All agents" choices=agents />
                <Pick name="state" label="State" any="All states" choices=states />
                <Pick name="outcome" label="Result" any="All results" choices=outcomes />
                <button type="submit">"Filter"</button>
                {reset}
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Row(row: SessionRow) -> impl IntoView {
    let state = if row.is_open { "open" } else { "completed" };
    let outcome = row.ledger.as_ref().map(|ledger| ledger.outcome);
    let about = row.about.map(|about| {
        view! {
            <p class="row-about" dir="auto">
                <Marked text=about />
            </p>
        }
    });
    let words = match &row.ledger {
        Some(ledger) => came_of(ledger),
        None => "Not read yet.".to_owned(),
    };
    view! {
        <li class="row" data-row="">
            <div class="row-type">
                <StateBadge state />
            </div>
            <div class="row-words">
                <a class="row-link" href=format!("/sessions/{}", row.id) dir="auto">
                    <Marked text=row.external_id />
                </a>
                {about}
                <p class="row-from">
                    <span>"by " <bdi class="theme">{row.agent}</bdi></span>
                    <span class="number">{messages(row.messages)}</span>
                    {outcome.map(|outcome| view! { <OutcomeBadge outcome /> })}
                    <span class="came-of">{words}</span>
                </p>
            </div>
            <div class="row-when">
                <When at=row.last_message />
            </div>
        </li>
    }
    .into_any()
}

/// "1 message", "1,234 messages"
fn messages(n: i64) -> String {
    match n {
        1 => "1 message".to_owned(),
        n => format!("{} messages", count(n)),
    }
}

fn more_of(filters: &SessionFilters) -> AnyView {
    match filters.with_more() {
        Some(more) => {
            let step = more.shown - filters.shown;
            view! {
                <p class="more">
                    <a class="button" href=more.href()>
                        {format!("Show {step} more")}
                    </a>
                </p>
            }
            .into_any()
        }
        None => view! {
            <p class="more hint">
                {format!("At most {ROWS_MAX} are shown. Filter to see older sessions.")}
            </p>
        }
        .into_any(),
    }
}

#[component]
fn Beginning(page: SessionsPage) -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Sessions"</h1>
            <FirstSteps
                first_words="No agent has handed over a session yet."
                lead="Here will be every conversation that your agents hand over as it happens, and what came of it: which memories were stored, or why none."
                by_hand="hand over a first message"
                caption="Hand over a conversation"
                line=session_line(&page.public_url, TOKEN_PLACE)
            />
            <SearchTurns is_on=page.turns_are_on />
        </div>
    }
    .into_any()
}
