//! Badges: a shape and a word, so that neither colour nor sight is needed to
//! tell them apart.

use leptos::prelude::*;

use crate::view::{EmbeddingState, Retired};

/// The types of items, as slugs, in the order in which filters list them.
pub const ITEM_TYPES: [&str; 9] = [
    "preference",
    "fact",
    "instruction",
    "summary",
    "other",
    "reflection",
    "turn",
    "episode",
    "document",
];

/// The types of entities, as slugs, in the order in which filters list them.
pub const ENTITY_TYPES: [&str; 9] = [
    "person",
    "project",
    "organization",
    "location",
    "product",
    "other",
    "date",
    "email",
    "url",
];

pub(super) const FILE: &str = "M2 1h5.2L10 3.8V11H2zM3.7 5.2v1.2h4.6V5.2zM3.7 7.6v1.2h4.6V7.6z";
pub(super) const PERSON: &str =
    "M6 1a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM1.5 11c0-2.6 2-4.2 4.5-4.2s4.5 1.6 4.5 4.2z";

/// Each type's shape in a box of 12 by 12.
pub fn shape_of(item_type: &str) -> &'static str {
    match item_type {
        // a heart, a disc, an arrow, lines of text, a speech bubble, a diamond
        "preference" => "M6 10.5 1.6 6.1a2.7 2.7 0 0 1 3.8-3.8L6 2.9l.6-.6a2.7 2.7 0 0 1 3.8 3.8z",
        "fact" => "M6 1.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4z",
        "instruction" => "M2.5 1.5 10.5 6l-8 4.5z",
        "summary" => "M1.5 2h9v1.7h-9zM1.5 5.2h9v1.7h-9zM1.5 8.4h5.5v1.7H1.5z",
        // a crescent
        "reflection" => "M7.6 1.2a5 5 0 1 0 3.4 7.2A4.6 4.6 0 0 1 7.6 1.2z",
        "turn" => "M1.5 1.5h9v6.3H6L3.2 10.7V7.8H1.5z",
        // an hourglass
        "episode" => "M2 1h8v1.4L7.2 6 10 9.6V11H2V9.6L4.8 6 2 2.4z",
        // a page with lines and a folded corner
        "document" => FILE,
        // head and shoulders, a folder, a house with windows, a pin, a box, a calendar, an envelope, a link
        "person" => PERSON,
        "project" => "M1 2.2h3.6L6 3.6h5v6.9H1z",
        "organization" => {
            "M2 1h8v10H7V8.5H5V11H2zM3.7 2.8v1.4h1.4V2.8zM6.9 2.8v1.4h1.4V2.8zM3.7 5.6V7h1.4V5.6zM6.9 5.6V7h1.4V5.6z"
        }
        "location" => {
            "M6 .8a3.9 3.9 0 0 1 3.9 3.9C9.9 7.5 6 11.4 6 11.4S2.1 7.5 2.1 4.7A3.9 3.9 0 0 1 6 .8zM6 3.2a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z"
        }
        "product" => "M6 .8 11 3.4v5.2L6 11.2 1 8.6V3.4zM6 2.3 3.3 3.7 6 5.1l2.7-1.4z",
        "date" => "M1.5 2H3V.8h1.4V2h3.2V.8H9V2h1.5v9h-9zM2.9 4.7v4.9h6.2V4.7z",
        "email" => "M1 2.5h10L6 6.4zM1 3.9 6 7.8l5-3.9v5.6H1z",
        "url" => {
            "M4 3.2h2v1.5H4a1.3 1.3 0 0 0 0 2.6h2v1.5H4a2.8 2.8 0 0 1 0-5.6zM6 3.2h2a2.8 2.8 0 0 1 0 5.6H6V7.3h2a1.3 1.3 0 0 0 0-2.6H6zM4.2 5.3h3.6v1.4H4.2z"
        }
        _ => "M6 1 11 6 6 11 1 6z",
    }
}

/// Each state's shape, in the same box.
fn shape_of_state(state: &str) -> &'static str {
    match state {
        // a box with a lid, a padlock, a tick, an hourglass, a triangle, a bar across, a cross
        "archived" | "deleted" | "faded" => "M1 1.5h10v3H1zM2 5.5h8v5H2zM4.5 6.5v1.2h3V6.5z",
        // an arrow to the next
        "superseded" => "M1 5.2h6.2L4.6 2.6l1.1-1.1L10.2 6l-4.5 4.5-1.1-1.1 2.6-2.6H1z",
        "confirmed" | "protected" => {
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
        "past" | "skipped" | "no longer applies" => "M1.5 1.5 7.5 6l-6 4.5zM8.5 1.5h2v9h-2z",
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
        EmbeddingState::Ready => (
            "ready",
            "mark-ready",
            "Embedding ready: semantic and keyword search",
        ),
        EmbeddingState::Pending => (
            "pending",
            "mark-pending",
            "Embedding pending; keyword search only",
        ),
        EmbeddingState::Error => ("error", "mark-error", "Not embedded; keyword search only"),
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
