//! Sessions, and the rows of their ledger, which hold the results of reading.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

use super::message::{MessageRole, ToolCall};
use crate::db::{UserId, labels};
use crate::json::JsonTime;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct SessionId(pub i64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What happened to the messages of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedMessages {
    pub accepted: usize,
    /// Ids that the session already has; the stored messages are unchanged.
    pub duplicates: usize,
    /// Messages since the session was last flushed.
    pub unflushed: i32,
}

/// A session that was flushed up to this message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushedSession {
    pub session: SessionId,
    pub up_to: i32,
}

labels! {
    #[derive(JsonSchema)]
    pub enum SessionState {
        Open = "open",
        Completed = "completed",
    }
}

labels! {
    /// asked: the agent completed it; another: the agent continued in another session; still: no messages for 30 minutes; nightly: completed at night.
    #[derive(JsonSchema)]
    pub enum CompletionReason {
        Asked = "asked",
        Another = "another",
        Still = "still",
        Nightly = "nightly",
    }
}

/// One conversation of an agent with its user, and the newest row of its ledger.
#[derive(Clone, Debug)]
pub struct AgentSession {
    pub id: SessionId,
    pub external_id: String,
    /// The agent's name.
    pub agent: String,
    pub state: SessionState,
    /// The position of the last message.
    pub message_count: i32,
    /// The last message that a row of the ledger covers.
    pub ledger_position: i32,
    pub created_at: OffsetDateTime,
    /// When the last message was received.
    pub last_message_at: OffsetDateTime,
    /// When it was sent, if the agent said so.
    pub last_sent_at: Option<OffsetDateTime>,
    pub completed: Option<(OffsetDateTime, CompletionReason)>,
    /// Name of what it is about.
    pub project: Option<String>,
    pub extraction: Option<SessionExtraction>,
}

// A stored message; its schema has no description.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StoredMessage {
    /// Position in the session, from 1, in order of arrival.
    #[schemars(range(min = 1))]
    pub position: i32,
    /// The sender's id of the message.
    #[serde(rename = "id")]
    pub external_id: String,
    pub role: MessageRole,
    // Empty for a message with tool calls only.
    pub content: String,
    pub tool_calls: Vec<ToolCall>,
    pub tool_call_id: Option<String>,
    /// When the message was written, as stated by the sender; null if not stated.
    #[serde(rename = "created_at", with = "time::serde::rfc3339::option")]
    #[schemars(with = "Option<JsonTime>")]
    pub sent_at: Option<OffsetDateTime>,
    /// When the server received it.
    #[serde(rename = "received_at", with = "time::serde::rfc3339")]
    #[schemars(with = "JsonTime")]
    pub created_at: OffsetDateTime,
}

impl StoredMessage {
    pub fn said_at(&self) -> OffsetDateTime {
        self.sent_at.unwrap_or(self.created_at)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct ExtractionId(pub i64);

labels! {
    /// Result of an extraction; nothing: nothing was worth storing.
    #[derive(JsonSchema)]
    pub enum ExtractionOutcome {
        Pending = "pending",
        Stored = "stored",
        Nothing = "nothing",
        Failed = "failed",
        Skipped = "skipped",
    }
}

/// The results of a reading, as stored in its row of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExtractionCounts {
    /// Number of memories that were stored.
    #[schemars(range(min = 0))]
    pub stored: i32,
    /// Number of memories that existed already.
    #[schemars(range(min = 0))]
    pub merged: i32,
    /// Number of memories that were replaced.
    #[schemars(range(min = 0))]
    pub superseded: i32,
    /// Number of parts of the model's response that could not be parsed.
    #[schemars(range(min = 0))]
    pub malformed: i32,
    /// Number of characters in the middle of a very long session that were not read.
    #[schemars(range(min = 0))]
    pub skipped_chars: i64,
    /// Number of input tokens.
    #[schemars(range(min = 0))]
    pub tokens_in: i64,
    /// Number of output tokens.
    #[schemars(range(min = 0))]
    pub tokens_out: i64,
    /// Duration in milliseconds.
    #[schemars(range(min = 0))]
    pub duration_ms: i64,
}

/// A row of the ledger: one stretch of messages, and the result of reading it.
#[derive(Clone, Debug)]
pub struct SessionExtraction {
    pub id: ExtractionId,
    pub session_id: SessionId,
    pub first_position: i32,
    pub last_position: i32,
    pub outcome: ExtractionOutcome,
    /// Why it failed or was skipped: a clause for people.
    pub reason: Option<String>,
    pub counts: ExtractionCounts,
    /// It was read without a model.
    pub is_fallback: bool,
    /// How often it was begun. A finish names the attempt that it ends.
    pub attempts: i32,
    pub next_try_at: Option<OffsetDateTime>,
    /// How many windows earlier attempts have read.
    pub windows_read: i32,
    pub model: Option<String>,
    pub created_at: OffsetDateTime,
    /// Since when it is being read; `None`: it is not.
    pub reading_since: Option<OffsetDateTime>,
    pub ended_at: Option<OffsetDateTime>,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub struct ExtractionEnd<'a> {
    /// [`ExtractionOutcome::Pending`] releases it, to be begun again at `next_try_at`.
    pub outcome: ExtractionOutcome,
    pub reason: Option<&'a str>,
    pub counts: ExtractionCounts,
    pub is_fallback: bool,
    pub model: Option<&'a str>,
    /// When it is due again, whatever the outcome.
    pub next_try_at: Option<OffsetDateTime>,
    /// The next attempt skips these windows.
    pub windows_read: i32,
}

/// A row of the ledger that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueExtraction {
    pub user: UserId,
    pub extraction: ExtractionId,
}

/// The filter of the sessions page.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    pub agent: Option<i64>,
    pub state: Option<SessionState>,
    /// Of the newest row of the ledger.
    pub outcome: Option<ExtractionOutcome>,
    pub limit: i64,
}
