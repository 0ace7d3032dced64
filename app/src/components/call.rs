//! One call of an agent: what it did in a word, to which memories, for whom,
//! and how it ended.

use leptos::prelude::*;

use super::{Shape, When, documents, memories};
use crate::address::document_path;
use crate::view::{CallItem, CallRow};

/// The tools, in the order in which filters list them; the last six are what only a person does.
pub const TOOLS: [&str; 22] = [
    "memory_search",
    "memory_get",
    "memory_add",
    "memory_archive",
    "memory_list_themes",
    "memory_correct",
    "memory_confirm",
    "memory_forget",
    "memory_describe_theme",
    "memory_stats",
    "memory_summary",
    "memory_entity",
    "memory_graph",
    "memory_files",
    "memory_recall",
    "memory",
    "memory_restore",
    "memory_unconfirm",
    "memory_share",
    "memory_own",
    "memory_half_life",
    "memory_undo",
];

/// What a tool's caller did: "searched". In a filter it is what to look for.
pub fn did(tool: &str) -> &'static str {
    match tool {
        "memory_search" => "searched",
        "memory_get" => "read",
        "memory_add" => "added",
        "memory_archive" => "archived",
        "memory_list_themes" => "listed themes",
        "memory_correct" => "corrected",
        "memory_confirm" => "confirmed",
        "memory_forget" => "forgot",
        "memory_describe_theme" => "described a theme",
        "memory_stats" => "counted",
        "memory_summary" => "read the summary",
        "memory_entity" => "looked somebody or something up",
        "memory_graph" => "looked at connections",
        "memory_files" => "used files",
        "memory_recall" => "was reminded",
        "memory" => "used memory",
        "memory_restore" => "restored",
        "memory_unconfirm" => "removed a confirmation",
        "memory_share" => "shared with all agents",
        "memory_own" => "kept for its agent alone",
        "memory_half_life" => "set how fast it fades",
        "memory_undo" => "undid",
        _ => "unknown tool",
    }
}

/// Each tool's shape in a box of 12 by 12.
fn shape_of(tool: &str) -> &'static str {
    match tool {
        // a magnifier, a page, a plus, a box with a lid, lines of text, an arrow to the next, a
        // tick, bars, a cross
        "memory_search" => {
            "M5 1a4 4 0 0 1 3.2 6.4l3 3-.8.8-3-3A4 4 0 1 1 5 1zM5 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z"
        }
        "memory_get" | "memory_summary" => "M2 1h8v10H2zM3.7 3.2v1.2h4.6V3.2zM3.7 5.6v1.2h4.6V5.6z",
        "memory_add" => "M5.1 1h1.8v4.1H11v1.8H6.9V11H5.1V6.9H1V5.1h4.1z",
        "memory_archive" | "memory_forget" => "M1 1.5h10v3H1zM2 5.5h8v5H2zM4.5 6.5v1.2h3V6.5z",
        "memory_correct" | "memory_restore" => {
            "M1 5.2h6.2L4.6 2.6l1.1-1.1L10.2 6l-4.5 4.5-1.1-1.1 2.6-2.6H1z"
        }
        "memory_confirm" => "M4.6 10 1 6.4l1.3-1.3 2.3 2.3L9.7 2 11 3.3z",
        "memory_stats" => "M1.5 6.5h2.2v4H1.5zM4.9 1.5h2.2v9H4.9zM8.3 4h2.2v6.5H8.3z",
        "memory_list_themes" | "memory_describe_theme" => {
            "M1.5 2h9v1.7h-9zM1.5 5.2h9v1.7h-9zM1.5 8.4h5.5v1.7H1.5z"
        }
        "memory_files" => super::shape_of("document"),
        _ => "M2.3 1 6 4.7 9.7 1 11 2.3 7.3 6 11 9.7 9.7 11 6 7.3 2.3 11 1 9.7 4.7 6 1 2.3z",
    }
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
            <div class="row-type">
                <span class="badge">
                    <Shape shape=shape_of(&call.tool) />
                    {did(&call.tool)}
                </span>
            </div>
            <div class="row-words">
                {query} {words} <p class="row-from">
                    <span>"by " <bdi class="theme">{call.agent}</bdi></span>
                    <Ended problem=call.problem />
                    <span class="number">{call.duration}</span>
                </p>
            </div>
            <div class="row-when">
                <When moment=call.at />
            </div>
        </li>
    }
    .into_any()
}

/// A shape and a word; the code, where a program would look for it.
#[component]
fn Ended(problem: Option<String>) -> impl IntoView {
    match problem {
        None => view! {
            <span class="mark-state mark-ready">
                <Shape shape="M4.6 10 1 6.4l1.3-1.3 2.3 2.3L9.7 2 11 3.3z" />
                "ok"
            </span>
        }
        .into_any(),
        Some(code) => view! {
            <span class="mark-state mark-error">
                <Shape shape="M6 .8 11.6 11H.4zM5.3 4.3v3.2h1.4V4.3zM5.3 8.4v1.3h1.4V8.4z" />
                "failed"
            </span>
            <code>{code}</code>
        }
        .into_any(),
    }
}

/// One memory is a link; more are folded behind their number.
fn touched(call_id: i64, tool: &str, mut items: Vec<CallItem>) -> AnyView {
    match items.len() {
        0 if tool == "memory_list_themes" => {
            view! { <p class="call-words">"The names of all themes."</p> }.into_any()
        }
        0 if tool == "memory_stats" => {
            view! { <p class="call-words">"How many there are."</p> }.into_any()
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
                    true => format!("Number {} of what is lent to it.", self.id),
                    false => format!("Memory {}, which is gone.", self.id),
                };
                view! { <p class="call-words">{what}</p> }.into_any()
            }
        }
    }
}

fn why(problem: &str) -> &'static str {
    match problem {
        "not_found" => "There is no such memory.",
        "not_active" => "The memory was archived already, or has expired.",
        "confirmed" => "The memory of that key is confirmed, and was not replaced.",
        "ambiguous_key" => "More than one memory has that key.",
        "missing_scope" => "The token does not allow it.",
        "memory_off" => "Memory was switched off.",
        "unknown_tool" => "There is no tool of that name.",
        "cancelled" => "The agent went away before there was an answer.",
        "database_unavailable" => "The database could not be reached.",
        "invalid_json" => "The input was no JSON object.",
        "required" | "invalid_key" | "too_long" | "too_many" | "out_of_range" | "unknown_field"
        | "duplicate_field" | "invalid_type" | "invalid_text" => "The input was not accepted.",
        _ => "It was refused.",
    }
}
