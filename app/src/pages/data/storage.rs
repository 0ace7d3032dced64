//! What is stored, in numbers alone: the part of Your data.

use leptos::prelude::*;

use crate::accounts::UserId;
use crate::components::{Progress, When};
use crate::input::sentence;
use crate::page::Page;
use crate::quota::{QuotaError, StorageUse, in_words};

/// Which tables are named how on Your data; all others are the rest.
const PARTS: [(&str, &[&str]); 5] = [
    ("Sessions", &["sessions", "session_messages", "session_extractions", "episodes"]),
    ("Memories and messages", &["memory_items", "memory_item_events"]),
    ("Search index and vectors", &["memory_passages", "memory_embeddings"]),
    ("Documents", &["documents", "document_revisions"]),
    ("Recorded calls", &["activity"]),
];
const REST: &str = "Everything else";

impl Page {
    /// Why nothing is added for the user just now, if so.
    pub(crate) async fn want_of_room(&self, user: UserId) -> Result<Option<String>, sqlx::Error> {
        match self.state.embeddings.quota().check(user).await {
            Ok(()) => Ok(None),
            Err(QuotaError::Database(error)) => Err(error),
            Err(full) => Ok(Some(sentence(&full.to_string()))),
        }
    }
}

/// `used`: `None` before the first count.
#[component]
pub fn Storage(used: Option<StorageUse>, limit: i64) -> impl IntoView {
    let bytes = used.as_ref().map_or(0, |used| used.bytes);
    let line = format!("{} of {}", words(bytes), words(limit));
    let parts = used.as_ref().map_or_else(Vec::new, parts_of);
    let parts = parts
        .into_iter()
        .map(|(label, bytes)| {
            view! {
                <div>
                    <dt>{label}</dt>
                    <dd class="number">{words(bytes)}</dd>
                </div>
            }
        })
        .collect_view();
    let counted = match used.and_then(|used| used.counted_at) {
        Some(at) => view! { "Counted " <When at /> "." }.into_any(),
        None => "It is counted in a moment.".into_any(),
    };
    view! {
        <section class="part" aria-labelledby="storage-title">
            <h2 id="storage-title">"Storage"</h2>
            <Progress
                label="Storage used".to_owned()
                done=bytes
                failed=0
                total=limit
                line
            />
            <dl class="facts">{parts}</dl>
            <p class="hint">
                {counted}
                " Once it is full, nothing is added until you delete memories, sessions or documents; reading and exporting go on."
            </p>
        </section>
    }
    .into_any()
}

fn words(bytes: i64) -> String {
    in_words(bytes.max(0).unsigned_abs())
}

fn parts_of(used: &StorageUse) -> Vec<(&'static str, i64)> {
    let of =
        |tables: &[&str]| -> i64 { tables.iter().filter_map(|table| used.parts.get(*table)).sum() };
    let mut parts: Vec<_> = PARTS.iter().map(|(label, tables)| (*label, of(tables))).collect();
    let rest = used.bytes - parts.iter().map(|(_, bytes)| bytes).sum::<i64>();
    parts.push((REST, rest));
    parts.sort_by_key(|(_, bytes)| -bytes);
    parts.retain(|(_, bytes)| *bytes > 0);
    parts
}
