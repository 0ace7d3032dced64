//! One session: what came of it, and what was said, with an anchor at each message, so
//! that a memory can lead to the words it came from. Nothing here changes it.

use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::ledger::Ledger;
use super::messages;
use crate::address::session_from;
use crate::backend::{MESSAGES_SHOWN, backend};
use crate::components::{
    Content, Fact, Facts, Frame, Marked, Section, StateBadge, Trouble, When, count,
};
use crate::view::{MessageView, SessionPage, ToolCallView};

/// A tool's result is folded past it.
const RESULT_CHARS_SHOWN: usize = 500;

#[component]
pub fn Session() -> impl IntoView {
    let session_id = use_params_map().with_untracked(|params| params.get("id"));
    // What is no position is the first.
    let from = use_query_map()
        .with_untracked(|query| query.get("from"))
        .and_then(|from| from.parse().ok())
        .unwrap_or(1)
        .max(1);
    let backend = backend();
    let address = format!("/sessions/{}", session_id.clone().unwrap_or_default());
    let page = Suspend::new(async move {
        let found = match session_id.and_then(|id| id.parse().ok()) {
            Some(session_id) => backend.session_page(session_id, from).await,
            None => Ok(None),
        };
        match found {
            Ok(Some(page)) => view! { <Whole page /> }.into_any(),
            Ok(None) => {
                backend.not_found();
                view! { <Missing /> }.into_any()
            }
            Err(error) => view! { <Trouble heading="Session" error href=address /> }.into_any(),
        }
    });
    view! {
        <Frame section=Section::Sessions title="A session".to_owned()>
            <div class="page">
                <p class="back">
                    <a href="/sessions">
                        <span aria-hidden="true">"← "</span>
                        "All sessions"
                    </a>
                </p>
                {page}
            </div>
        </Frame>
    }
}

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"There is no such session"</h1>
        <p>"It may have been erased, or it was never yours."</p>
    }
}

#[component]
fn Whole(page: SessionPage) -> impl IntoView {
    let state = if page.completed.is_some() {
        "completed"
    } else {
        "open"
    };
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
            <section class="part" aria-labelledby="ledger-title">
                <h2 id="ledger-title">"What came of it"</h2>
                <Ledger rows=page.ledger.clone() new_count=page.new_count />
                <Provenance page=page.clone() />
            </section>
            <section class="part" aria-labelledby="said-title">
                <h2 id="said-title">"What was said"</h2>
                <Said page />
            </section>
        </article>
    }
    .into_any()
}

#[component]
fn Provenance(page: SessionPage) -> impl IntoView {
    let mut facts: Vec<Fact> = vec![
        ("Agent", view! { <bdi>{page.agent}</bdi> }.into_any()),
        ("Begun", view! { <When moment=page.created /> }.into_any()),
    ];
    if let Some((at, why)) = page.completed {
        let why = match why {
            "asked" => "the agent said so",
            "another" => "the agent went on in another session",
            "still" => "nothing was said for a while",
            _ => "the night came",
        };
        let completed = view! {
            <When moment=at />
            {format!(": {why}")}
        };
        facts.push(("Completed", completed.into_any()));
    }
    view! { <Facts facts inline=true /> }.into_any()
}

#[component]
fn Said(page: SessionPage) -> impl IntoView {
    let id = page.id;
    let (Some(first), Some(last)) = (
        page.messages.first().map(|m| m.position),
        page.messages.last().map(|m| m.position),
    ) else {
        return view! {
            <p class="hint">
                "Nothing was said after that. "
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
                .map(|message| view! { <Message message /> })
                .collect_view()}
        </ol>
        {pages}
    }
    .into_any()
}

#[component]
fn Message(message: MessageView) -> impl IntoView {
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
            view! { <p class="hint">"It gave nothing."</p> }.into_any()
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
    let calls = message
        .tool_calls
        .into_iter()
        .map(|call| view! { <ToolCall call /> })
        .collect_view();
    view! {
        <li class="said" id=format!("m{}", message.position) data-role=message.role>
            <p class="row-from">
                <b>{who}</b>
                {tool}
                <a class="number" href=format!("#m{}", message.position)>
                    {format!("{}", message.position)}
                    <span class="visually-hidden">": link to this message"</span>
                </a>
                <When moment=message.at />
            </p>
            {content}
            {calls}
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
