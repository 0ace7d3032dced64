//! The ways of having nothing to show: nothing is remembered yet (how to
//! begin), there are only conversations (what of them is found, and how they become memories), and nothing
//! matches (what to loosen, one link for each filter).

use leptos::prelude::*;

use crate::address::{MemoryFilters, StatusFilter};
use crate::components::{FirstSteps, Paste, TOKEN_PLACE, add_line, count};
use crate::page::asked;
use crate::sessions::turns::{COUNTED_MAX, Conversations};

#[component]
pub fn Beginning() -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Memory"</h1>
            <FirstSteps
                first_words="No memories yet."
                lead="This page lists what your agents learn about you: preferences, facts, instructions. Each memory shows who stated it, and when."
                by_hand="add a first memory"
                caption="Add a memory"
                line=add_line(asked().state.public_url.as_str(), TOKEN_PLACE)
            />
        </div>
    }
    .into_any()
}

/// Below the search box, which finds the messages.
#[component]
pub fn OnlyConversations(conversations: Conversations) -> impl IntoView {
    let sessions = counted(conversations.sessions, "conversation", "conversations");
    let searchable = match conversations.messages {
        0 => " are here. Search finds their messages if that is switched on there.".to_owned(),
        n => format!(" with {} can be searched above.", counted(n, "message", "messages")),
    };
    view! {
        <div class="begin">
            <p class="lead">
                <a href="/sessions">{sessions}</a> {searchable}
            </p>
            <ol class="steps">
                <li>
                    <p>
                        "Tell your agent something that lasts, such as “Remember that I take my tea without sugar.”"
                    </p>
                </li>
                <li>
                    <p>
                        "It is a memory as soon as the agent stores it, or when the conversation ends: when the agent closes it, or after 30 minutes without a message."
                    </p>
                </li>
                <li>
                    <p>
                        "To learn more from conversations, set a " <a href="/settings/chat">"chat model"</a>
                        ". Without one, only explicit statements are kept, as guesses."
                    </p>
                    <details class="fold">
                        <summary>"Or add a first memory by hand"</summary>
                        <Paste caption="Add a memory" text=add_line(asked().state.public_url.as_str(), TOKEN_PLACE) />
                    </details>
                </li>
            </ol>
        </div>
    }
    .into_any()
}

fn counted(n: i64, one: &str, several: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n if n >= COUNTED_MAX => format!("{} {several} and more", count(n)),
        n => format!("{} {several}", count(n)),
    }
}

#[component]
pub fn NothingMatches(filters: MemoryFilters) -> impl IntoView {
    let mut ways = Vec::new();
    if !filters.q.trim().is_empty() {
        ways.push((filters.without_words(), "clear the search"));
    }
    if filters.theme.is_some() {
        ways.push((filters.with_theme(None), "search all themes"));
    }
    if !filters.types.is_empty() {
        ways.push((filters.without_types(), "include all types"));
    }
    if filters.embedding.is_some() {
        ways.push((filters.with_embedding(None), "include any embedding status"));
    }
    if !filters.day.is_today() {
        ways.push((filters.today(), "go back to today"));
    }
    if filters.tag.is_some() {
        ways.push((filters.with_tag(None), "include all tags"));
    }
    if filters.agent.is_some() {
        ways.push((filters.with_agent(None), "include all agents"));
    }
    if filters.days.is_some() {
        ways.push((filters.with_days(None), "include all dates"));
    }
    let with_all = || filters.with_status(StatusFilter::All);
    match filters.status {
        StatusFilter::Archived => ways.push((with_all(), "include active memories")),
        StatusFilter::Active if filters.day.is_today() => {
            ways.push((with_all(), "include archived memories"));
        }
        _ => {}
    }
    view! {
        <div class="nothing">
            <p class="first-words">"No matching memories."</p>
            <p>"You can"</p>
            <ul>
                {ways
                    .into_iter()
                    .map(|(filters, words)| {
                        view! {
                            <li>
                                <a href=filters.href() data-live-link="loosen">
                                    {words}
                                </a>
                            </li>
                        }
                    })
                    .collect_view()}
                <li>
                    <a href="/memory" data-live-link="loosen">
                        "start over"
                    </a>
                </li>
            </ul>
        </div>
    }
    .into_any()
}
