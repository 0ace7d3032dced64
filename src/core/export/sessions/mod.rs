//! Sessions, their messages and their ledger, as lines of an export.

pub(super) mod store;

use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;

#[derive(Serialize)]
pub struct SessionLine {
    pub id: i64,
    pub external_id: String,
    pub agent: String,
    pub state: String,
    #[serde(with = "crate::export::moment")]
    pub created_at: OffsetDateTime,
    #[serde(with = "crate::export::moment")]
    pub last_message_at: OffsetDateTime,
    #[serde(with = "crate::export::moment::option")]
    pub completed_at: Option<OffsetDateTime>,
    pub completed_why: Option<String>,
    /// What it is about, by name.
    pub project: Option<String>,
}

#[derive(Serialize)]
pub struct MessageLine {
    /// The `id` of its session.
    pub session: i64,
    pub position: i32,
    pub id: String,
    pub role: String,
    pub content: String,
    pub tool_calls: Option<Value>,
    pub tool_call_id: Option<String>,
    #[serde(with = "crate::export::moment::option")]
    pub sent_at: Option<OffsetDateTime>,
    #[serde(with = "crate::export::moment")]
    pub created_at: OffsetDateTime,
}

#[derive(Serialize)]
pub struct ExtractionLine {
    #[serde(skip)]
    pub id: i64,
    /// The `id` of its session.
    pub session: i64,
    pub first_position: i32,
    pub last_position: i32,
    pub outcome: String,
    pub reason: Option<String>,
    pub stored_count: i32,
    pub merged_count: i32,
    pub superseded_count: i32,
    pub malformed_count: i32,
    pub skipped_chars: i64,
    pub is_fallback: bool,
    pub attempts: i32,
    pub model: Option<String>,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub duration_ms: i64,
    #[serde(with = "crate::export::moment")]
    pub created_at: OffsetDateTime,
    #[serde(with = "crate::export::moment::option")]
    pub ended_at: Option<OffsetDateTime>,
}
