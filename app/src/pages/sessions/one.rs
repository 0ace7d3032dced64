//! One session: what came of it, and what was said, with an anchor at each message, so
//! that a memory can lead to the words it came from, and from there back to it. Its forms
//! have a stretch read again, or erase it for good. Only its owner can; for others it is not found.

use std::collections::HashMap;

use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use super::ledger::Ledger;
use super::messages;
use crate::address::session_from;
use crate::components::{
    Content, Fact, Facts, Marked, Section, StateBadge, TypeBadge, When, count, retired_state,
};
use crate::components::{Retired, not_found};
use crate::consolidation::episodes::{self, EpisodeView, SummaryAuthor};
use crate::erasure::{self, ErasureError, ExtractedMemories};
use crate::forms::{Field, Posted};
use crate::limits::{MEMORIES_SHOWN, MESSAGES_SHOWN};
use crate::memories::{self, SessionItem};
use crate::page::{Page, database};
use crate::pages::data::receipt::to_receipt;
use crate::sessions::{
    self, AgentSession, CompletionReason, MessageRole, SessionId, SessionTranscript, StoredMessage,
    ToolCall, ledger,
};

/// A tool's result is folded past it.
const RESULT_CHARS_SHOWN: usize = 500;

pub async fn show(page: Page) -> Response {
    // What is no position is the first.
    let from = page.asked_for("from").and_then(|from| from.parse().ok());
    let from = from.unwrap_or(1).max(1);
    // What is not a number names nothing.
    let found = match page.id().parse() {
        Ok(id) => load(&page, id, from).await.map_err(database),
        Err(_) => Ok(None),
    };
    let href = format!("/sessions/{}", page.id());
    page.render(Section::Sessions, "A session", href, found, move |page| {
        let body = match page {
            Some(page) => view! { <SessionPage page /> }.into_any(),
            None => {
                not_found();
                view! { <Missing /> }.into_any()
            }
        };
        view! {
            <div class="page">
                <p class="back">
                    <a href="/sessions">
                        <span aria-hidden="true">"← "</span>
                        "All sessions"
                    </a>
                </p>
                {body}
            </div>
        }
        .into_any()
    })
    .await
}

#[derive(Clone)]
struct OneSession {
    transcript: SessionTranscript,
    /// In the order of the messages, as are the memories.
    episodes: Vec<EpisodeView>,
    /// At most [`MEMORIES_SHOWN`], each with why it is not active.
    memories: Vec<(SessionItem, Option<Retired>)>,
    memory_count: i64,
}

async fn load(page: &Page, id: i64, from: i32) -> Result<Option<OneSession>, sqlx::Error> {
    let (db, user) = (&page.state.db, page.viewer.user_id);
    let limit = i64::from(MESSAGES_SHOWN);
    let found = sessions::transcript(db, user, SessionId(id), from - 1, limit).await?;
    let Some(transcript) = found else {
        return Ok(None);
    };
    let (memories, memory_count) =
        memories::of_session(db, user, id, MEMORIES_SHOWN as i64).await?;
    let memories = memories.into_iter().map(|item| {
        let retired = page.retired(item.status, item.is_superseded, item.expires_at);
        (item, retired)
    });
    Ok(Some(OneSession {
        transcript,
        episodes: episodes::of_sessions(db, user, &[id]).await?,
        memories: memories.collect(),
        memory_count,
    }))
}

#[derive(Deserialize)]
pub struct ReadAgainForm {
    first: Field<i32>,
}

/// Makes a failed or skipped stretch due now. Does nothing if it is being read already.
pub async fn read_again(Posted(posted, form): Posted<ReadAgainForm>) -> Response {
    let Ok(session) = posted.id().map(SessionId) else {
        return posted.not_found().await;
    };
    let (db, user, now) = posted.context();
    let attempt = async {
        let is_there = sessions::exists(db, user, session).await?;
        ledger::read_again(db, user, session, *form?.first, now).await?;
        Ok::<bool, Problem>(is_there)
    };
    match attempt.await {
        Ok(true) => Redirect::to(&format!("/sessions/{session}")).into_response(),
        Ok(false) => posted.not_found().await,
        Err(problem) => posted.refused(problem).await,
    }
}

#[derive(Deserialize)]
pub struct EraseSessionForm {
    memories: Field,
}

pub async fn erase(Posted(posted, form): Posted<EraseSessionForm>) -> Response {
    let Ok(session) = posted.id().map(SessionId) else {
        return posted.not_found().await;
    };
    let (db, user, now) = posted.context();
    let memories = match form.is_ok_and(|form| form.memories.is_checked()) {
        true => ExtractedMemories::GoToo,
        false => ExtractedMemories::Stay,
    };
    // Erases all messages in one statement, which may take long.
    let db = db.with_job_timeout();
    let erased = erasure::session(&db, &posted.state.activity, user, session, memories, now);
    match erased.await {
        Ok(receipt) => {
            posted.state.search.reader().forget(user);
            to_receipt(&receipt)
        }
        Err(ErasureError::Database(error)) => posted.refused(error.into()).await,
        Err(_) => posted.not_found().await,
    }
}

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"No such session"</h1>
        <p>"It may have been deleted permanently, or it was never yours."</p>
    }
}

#[component]
fn SessionPage(page: OneSession) -> impl IntoView {
    let SessionTranscript { session, ledger, .. } = page.transcript.clone();
    let state = if session.completed.is_some() { "completed" } else { "open" };
    view! {
        <article class="session">
            <header class="item-head">
                <h1 dir="auto">
                    <Marked text=session.external_id.clone() />
                </h1>
                <p class="badges">
                    <StateBadge state />
                    <span class="number">{messages(session.message_count.into())}</span>
                </p>
            </header>
            <About episodes=page.episodes.clone() />
            <section class="part" aria-labelledby="ledger-title">
                <h2 id="ledger-title">"Result"</h2>
                <Ledger rows=ledger new_count=session.message_count - session.ledger_position />
                <Provenance session />
            </section>
            <Memories page=page.clone() />
            <section class="part" aria-labelledby="said-title">
                <h2 id="said-title">"Transcript"</h2>
                <Said page=page.clone() />
            </section>
            <Erase session=page.transcript.session memory_count=page.memory_count />
        </article>
    }
    .into_any()
}

#[component]
fn About(episodes: Vec<EpisodeView>) -> impl IntoView {
    if episodes.is_empty() {
        return ().into_any();
    }
    let rows = episodes.into_iter().map(|episode| {
        let whose = match episode.made_by {
            SummaryAuthor::Agent => "written by the agent",
            SummaryAuthor::Model => "written by the chat model",
            SummaryAuthor::Extract => "its most distinctive sentences",
        };
        let of = match (episode.first_position, episode.last_position) {
            (first, last) if first == last => format!("message {first}, {whose}"),
            (first, last) => format!("messages {first} to {last}, {whose}"),
        };
        view! {
            <li>
                <p dir="auto">
                    <Marked text=episode.summary />
                </p>
                <p class="hint">{of}</p>
            </li>
        }
    });
    view! {
        <section class="part" id="about" aria-labelledby="about-title">
            <h2 id="about-title">"Episode"</h2>
            <ol class="episodes">{rows.collect_view()}</ol>
        </section>
    }
    .into_any()
}

#[component]
fn Provenance(session: AgentSession) -> impl IntoView {
    let mut facts: Vec<Fact> = vec![
        ("Agent", view! { <bdi>{session.agent}</bdi> }.into_any()),
        ("Begun", view! { <When at=session.created_at /> }.into_any()),
    ];
    if let Some((at, why)) = session.completed {
        let why = match why {
            CompletionReason::Asked => "ended by the agent",
            CompletionReason::Another => "the agent started another session",
            CompletionReason::Still => "inactive",
            CompletionReason::Nightly => "completed at night",
        };
        let completed = view! {
            <When at=at />
            {format!(": {why}")}
        };
        facts.push(("Completed", completed.into_any()));
    }
    view! { <Facts facts inline=true /> }.into_any()
}

#[component]
fn Memories(page: OneSession) -> impl IntoView {
    if page.memories.is_empty() {
        return ().into_any();
    }
    let heading = memories(page.memory_count);
    let SessionTranscript { session, messages, .. } = page.transcript;
    let on_page: Vec<i32> = messages.iter().map(|m| m.position).collect();
    let rows = page.memories.into_iter().map(|(memory, retired)| {
        let position = memory.position.and_then(|at| i32::try_from(at).ok());
        let message = position.map(|at| {
            let anchor = format!("#m{at}");
            let href = match on_page.contains(&at) {
                true => anchor,
                false => session_from(session.id.0, at) + &anchor,
            };
            view! { <a href=href>{format!("message {at}")}</a> }
        });
        view! {
            <li class="row" data-archived=retired.map(|_| "")>
                <div class="row-type">
                    <TypeBadge item_type=memory.item_type.as_str().to_owned() />
                </div>
                <div class="row-words">
                    <a class="row-link" href=format!("/memory/{}", memory.id.0) dir="auto">
                        <Marked text=memory.beginning />
                    </a>
                    <p class="row-from">
                        <bdi class="theme">{memory.theme}</bdi>
                        <StateBadge state=retired.map_or("active", retired_state) />
                        {message}
                    </p>
                </div>
            </li>
        }
    });
    view! {
        <section class="part" aria-labelledby="memories-title">
            <h2 id="memories-title">{heading}</h2>
            <ol class="rows">{rows.collect_view()}</ol>
            {(page.memory_count > MEMORIES_SHOWN as i64)
                .then(|| {
                    view! { <p class="hint">{format!("The first {MEMORIES_SHOWN} are shown.")}</p> }
                })}
        </section>
    }
    .into_any()
}

/// "1 memory extracted", "12 memories that came of it"
fn memories(n: i64) -> String {
    match n {
        1 => "1 memory extracted".to_owned(),
        n => format!("{} memories extracted", count(n)),
    }
}

#[component]
fn Erase(session: AgentSession, memory_count: i64) -> impl IntoView {
    let goes = format!(
        "{} and their extraction records are deleted permanently.",
        messages(session.message_count.into())
    );
    let too = (memory_count > 0).then(|| {
        view! {
            <label class="check">
                <input type="checkbox" name="memories" value="1" />
                <span>{format!("Also delete the {}", memories(memory_count))}</span>
            </label>
            <p class="hint">
                "Otherwise they stay, without their source messages and the link to them."
            </p>
        }
    });
    view! {
        <section class="part" aria-labelledby="erase-title">
            <h2 id="erase-title">"Delete this session"</h2>
            <p class="hint">
                "This deletes its messages permanently. Only you can do this, not an agent."
            </p>
            <details class="confirm">
                <summary>"Delete permanently"</summary>
                <div>
                    <p>{goes}</p>
                    <form class="stack" method="post" action=format!("/sessions/{}/erase", session.id)>
                        {too}
                        <button class="danger" type="submit">
                            "Delete this session"
                        </button>
                    </form>
                </div>
            </details>
        </section>
    }
    .into_any()
}

#[component]
fn Said(page: OneSession) -> impl IntoView {
    let SessionTranscript { session, messages, .. } = page.transcript;
    let (id, message_count) = (session.id.0, session.message_count);
    let (Some(first), Some(last)) =
        (messages.first().map(|m| m.position), messages.last().map(|m| m.position))
    else {
        return view! {
            <p class="hint">
                "There are no messages after that. "
                <a href=session_from(id, 1)>"Read from the beginning"</a>
            </p>
        }
        .into_any();
    };
    let whole = first == 1 && last == message_count;
    let place = (!whole).then(|| {
        let words = format!(
            "Messages {} to {} of {}",
            count(first.into()),
            count(last.into()),
            count(message_count.into())
        );
        view! { <p class="hint number">{words}</p> }
    });
    let earlier = (first > 1).then(|| {
        view! {
            <a class="button" href=session_from(id, first - MESSAGES_SHOWN)>
                "Earlier"
            </a>
        }
    });
    let later = (last < message_count).then(|| {
        view! {
            <a class="button" href=session_from(id, last + 1)>
                "Later"
            </a>
        }
    });
    let pages = (!whole).then(|| {
        view! {
            <nav class="more" aria-label="Messages">
                {earlier}
                {later}
            </nav>
        }
    });
    // A tool's message has the name of the call that it answers.
    let mut tools: HashMap<String, String> = HashMap::new();
    let messages = messages.into_iter().map(|message| {
        let named = message.tool_calls.iter().filter_map(|call| Some((call.id.clone()?, call)));
        tools.extend(named.map(|(id, call)| (id, call.name.clone())));
        let tool = message.tool_call_id.as_ref().and_then(|id| tools.get(id).cloned());
        let position = Some(i64::from(message.position));
        let of_it = page.memories.iter().filter(|(memory, _)| memory.position == position);
        let memories = of_it.map(|(memory, _)| memory.id.0).collect();
        view! { <Message message tool memories /> }
    });
    view! {
        {place}
        <ol class="transcript" start=first>
            {messages.collect_view()}
        </ol>
        {pages}
    }
    .into_any()
}

#[component]
fn Message(message: StoredMessage, tool: Option<String>, memories: Vec<i64>) -> impl IntoView {
    let (at, role) = (message.said_at(), message.role);
    let who = match role {
        MessageRole::User => "User",
        MessageRole::Assistant => "Assistant",
        MessageRole::Tool => "Tool result",
    };
    let tool = tool.map(|tool| {
        view! {
            <code>
                <bdi>{tool}</bdi>
            </code>
        }
    });
    let is_result = role == MessageRole::Tool;
    let length = message.content.chars().count();
    let content = match message.content {
        content if content.is_empty() && is_result => {
            view! { <p class="hint">"No output."</p> }.into_any()
        }
        content if content.is_empty() => ().into_any(),
        content if is_result && length > RESULT_CHARS_SHOWN => {
            let words = format!("{} characters", count(length as i64));
            view! {
                <details>
                    <summary>{words}</summary>
                    <Content text=content />
                </details>
            }
            .into_any()
        }
        content => view! { <Content text=content /> }.into_any(),
    };
    let calls =
        message.tool_calls.into_iter().map(|call| view! { <CalledTool call /> }).collect_view();
    let kept = (!memories.is_empty()).then(|| {
        let links = memories.into_iter().enumerate().map(|(n, id)| {
            let joint = if n == 0 { "" } else { ", " };
            view! {
                {joint}
                <a href=format!("/memory/{id}")>{format!("memory {id}")}</a>
            }
        });
        view! { <p class="aside">"Memories from it: " {links.collect_view()}</p> }
    });
    view! {
        <li class="said" id=format!("m{}", message.position) data-role=role.as_str()>
            <p class="row-from">
                <b>{who}</b>
                {tool}
                <a class="number" href=format!("#m{}", message.position)>
                    {format!("{}", message.position)}
                    <span class="visually-hidden">": link to this message"</span>
                </a>
                <When at />
            </p>
            {content}
            {calls}
            {kept}
        </li>
    }
    .into_any()
}

#[component]
fn CalledTool(call: ToolCall) -> impl IntoView {
    view! {
        <details>
            <summary>
                "Called "
                <code>
                    <bdi>{call.name}</bdi>
                </code>
            </summary>
            <Content text=call.arguments />
        </details>
    }
    .into_any()
}
