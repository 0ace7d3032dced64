//! Sessions: what agents handed over of their conversations, and what came of it.
//! Every filter lives in the address; a form and plain links change it. Other forms set whether messages are
//! searchable, and how long they are kept.

mod ledger;
pub mod one;

use std::collections::HashMap;

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;

use crate::address::SessionFilters;
use crate::components::{
    Choice, Done, Field, FirstSteps, FormError, Marked, Pick, Section, StateBadge, TOKEN_PLACE,
    When, count, session_line,
};
use crate::consolidation::episodes;
use crate::forms::{self, FormName, Outcome, Posted, done};
use crate::limits::ROWS_MAX;
use crate::page::{Page, asked, database};
use crate::sessions::lifetimes::{self, Lifetimes};
use crate::sessions::{
    self, AgentSession, ExtractionOutcome, SessionFilter, SessionList, SessionState, turns,
};
use ledger::came_of;

const PATH: &str = "/sessions";

pub async fn show(page: Page) -> Response {
    let filters = SessionFilters::from_query(page.query());
    let found = load(&page, &filters).await.map_err(database);
    let href = filters.href();
    page.render(Section::Sessions, "Sessions", href, found, move |listed| {
        match listed.list.is_empty {
            true => view! { <Beginning turns_are_on=listed.list.turns_are_on /> }.into_any(),
            false => view! { <SessionsPage listed filters=filters.clone() /> }.into_any(),
        }
    })
    .await
}

#[derive(Clone)]
struct ListedSessions {
    list: SessionList,
    has_more: bool,
    /// What each was about of late, in one sentence.
    about: HashMap<i64, String>,
}

async fn load(page: &Page, filters: &SessionFilters) -> Result<ListedSessions, sqlx::Error> {
    let (db, user) = (&page.state.db, page.viewer.user_id);
    let filter = SessionFilter {
        agent: filters.agent,
        state: filters.state,
        outcome: filters.outcome,
        limit: filters.shown as i64 + 1,
    };
    let mut list = sessions::page(db, user, &filter).await?;
    let has_more = list.sessions.len() > filters.shown;
    list.sessions.truncate(filters.shown);
    let ids: Vec<i64> = list.sessions.iter().map(|session| session.id.0).collect();
    // The last entry per session is the newest and wins.
    let about = episodes::of_sessions(db, user, &ids).await?.into_iter();
    Ok(ListedSessions { list, has_more, about: about.map(|e| (e.session, e.short)).collect() })
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SessionsForm {
    On,
    Off,
    Lifetimes { episode_days: forms::Field, turn_days: forms::Field },
}

pub async fn change(Posted(posted, form): Posted<SessionsForm>) -> Response {
    let (db, user, now) = posted.context();
    let name = match form {
        Ok(SessionsForm::Lifetimes { .. }) => FormName::Lifetimes,
        _ => FormName::Turns,
    };
    let attempt = async {
        match form? {
            SessionsForm::On => turns::switch(db, user, true, now).await?,
            SessionsForm::Off => turns::switch(db, user, false, now).await?,
            SessionsForm::Lifetimes { episode_days, turn_days } => {
                let chosen = Lifetimes::parse(&episode_days, &turn_days)?;
                lifetimes::set(db, user, chosen, now).await?;
                return Ok(done(name, "Saved."));
            }
        }
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, name, attempt.await).await
}

#[component]
fn SessionsPage(listed: ListedSessions, filters: SessionFilters) -> impl IntoView {
    let ListedSessions { list, has_more, mut about } = listed;
    let heading = match (list.sessions.len(), has_more) {
        (0, _) => "No sessions".to_owned(),
        (1, false) => "1 session".to_owned(),
        (n, true) => format!("The newest {n} sessions"),
        (n, false) => format!("{n} sessions, newest first"),
    };
    let more = has_more.then(|| more_of(&filters));
    let rows = if list.sessions.is_empty() {
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
                {list
                    .sessions
                    .into_iter()
                    .map(|session| {
                        let about = about.remove(&session.id.0);
                        view! { <Row session about /> }
                    })
                    .collect_view()}
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
            <Narrow agents=list.agents filters />
            <section id="results" class="results" aria-labelledby="count">
                <h2 id="count" class="count">
                    {heading}
                </h2>
                {rows}
                {more}
            </section>
            <SearchTurns is_on=list.turns_are_on />
            <Retention lifetimes=list.lifetimes />
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
fn Retention(lifetimes: Lifetimes) -> impl IntoView {
    let form = asked().form.of(FormName::Lifetimes).or_saved(vec![
        ("episode_days", lifetimes.episode_days.to_string()),
        ("turn_days", lifetimes.turn_days.map_or(String::new(), |days| days.to_string())),
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
    let choice = |slug: &str, is_chosen| (slug.to_owned(), slug.to_owned(), is_chosen);
    let states = [SessionState::Open, SessionState::Completed]
        .map(|state| choice(state.as_str(), filters.state == Some(state)))
        .to_vec();
    let outcomes = ExtractionOutcome::ALL
        .map(|outcome| choice(outcome.as_str(), filters.outcome == Some(outcome)))
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
fn Row(session: AgentSession, about: Option<String>) -> impl IntoView {
    let state = session.state.as_str();
    let outcome = session.extraction.as_ref().map(|row| row.outcome);
    let about = about.map(|about| {
        view! {
            <p class="row-about" dir="auto">
                <Marked text=about />
            </p>
        }
    });
    let words = match &session.extraction {
        Some(row) => came_of(row),
        None => "Not read yet.".to_owned(),
    };
    view! {
        <li class="row" data-row="">
            <div class="row-type">
                <StateBadge state />
            </div>
            <div class="row-words">
                <a class="row-link" href=format!("/sessions/{}", session.id) dir="auto">
                    <Marked text=session.external_id />
                </a>
                {about}
                <p class="row-from">
                    <span>"by " <bdi class="theme">{session.agent}</bdi></span>
                    <span class="number">{messages(session.message_count.into())}</span>
                    {outcome.map(|outcome| view! { <StateBadge state=outcome.as_str() /> })}
                    <span class="came-of">{words}</span>
                </p>
            </div>
            <div class="row-when">
                <When at=session.last_sent_at.unwrap_or(session.last_message_at) />
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
fn Beginning(turns_are_on: bool) -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Sessions"</h1>
            <FirstSteps
                first_words="No agent has handed over a session yet."
                lead="Here will be every conversation that your agents hand over as it happens, and what came of it: which memories were stored, or why none."
                by_hand="hand over a first message"
                caption="Hand over a conversation"
                line=session_line(asked().state.public_url.as_str(), TOKEN_PLACE)
            />
            <SearchTurns is_on=turns_are_on />
        </div>
    }
    .into_any()
}
