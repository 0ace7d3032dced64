//! Badges: a shape and a word, so that neither colour nor sight is needed to
//! tell them apart.

use leptos::prelude::*;

/// The types of items, as slugs, in the order in which filters list them.
pub const ITEM_TYPES: [&str; 5] = ["preference", "fact", "instruction", "summary", "other"];

/// Each type's shape in a box of 12 by 12.
fn shape_of(item_type: &str) -> &'static str {
    match item_type {
        // a heart, a disc, an arrow, lines of text, a diamond
        "preference" => "M6 10.5 1.6 6.1a2.7 2.7 0 0 1 3.8-3.8L6 2.9l.6-.6a2.7 2.7 0 0 1 3.8 3.8z",
        "fact" => "M6 1.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4z",
        "instruction" => "M2.5 1.5 10.5 6l-8 4.5z",
        "summary" => "M1.5 2h9v1.7h-9zM1.5 5.2h9v1.7h-9zM1.5 8.4h5.5v1.7H1.5z",
        _ => "M6 1 11 6 6 11 1 6z",
    }
}

/// Each state's shape, in the same box.
fn shape_of_state(state: &str) -> &'static str {
    match state {
        // a box with a lid, a padlock, a tick, a cross
        "archived" => "M1 1.5h10v3H1zM2 5.5h8v5H2zM4.5 6.5v1.2h3V6.5z",
        "protected" => "M3 5V3.8a3 3 0 0 1 6 0V5h1v6H2V5zM4.5 5h3V3.8a1.5 1.5 0 0 0-3 0z",
        "valid" => "M4.6 10 1 6.4l1.3-1.3 2.3 2.3L9.7 2 11 3.3z",
        _ => "M2.3 1 6 4.7 9.7 1 11 2.3 7.3 6 11 9.7 9.7 11 6 7.3 2.3 11 1 9.7 4.7 6 1 2.3z",
    }
}

#[component]
pub fn TypeBadge(item_type: String) -> impl IntoView {
    let shape = shape_of(&item_type);
    view! {
        <span class="badge">
            <Shape shape />
            {item_type}
        </span>
    }
}

/// `archived`, `protected`; of a token `valid`, `expired`, `revoked`.
#[component]
pub fn StateBadge(state: &'static str) -> impl IntoView {
    view! {
        <span class="badge badge-outline">
            <Shape shape=shape_of_state(state) />
            {state}
        </span>
    }
}

#[component]
fn Shape(shape: &'static str) -> impl IntoView {
    view! {
        <svg class="shape" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
            <path d=shape fill-rule="evenodd" />
        </svg>
    }
}
