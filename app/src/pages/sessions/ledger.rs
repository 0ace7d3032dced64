//! The ledger in plain words: what came of each stretch of a session, why, when it
//! is tried again, and what it cost.

use leptos::prelude::*;

use crate::components::{StateBadge, When, count};
use crate::view::{LedgerRow, Outcome};

#[component]
pub fn OutcomeBadge(outcome: Outcome) -> impl IntoView {
    view! { <StateBadge state=outcome.slug() /> }
}

/// One sentence.
pub fn came_of(row: &LedgerRow) -> String {
    let why = |what: &str| match &row.reason {
        Some(reason) => format!("{what}: {}.", reason.trim_end_matches('.')),
        None => format!("{what}."),
    };
    match row.outcome {
        Outcome::Pending if row.attempts == 0 => "Waiting to be read.".to_owned(),
        Outcome::Pending => why("Being read, or to be read again"),
        Outcome::Stored => stored(row),
        Outcome::Nothing => "Nothing worth storing.".to_owned(),
        Outcome::Failed => why("Failed"),
        Outcome::Skipped => why("Skipped"),
    }
}

fn stored(row: &LedgerRow) -> String {
    let mut said = format!("Stored {}", count(row.stored));
    if row.merged > 0 {
        said += &format!(", {} already known", count(row.merged));
    }
    if row.superseded > 0 {
        said += &format!(", {} replaced older ones", count(row.superseded));
    }
    said + "."
}

#[component]
pub fn Ledger(session_id: i64, rows: Vec<LedgerRow>, new_count: i32) -> impl IntoView {
    let open = (new_count > 0).then(|| {
        let words = match new_count {
            1 => "1 message is not read yet: the session is open.".to_owned(),
            n => format!("{} messages are not read yet: the session is open.", count(n.into())),
        };
        view! { <p class="hint">{words}</p> }
    });
    let list = (!rows.is_empty()).then(|| {
        view! {
            <ol class="ledger">
                {rows.into_iter().map(|row| view! { <Entry session_id row /> }).collect_view()}
            </ol>
        }
    });
    view! {
        {list}
        {open}
    }
    .into_any()
}

#[component]
fn Entry(session_id: i64, row: LedgerRow) -> impl IntoView {
    let stretch = match (row.first, row.last) {
        (first, last) if first == last => format!("Message {first}"),
        (first, last) => format!("Messages {first} to {last}"),
    };
    let words = came_of(&row);
    let notes = notes(&row);
    let next = match row.next_try {
        _ if row.is_next => view! { <span>"It is being read again."</span> }.into_any(),
        Some(next) => view! {
            <span>
                "Next attempt " <When at=next />
            </span>
        }
        .into_any(),
        None => ().into_any(),
    };
    let again = row.may_be_read_again.then(|| {
        view! {
            <form method="post" action=format!("/sessions/{session_id}/again")>
                <input type="hidden" name="first" value=row.first />
                <button type="submit">
                    "Read again"
                    <span class="visually-hidden">": " {stretch.to_lowercase()}</span>
                </button>
            </form>
        }
    });
    let model = row.model.map(|model| {
        view! {
            <span>
                "by " <bdi>{model}</bdi>
            </span>
        }
    });
    let cost = row.ended.is_some().then(|| {
        let (sent, answered) = row.tokens;
        format!("{} tokens in, {} out, {}", count(sent), count(answered), row.duration)
    });
    let when = row.ended.unwrap_or(row.created);
    view! {
        <li>
            <p class="badges">
                <OutcomeBadge outcome=row.outcome />
                <span class="number">{stretch.clone()}</span>
                <When at=when />
            </p>
            <p dir="auto">{words}</p>
            {notes.into_iter().map(|note| view! { <p class="hint">{note}</p> }).collect_view()}
            <p class="row-from">
                {next}
                {model}
                {cost.map(|cost| view! { <span class="number">{cost}</span> })}
            </p>
            {again}
        </li>
    }
    .into_any()
}

fn notes(row: &LedgerRow) -> Vec<String> {
    let mut notes = Vec::new();
    if row.is_fallback {
        notes.push(match row.stored + row.merged {
            0 => "No chat model has read this, and nothing was stated explicitly.".to_owned(),
            n => format!(
                "No chat model has read this. Explicit statements that were kept by their words alone: {}. Guesses among them go when a model reads it.",
                count(n),
            ),
        });
    }
    if row.skipped_chars > 0 {
        notes.push(format!(
            "It is very long: {} characters in its middle were not read.",
            count(row.skipped_chars)
        ));
    }
    if row.malformed > 0 {
        notes.push(match row.malformed {
            1 => "1 part of the model's answer could not be read.".to_owned(),
            n => format!("{} parts of the model's answer could not be read.", count(n)),
        });
    }
    notes
}
