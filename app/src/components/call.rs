//! One call of an agent: what it did in a word, to which memories, for whom,
//! and how it ended.

use leptos::prelude::*;

use super::{Shape, count, documents, memories};
use crate::address::document_path;
use crate::kinds::{did, shape_of_tool};
use crate::page::asked;
use crate::view::{CallItem, CallRow};

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
    let at = asked().moment(call.at);
    view! {
        <li class="row call" data-row="">
            <time class="call-time" datetime=at.iso title=at.exact>{call.time}</time>
            <span class="badge">
                <Shape shape=shape_of_tool(&call.tool) />
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
    let at = asked().moment(first.at);
    let head = view! {
        <time class="call-time" datetime=at.iso title=at.exact>{first.time.clone()}</time>
        <span class="badge">
            <Shape shape=shape_of_tool(&first.tool) />
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
