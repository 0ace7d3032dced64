//! One call of an agent: what it did in a word, to which memories, for whom,
//! and how it ended.

use leptos::prelude::*;

use super::{Shape, count, documents, memories};
use crate::address::document_path;
use crate::view::{CallItem, CallRow};

const MAGNIFIER: &str =
    "M5 1a4 4 0 0 1 3.2 6.4l3 3-.8.8-3-3A4 4 0 1 1 5 1zM5 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z";
const PAGE: &str = "M2 1h8v10H2zM3.7 3.2v1.2h4.6V3.2zM3.7 5.6v1.2h4.6V5.6z";
const PLUS: &str = "M5.1 1h1.8v4.1H11v1.8H6.9V11H5.1V6.9H1V5.1h4.1z";
const BOX: &str = "M1 1.5h10v3H1zM2 5.5h8v5H2zM4.5 6.5v1.2h3V6.5z";
const ARROW: &str = "M1 5.2h6.2L4.6 2.6l1.1-1.1L10.2 6l-4.5 4.5-1.1-1.1 2.6-2.6H1z";
const TICK: &str = "M4.6 10 1 6.4l1.3-1.3 2.3 2.3L9.7 2 11 3.3z";
const BARS: &str = "M1.5 6.5h2.2v4H1.5zM4.9 1.5h2.2v9H4.9zM8.3 4h2.2v6.5H8.3z";
const LINES: &str = "M1.5 2h9v1.7h-9zM1.5 5.2h9v1.7h-9zM1.5 8.4h5.5v1.7H1.5z";
const GRAPH: &str = "M2.5 1.5a1.5 1.5 0 0 1 1.4 2l1.6 2h1.8a1.5 1.5 0 1 1 0 1.2H5.5l-1.6 2a1.5 1.5 0 1 1-.9-.8L4.6 6 3 4a1.5 1.5 0 1 1-.5-2.5z";
const CROSS: &str = "M2.3 1 6 4.7 9.7 1 11 2.3 7.3 6 11 9.7 9.7 11 6 7.3 2.3 11 1 9.7 4.7 6 1 2.3z";

/// The tools in the order in which filters list them: name, what its caller did, and its shape in a box of 12 by 12. The
/// last six are what only a person does.
pub const TOOLS: [(&str, &str, &str); 22] = [
    ("memory_search", "searched", MAGNIFIER),
    ("memory_get", "read", PAGE),
    ("memory_add", "added", PLUS),
    ("memory_archive", "archived", BOX),
    ("memory_list_themes", "listed themes", LINES),
    ("memory_correct", "corrected", ARROW),
    ("memory_confirm", "confirmed", TICK),
    ("memory_forget", "forgot", BOX),
    ("memory_describe_theme", "described a theme", LINES),
    ("memory_stats", "read the counts", BARS),
    ("memory_summary", "read the summary", PAGE),
    ("memory_entity", "looked up an entity", super::badge::PERSON),
    ("memory_graph", "read the graph", GRAPH),
    ("memory_files", "used files", super::badge::FILE),
    ("memory_recall", "recalled", MAGNIFIER),
    ("memory", "used memory", PAGE),
    ("memory_restore", "restored", ARROW),
    ("memory_unconfirm", "removed a confirmation", CROSS),
    ("memory_share", "shared with all agents", ARROW),
    ("memory_own", "restricted to its agent", BOX),
    ("memory_half_life", "set the half-life", BARS),
    ("memory_undo", "undid", CROSS),
];

/// What a tool's caller did: "searched". In a filter it is what to look for.
pub fn did(tool: &str) -> &'static str {
    of_tool(tool).map_or("unknown tool", |(_, did, _)| did)
}

fn shape_of(tool: &str) -> &'static str {
    of_tool(tool).map_or(CROSS, |(.., shape)| shape)
}

fn of_tool(tool: &str) -> Option<(&'static str, &'static str, &'static str)> {
    TOOLS.into_iter().find(|(name, ..)| *name == tool)
}

#[component]
pub fn Call(call: CallRow) -> impl IntoView {
    let words = match &call.problem {
        Some(problem) => view! { <p class="call-words">{why(problem)}</p> }.into_any(),
        None => touched(call.id, &call.tool, call.items),
    };
    let query = call.query.map(|query| {
        view! {
            <q class="call-query" dir="auto">
                {query}
            </q>
        }
    });
    view! {
        <li class="row call" data-row="">
            <time class="call-time" datetime=call.at.iso title=call.at.exact>{call.time}</time>
            <span class="badge">
                <Shape shape=shape_of(&call.tool) />
                {did(&call.tool)}
            </span>
            <div class="row-words">{query} {words}</div>
            <p class="row-from">
                <bdi title=call.duration>{call.agent}</bdi>
                {call.problem.map(|code| view! { <Failed code /> })}
            </p>
        </li>
    }
    .into_any()
}

/// Calls of one agent in a row that did the same: folded behind their number.
#[component]
pub fn Run(calls: Vec<CallRow>) -> impl IntoView {
    let Some(first) = calls.first() else {
        return ().into_any();
    };
    let head = view! {
        <time class="call-time" datetime=first.at.iso.clone() title=first.at.exact.clone()>{first.time.clone()}</time>
        <span class="badge">
            <Shape shape=shape_of(&first.tool) />
            {did(&first.tool)}
        </span>
        <span class="row-words">{format!("{} times", count(calls.len() as i64))}</span>
        <bdi class="row-from">{first.agent.clone()}</bdi>
    };
    let id = format!("run-{}", first.id);
    view! {
        <li>
            <details class="run" id=id>
                <summary class="row call">{head}</summary>
                <ol class="calls">{calls.into_iter().map(|call| view! { <Call call /> }).collect_view()}</ol>
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
fn touched(call_id: i64, tool: &str, mut items: Vec<CallItem>) -> AnyView {
    match items.len() {
        0 if tool == "memory_list_themes" => {
            view! { <p class="call-words">"The names of all themes."</p> }.into_any()
        }
        0 if tool == "memory_stats" => {
            view! { <p class="call-words">"How many memories there are."</p> }.into_any()
        }
        0 if tool == "memory_summary" => view! {
            <p class="call-words">"What is remembered, in a few paragraphs."</p>
        }
        .into_any(),
        0 if tool == "memory_files" => {
            view! { <p class="call-words">"The list of documents."</p> }.into_any()
        }
        0 => view! { <p class="call-words">"Nothing was found."</p> }.into_any(),
        1 => items.remove(0).into_any_view(),
        _ => view! {
            <details class="call-items" id=format!("call-{call_id}")>
                <summary>{of_each(&items)}</summary>
                <ol>
                    {items
                        .into_iter()
                        .map(|item| view! { <li>{item.into_any_view()}</li> })
                        .collect_view()}
                </ol>
            </details>
        }
        .into_any(),
    }
}

/// "3 memories", "2 documents", "1 memory and 2 documents"
fn of_each(items: &[CallItem]) -> String {
    let of_documents = items.iter().filter(|item| item.is_document).count();
    let of_memories = items.len() - of_documents;
    match (of_memories, of_documents) {
        (n, 0) => memories(n as i64),
        (0, n) => documents(n as i64),
        (m, d) => format!("{} and {}", memories(m as i64), documents(d as i64)),
    }
}

impl CallItem {
    fn into_any_view(self) -> AnyView {
        let href = match self.is_document {
            true => document_path(self.id),
            false => format!("/memory/{}", self.id),
        };
        match self.beginning {
            Some(beginning) => view! {
                <a class="call-item" href=href dir="auto">
                    {beginning}
                </a>
            }
            .into_any(),
            None => {
                let what = match self.is_lent {
                    true => format!("Memory {} of its team.", self.id),
                    false => format!("Memory {}, since deleted.", self.id),
                };
                view! { <p class="call-words">{what}</p> }.into_any()
            }
        }
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
