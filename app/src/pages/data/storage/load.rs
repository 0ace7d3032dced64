//! What is stored, for Your data: numbers alone.

use crate::view::StorageView;

use crate::accounts::UserId;
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
    pub(crate) async fn storage_view(&self, user: UserId) -> Result<StorageView, sqlx::Error> {
        let (used, limit) = self.state.embeddings.quota().of(user).await?;
        let used_bytes = used.as_ref().map_or(0, |used| used.bytes);
        Ok(StorageView {
            used: used_bytes,
            limit,
            line: format!("{} of {}", words(used_bytes), words(limit)),
            parts: used.as_ref().map_or_else(Vec::new, parts_of),
            counted: used.and_then(|used| used.counted_at),
        })
    }

    /// Why nothing is added for the user just now, if so.
    pub(crate) async fn want_of_room(&self, user: UserId) -> Result<Option<String>, sqlx::Error> {
        match self.state.embeddings.quota().check(user).await {
            Ok(()) => Ok(None),
            Err(QuotaError::Database(error)) => Err(error),
            Err(full) => Ok(Some(sentence(&full.to_string()))),
        }
    }
}

fn words(bytes: i64) -> String {
    in_words(bytes.max(0).unsigned_abs())
}

fn parts_of(used: &StorageUse) -> Vec<(&'static str, String)> {
    let of =
        |tables: &[&str]| -> i64 { tables.iter().filter_map(|table| used.parts.get(*table)).sum() };
    let mut parts: Vec<(&str, i64)> =
        PARTS.iter().map(|(label, tables)| (*label, of(tables))).collect();
    let rest = used.bytes - parts.iter().map(|(_, bytes)| bytes).sum::<i64>();
    parts.push((REST, rest));
    parts.sort_by_key(|(_, bytes)| -bytes);
    parts.retain(|(_, bytes)| *bytes > 0);
    parts.into_iter().map(|(label, bytes)| (label, words(bytes))).collect()
}
