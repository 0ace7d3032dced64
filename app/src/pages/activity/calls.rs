//! The calls of agents by day: what each did in a word, to which memories, for whom, and how it ended.

use leptos::prelude::*;
use time::Date;
use time::macros::format_description;

use super::readings::caller;
use crate::activity::{ActivityRow, BEGINNING_CHARS, CallsPage, OK};
use crate::address::document_path;
use crate::components::{Shape, count, documents, memories};
use crate::kinds::{did, shape_of_tool};
use crate::moment::date_of;
use crate::page::asked;
use crate::words::beginning;

/// So many calls in a row that are alike are folded.
const RUN_MIN: usize = 4;

pub fn by_day(found: &CallsPage) -> AnyView {
    let today = asked().state.clock.now().date();
    let days = found.rows.chunk_by(|one, other| one.at.date() == other.at.date());
    let days = days.map(|day| {
        let runs = day.chunk_by(is_alike).map(|run| match run.len() < RUN_MIN {
            true => run.iter().map(|row| call(row, found)).collect_view().into_any(),
            false => folded(run, found),
        });
        view! {
            <h3 class="day-head">{day.first().map(|row| day_of(row.at.date(), today))}</h3>
            <ol class="calls">{runs.collect_view()}</ol>
        }
        .into_any()
    });
    days.collect_view().into_any()
}

/// "Today", "Yesterday", "21 November 2026"; in UTC, as all times of the pages.
fn day_of(day: Date, today: Date) -> String {
    match (today - day).whole_days() {
        0 => "Today".to_owned(),
        1 => "Yesterday".to_owned(),
        _ => date_of(day.midnight().assume_utc()),
    }
}

/// An agent did the same, with the same outcome.
fn is_alike(one: &ActivityRow, other: &ActivityRow) -> bool {
    caller(one) == caller(other) && (&one.tool, &one.outcome) == (&other.tool, &other.outcome)
}

/// When, and what.
fn head(row: &ActivityRow) -> AnyView {
    let at = asked().moment(row.at);
    let time = row.at.format(format_description!("[hour]:[minute]")).unwrap_or_default();
    view! {
        <time class="call-time" datetime=at.iso title=at.exact>{time}</time>
        <span class="badge">
            <Shape shape=shape_of_tool(&row.tool) />
            {did(&row.tool)}
        </span>
    }
    .into_any()
}

fn call(row: &ActivityRow, found: &CallsPage) -> AnyView {
    let problem = Some(row.outcome.clone()).filter(|outcome| outcome != OK);
    let words = match &problem {
        Some(problem) => view! { <p class="call-words">{why(problem)}</p> }.into_any(),
        None => touched(row, found),
    };
    let query = row.query.clone().map(|query| {
        view! {
            <q class="call-query" dir="auto">
                {query}
            </q>
        }
    });
    view! {
        <li class="row call" data-row="">
            {head(row)}
            <div class="row-words">{query} {words}</div>
            <p class="row-from">
                <bdi title=duration(row.duration_us)>{caller(row)}</bdi>
                {problem.map(|code| view! { <Failed code /> })}
            </p>
        </li>
    }
    .into_any()
}

/// Calls of one agent in a row that did the same: folded behind their number.
fn folded(run: &[ActivityRow], found: &CallsPage) -> AnyView {
    let Some(first) = run.first() else {
        return ().into_any();
    };
    view! {
        <li>
            <details class="run" id=format!("run-{}", first.id)>
                <summary class="row call">
                    {head(first)}
                    <span class="row-words">{format!("{} times", count(run.len() as i64))}</span>
                    <bdi class="row-from">{caller(first)}</bdi>
                </summary>
                <ol class="calls">{run.iter().map(|row| call(row, found)).collect_view()}</ol>
            </details>
        </li>
    }
    .into_any()
}

/// A shape and a word; the code, where a program would look for it. What went well says nothing.
#[component]
fn Failed(code: String) -> impl IntoView {
    view! {
        <span class="mark-state mark-error">
            <Shape shape="M6 .8 11.6 11H.4zM5.3 4.3v3.2h1.4V4.3zM5.3 8.4v1.3h1.4V8.4z" />
            "failed"
        </span>
        <code>{code}</code>
    }
    .into_any()
}

/// One memory is a link; more are folded behind their number.
fn touched(row: &ActivityRow, found: &CallsPage) -> AnyView {
    let tool = row.tool.as_str();
    match row.items[..] {
        [] if tool == "memory_list_themes" => {
            view! { <p class="call-words">"The names of all themes."</p> }.into_any()
        }
        [] if tool == "memory_stats" => {
            view! { <p class="call-words">"How many memories there are."</p> }.into_any()
        }
        [] if tool == "memory_summary" => view! {
            <p class="call-words">"What is remembered, in a few paragraphs."</p>
        }
        .into_any(),
        [] if tool == "memory_files" => {
            view! { <p class="call-words">"The list of documents."</p> }.into_any()
        }
        [] => view! { <p class="call-words">"Nothing was found."</p> }.into_any(),
        [id] => item(id, row, found),
        _ => view! {
            <details class="call-items" id=format!("call-{}", row.id)>
                <summary>{of_each(row, found)}</summary>
                <ol>
                    {row
                        .items
                        .iter()
                        .map(|id| view! { <li>{item(*id, row, found)}</li> })
                        .collect_view()}
                </ol>
            </details>
        }
        .into_any(),
    }
}

/// "3 memories", "2 documents", "1 memory and 2 documents"
fn of_each(row: &ActivityRow, found: &CallsPage) -> String {
    let of_documents = row.items.iter().filter(|id| found.documents.contains_key(id)).count();
    let of_memories = row.items.len() - of_documents;
    match (of_memories, of_documents) {
        (n, 0) => memories(n as i64),
        (0, n) => documents(n as i64),
        (m, d) => format!("{} and {}", memories(m as i64), documents(d as i64)),
    }
}

/// A memory by its beginning, a document by its path.
fn item(id: i64, row: &ActivityRow, found: &CallsPage) -> AnyView {
    let (href, text) = match found.documents.get(&id) {
        Some(path) => (document_path(id), Some(path.clone())),
        None => {
            let text = found.beginnings.get(&id).cloned();
            (format!("/memory/{id}"), text.map(|text| beginning(text, BEGINNING_CHARS)))
        }
    };
    match text {
        Some(text) => view! {
            <a class="call-item" href=href dir="auto">
                {text}
            </a>
        }
        .into_any(),
        None => {
            let what = match row.lent.contains(&id) {
                true => format!("Memory {id} of its team."),
                false => format!("Memory {id}, since deleted."),
            };
            view! { <p class="call-words">{what}</p> }.into_any()
        }
    }
}

/// "0.4 ms", "8 ms", "1.2 s"
fn duration(us: i32) -> String {
    match f64::from(us) {
        us if us < 9_950.0 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

fn why(problem: &str) -> &'static str {
    match problem {
        "not_found" => "No such memory.",
        "not_active" => "The memory is already archived, or has expired.",
        "confirmed" => "The memory with that key is confirmed and was not replaced.",
        "ambiguous_key" => "Several memories have that key.",
        "missing_scope" => "The token has no permission for it.",
        "memory_off" => "Memory was switched off.",
        "unknown_tool" => "No tool has that name.",
        "cancelled" => "The agent disconnected before the answer.",
        "database_unavailable" => "The database could not be reached.",
        "invalid_json" => "The input was not a JSON object.",
        "required" | "invalid_key" | "too_long" | "too_many" | "out_of_range" | "unknown_field"
        | "duplicate_field" | "invalid_type" | "invalid_text" => "The input was invalid.",
        _ => "It was refused.",
    }
}
