//! The ledger in plain words: what came of each stretch of a session, why, when it
//! is tried again, and what it cost.

use leptos::prelude::*;

use crate::components::{StateBadge, When, count};
use crate::page::asked;
use crate::sessions::{ExtractionOutcome, SessionExtraction};

/// One sentence.
pub fn came_of(row: &SessionExtraction) -> String {
    let why = |what: &str| match &row.reason {
        Some(reason) => format!("{what}: {}.", reason.trim_end_matches('.')),
        None => format!("{what}."),
    };
    match row.outcome {
        ExtractionOutcome::Pending if row.attempts == 0 => "Waiting to be read.".to_owned(),
        ExtractionOutcome::Pending => why("Being read, or to be read again"),
        ExtractionOutcome::Stored => stored(row),
        ExtractionOutcome::Nothing => "Nothing worth storing.".to_owned(),
        ExtractionOutcome::Failed => why("Failed"),
        ExtractionOutcome::Skipped => why("Skipped"),
    }
}

fn stored(row: &SessionExtraction) -> String {
    let mut said = format!("Stored {}", count(row.counts.stored.into()));
    if row.counts.merged > 0 {
        said += &format!(", {} already known", count(row.counts.merged.into()));
    }
    if row.counts.superseded > 0 {
        said += &format!(", {} replaced older ones", count(row.counts.superseded.into()));
    }
    said + "."
}

#[component]
pub fn Ledger(rows: Vec<SessionExtraction>, new_count: i32) -> impl IntoView {
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
                {rows.into_iter().map(|row| view! { <Entry row /> }).collect_view()}
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
fn Entry(row: SessionExtraction) -> impl IntoView {
    let stretch = match (row.first_position, row.last_position) {
        (first, last) if first == last => format!("Message {first}"),
        (first, last) => format!("Messages {first} to {last}"),
    };
    let words = came_of(&row);
    let notes = notes(&row);
    let has_failed = matches!(row.outcome, ExtractionOutcome::Failed | ExtractionOutcome::Skipped);
    let is_due = row.next_try_at.is_some_and(|at| at <= asked().state.clock.now());
    let is_next = has_failed && (is_due || row.reading_since.is_some());
    let next = match row.next_try_at {
        _ if is_next => view! { <span>"It is being read again."</span> }.into_any(),
        Some(next) => view! {
            <span>
                "Next attempt " <When at=next />
            </span>
        }
        .into_any(),
        None => ().into_any(),
    };
    let again = (has_failed && !is_next).then(|| {
        view! {
            <form method="post" action=format!("/sessions/{}/again", row.session_id)>
                <input type="hidden" name="first" value=row.first_position />
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
    let cost = row.ended_at.is_some().then(|| {
        let (sent, answered) = (count(row.counts.tokens_in), count(row.counts.tokens_out));
        format!("{sent} tokens in, {answered} out, {}", duration(row.counts.duration_ms))
    });
    let when = row.ended_at.unwrap_or(row.created_at);
    view! {
        <li>
            <p class="badges">
                <StateBadge state=row.outcome.as_str() />
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

fn notes(row: &SessionExtraction) -> Vec<String> {
    let (counts, mut notes) = (&row.counts, Vec::new());
    if row.is_fallback {
        notes.push(match counts.stored + counts.merged {
            0 => "No chat model has read this, and nothing was stated explicitly.".to_owned(),
            n => format!(
                "No chat model has read this. Explicit statements that were kept by their words alone: {}. Guesses among them go when a model reads it.",
                count(n.into()),
            ),
        });
    }
    if counts.skipped_chars > 0 {
        notes.push(format!(
            "It is very long: {} characters in its middle were not read.",
            count(counts.skipped_chars)
        ));
    }
    if counts.malformed > 0 {
        notes.push(match counts.malformed {
            1 => "1 part of the model's answer could not be read.".to_owned(),
            n => format!("{} parts of the model's answer could not be read.", count(n.into())),
        });
    }
    notes
}

/// "40 ms", "1.2 s", "3 min"
fn duration(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{:.1} s", ms as f64 / 1e3),
        ms => format!("{} min", (ms + 30_000) / 60_000),
    }
}
