//! Badges: a shape and a word, so that neither colour nor sight is needed to
//! tell them apart.

use leptos::prelude::*;

use crate::embedding::EmbeddingState;
use crate::kinds::{shape_of, source_in_words, whose};
use crate::memories::Trust;
use crate::memories::derived::Outdated;

/// How an item left what is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retired {
    Archived,
    /// A newer one took its place.
    Superseded,
    /// Another held when it came, and holds.
    PutAside,
    Expired,
    /// Nobody had used it for long.
    Faded,
}

/// Each state's shape in a box of 12 by 12.
fn shape_of_state(state: &str) -> &'static str {
    match state {
        // a box with a lid, a padlock, a tick, an hourglass, a triangle, a bar across, a cross
        "archived" | "deleted" | "faded" => "M1 1.5h10v3H1zM2 5.5h8v5H2zM4.5 6.5v1.2h3V6.5z",
        // an arrow to the next
        "superseded" => "M1 5.2h6.2L4.6 2.6l1.1-1.1L10.2 6l-4.5 4.5-1.1-1.1 2.6-2.6H1z",
        "confirmed" | "confirmed by an agent" | "protected" => {
            "M3 5V3.8a3 3 0 0 1 6 0V5h1v6H2V5zM4.5 5h3V3.8a1.5 1.5 0 0 0-3 0z"
        }
        // of accounts and invitations: a shield
        "admin" => "M6 1 10.5 2.6v3.2C10.5 8.4 8.6 10.2 6 11 3.4 10.2 1.5 8.4 1.5 5.8V2.6z",
        "valid" | "used" | "ready" | "stored" | "active" | "works" | "in use" | "on"
        | "memory on" | "erased" | "done" | "accepted" | "applied" => {
            "M4.6 10 1 6.4l1.3-1.3 2.3 2.3L9.7 2 11 3.3z"
        }
        "pending" | "preparing" | "open" | "rebuilding" | "offered" | "erasing" => {
            "M2 1h8v1.4L7.2 6 10 9.6V11H2V9.6L4.8 6 2 2.4z"
        }
        "error" | "failed" | "waiting" => {
            "M6 .8 11.6 11H.4zM5.3 4.3v3.2h1.4V4.3zM5.3 8.4v1.3h1.4V8.4z"
        }
        "you" => shape_of("person"),
        // two bars
        "paused" => "M2 1.5h3v9H2zM7 1.5h3v9H7z",
        "nothing" | "undone" => "M1.5 5.2h9v1.7h-9z",
        // an arrow past a bar; a full stop
        "past" | "skipped" | "no longer applies" | "no longer held" => {
            "M1.5 1.5 7.5 6l-6 4.5zM8.5 1.5h2v9h-2z"
        }
        "completed" => "M3 3h6v6H3z",
        "off" | "disabled" | "memory off" => "M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1zM3 5.2v1.6h6V5.2z",
        _ => "M2.3 1 6 4.7 9.7 1 11 2.3 7.3 6 11 9.7 9.7 11 6 7.3 2.3 11 1 9.7 4.7 6 1 2.3z",
    }
}

/// What a badge says of an item that is not active.
pub fn retired_state(retired: Retired) -> &'static str {
    match retired {
        Retired::Archived => "archived",
        Retired::Superseded => "superseded",
        Retired::PutAside => "contradicted",
        Retired::Expired => "expired",
        Retired::Faded => "faded",
    }
}

/// What a text says of what does not hold any more: "replaced by #43".
#[component]
pub fn OutdatedBadge(mark: Outdated) -> impl IntoView {
    match mark {
        Outdated::ReplacedBy(newer) => view! {
            <a class="badge badge-outline above" href=format!("/memory/{newer}")>
                <Shape shape=shape_of_state("superseded") />
                {format!("replaced by #{newer}")}
            </a>
        }
        .into_any(),
        Outdated::NotHeld => view! { <StateBadge state="no longer held" /> }.into_any(),
    }
}

/// Who stated something: "stated by you", "from a tool", "from outside".
#[component]
pub fn WordBadge(whose: &'static str) -> impl IntoView {
    let shape = match whose {
        "stated by you" => shape_of("person"),
        "from a tool" => shape_of("product"),
        _ => shape_of("url"),
    };
    view! {
        <span class="badge badge-outline">
            <Shape shape />
            {whose}
        </span>
    }
}

/// Who stated it: "stated by an agent (a conversation), claude-code". The source is left out where it says no more.
#[component]
pub fn WordOf(source: String, trust: Trust, agent: Option<String>) -> impl IntoView {
    let says_no_more = matches!(
        (source.as_str(), trust),
        ("agent", Trust::Agent) | ("tool_call", Trust::Tool) | ("user_explicit", Trust::User)
    );
    let source = (!says_no_more).then(|| format!(" ({})", source_in_words(source, trust)));
    view! {
        <span class="source">
            {whose(trust)} {source}
            {agent.map(|agent| view! { ", " <bdi>{agent}</bdi> })}
        </span>
    }
    .into_any()
}

/// Who alone sees it: "for claude-code only"; nothing where it is shared.
#[component]
pub fn OwnerBadge(owner: Option<String>) -> impl IntoView {
    owner.map(|owner| {
        view! {
            <span class="badge badge-outline">
                "for " <bdi>{owner}</bdi> " only"
            </span>
        }
    })
}

/// What pages call a type: a turn is a "message".
pub fn type_name(item_type: &str) -> &str {
    match item_type {
        "turn" => "message",
        other => other,
    }
}

#[component]
pub fn TypeBadge(item_type: String) -> impl IntoView {
    let shape = shape_of(&item_type);
    view! {
        <span class="badge">
            <Shape shape />
            {type_name(&item_type).to_owned()}
        </span>
    }
}

/// `archived`, `superseded`, `expired`, `confirmed`; of a token `valid`, `expired`, `revoked`; of a provider
/// `works`, `preparing`, `rebuilding`, `waiting`, `failed`, `off` and their like; `memory on` or `off`;
/// of a session `open`, `completed`, `pending`, `stored`, `nothing`, `skipped`;
/// of what a dream proposed `accepted`, `dismissed`, `undone` and their like; of a job's run `done`, `failed`; of a job `paused`; of an account `admin`, `disabled`; of an invitation `open`, `used`, `expired`, `revoked`.
#[component]
pub fn StateBadge(state: &'static str) -> impl IntoView {
    let is_trouble = matches!(state, "error" | "failed" | "waiting");
    view! {
        <span class="badge badge-outline" class:badge-trouble=is_trouble>
            <Shape shape=shape_of_state(state) />
            {state}
        </span>
    }
}

/// The state of one item's embedding. `ready` is the rule, so it is the quietest.
#[component]
pub fn EmbeddingMark(state: EmbeddingState) -> impl IntoView {
    let (state, class, title) = match state {
        EmbeddingState::Ready => {
            ("ready", "mark-ready", "Embedding ready: semantic and keyword search")
        }
        EmbeddingState::Pending => {
            ("pending", "mark-pending", "Embedding pending; keyword search only")
        }
        EmbeddingState::Error | EmbeddingState::Off => {
            ("error", "mark-error", "Not embedded; keyword search only")
        }
    };
    view! {
        <span class=format!("mark-state {class}") title=title>
            <Shape shape=shape_of_state(state) />
            {state}
        </span>
    }
    .into_any()
}

#[component]
pub fn Shape(shape: &'static str) -> impl IntoView {
    view! {
        <svg class="shape" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
            <path d=shape fill-rule="evenodd" />
        </svg>
    }
}
