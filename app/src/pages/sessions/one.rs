//! One session: what came of it, and what was said, with an anchor at each message, so
//! that a memory can lead to the words it came from, and from there back to it. Its forms
//! have a stretch read again, or erase it for good.

use axum::response::Response;
use leptos::prelude::*;

use super::ledger::Ledger;
use super::messages;
use crate::address::session_from;
use crate::components::not_found;
use crate::components::{
    Content, Fact, Facts, Marked, Section, StateBadge, TypeBadge, When, count, retired_state,
};
use crate::limits::{MEMORIES_SHOWN, MESSAGES_SHOWN};
use crate::page::Page;
use crate::view::{CameOf, EpisodeView, MessageView, SessionPage, ToolCallView};

/// A tool's result is folded past it.
const RESULT_CHARS_SHOWN: usize = 500;

pub async fn show(page: Page) -> Response {
    // What is no position is the first.
    let from = page.asked_for("from").and_then(|from| from.parse().ok());
    let from = from.unwrap_or(1).max(1);
    // What is not a number names nothing.
    let found = match page.id().parse() {
        Ok(id) => page.session_view(&page.viewer, id, from).await,
        Err(_) => Ok(None),
    };
    let href = format!("/sessions/{}", page.id());
    page.render(Section::Sessions, "A session", href, found, move |page| {
        let body = match page {
            Some(page) => view! { <Whole page /> }.into_any(),
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

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"No such session"</h1>
        <p>"It may have been deleted permanently, or it was never yours."</p>
    }
}

#[component]
fn Whole(page: SessionPage) -> impl IntoView {
    let state = if page.completed.is_some() { "completed" } else { "open" };
    view! {
        <article class="session">
            <header class="item-head">
                <h1 dir="auto">
                    <Marked text=page.external_id.clone() />
                </h1>
                <p class="badges">
                    <StateBadge state />
                    <span class="number">{messages(page.message_count.into())}</span>
                </p>
            </header>
            <About episodes=page.episodes.clone() />
            <section class="part" aria-labelledby="ledger-title">
                <h2 id="ledger-title">"Result"</h2>
                <Ledger
                    session_id=page.id
                    rows=page.ledger.clone()
                    new_count=page.new_count
                />
                <Provenance page=page.clone() />
            </section>
            <Memories page=page.clone() />
            <section class="part" aria-labelledby="said-title">
                <h2 id="said-title">"Transcript"</h2>
                <Said page=page.clone() />
            </section>
            <Erase page />
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
            "agent" => "written by the agent",
            "model" => "written by the chat model",
            _ => "its most distinctive sentences",
        };
        let of = match episode.first == episode.last {
            true => format!("message {}, {whose}", episode.first),
            false => format!("messages {} to {}, {whose}", episode.first, episode.last),
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
fn Provenance(page: SessionPage) -> impl IntoView {
    let mut facts: Vec<Fact> = vec![
        ("Agent", view! { <bdi>{page.agent}</bdi> }.into_any()),
        ("Begun", view! { <When at=page.created /> }.into_any()),
    ];
    if let Some((at, why)) = page.completed {
        let why = match why {
            "asked" => "ended by the agent",
            "another" => "the agent started another session",
            "still" => "inactive",
            _ => "completed at night",
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
fn Memories(page: SessionPage) -> impl IntoView {
    if page.memories.is_empty() {
        return ().into_any();
    }
    let heading = memories(page.memory_count);
    let on_page: Vec<i32> = page.messages.iter().map(|m| m.position).collect();
    let rows = page.memories.into_iter().map(|memory| {
        let message = memory.position.map(|at| {
            let anchor = format!("#m{at}");
            let href = match on_page.contains(&at) {
                true => anchor,
                false => session_from(page.id, at) + &anchor,
            };
            view! { <a href=href>{format!("message {at}")}</a> }
        });
        view! {
            <li class="row" data-archived=memory.retired.map(|_| "")>
                <div class="row-type">
                    <TypeBadge item_type=memory.item_type />
                </div>
                <div class="row-words">
                    <a class="row-link" href=format!("/memory/{}", memory.id) dir="auto">
                        <Marked text=memory.words />
                    </a>
                    <p class="row-from">
                        <bdi class="theme">{memory.theme}</bdi>
                        <StateBadge state=memory.retired.map_or("active", retired_state) />
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
fn Erase(page: SessionPage) -> impl IntoView {
    let goes = format!(
        "{} and their extraction records are deleted permanently.",
        messages(page.message_count.into())
    );
    let too = (page.memory_count > 0).then(|| {
        view! {
            <label class="check">
                <input type="checkbox" name="memories" value="1" />
                <span>{format!("Also delete the {}", memories(page.memory_count))}</span>
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
                    <form class="stack" method="post" action=format!("/sessions/{}/erase", page.id)>
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
fn Said(page: SessionPage) -> impl IntoView {
    let id = page.id;
    let (Some(first), Some(last)) =
        (page.messages.first().map(|m| m.position), page.messages.last().map(|m| m.position))
    else {
        return view! {
            <p class="hint">
                "There are no messages after that. "
                <a href=session_from(id, 1)>"Read from the beginning"</a>
            </p>
        }
        .into_any();
    };
    let whole = first == 1 && last == page.message_count;
    let place = (!whole).then(|| {
        let words = format!(
            "Messages {} to {} of {}",
            count(first.into()),
            count(last.into()),
            count(page.message_count.into())
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
    let later = (last < page.message_count).then(|| {
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
    view! {
        {place}
        <ol class="transcript" start=first>
            {page
                .messages
                .into_iter()
                .map(|message| {
                    let of = |memory: &&CameOf| memory.position == Some(message.position);
                    let memories = page.memories.iter().filter(of).map(|memory| memory.id).collect();
                    view! { <Message message memories /> }
                })
                .collect_view()}
        </ol>
        {pages}
    }
    .into_any()
}

#[component]
fn Message(message: MessageView, memories: Vec<i64>) -> impl IntoView {
    let who = match message.role {
        "user" => "User",
        "assistant" => "Assistant",
        _ => "Tool result",
    };
    let tool = message.tool.map(|tool| {
        view! {
            <code>
                <bdi>{tool}</bdi>
            </code>
        }
    });
    let is_result = message.role == "tool";
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
        message.tool_calls.into_iter().map(|call| view! { <ToolCall call /> }).collect_view();
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
        <li class="said" id=format!("m{}", message.position) data-role=message.role>
            <p class="row-from">
                <b>{who}</b>
                {tool}
                <a class="number" href=format!("#m{}", message.position)>
                    {format!("{}", message.position)}
                    <span class="visually-hidden">": link to this message"</span>
                </a>
                <When at=message.at />
            </p>
            {content}
            {calls}
            {kept}
        </li>
    }
    .into_any()
}

#[component]
fn ToolCall(call: ToolCallView) -> impl IntoView {
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
