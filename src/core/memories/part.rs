//! Where a source that is not an item comes from: its document, or its session.

use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

/// The part of a session that an episode summarizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodeSpan {
    /// The session's id, and the agent's id of it; `None` if it was imported.
    pub session: Option<(i64, String)>,
    /// Start and end of the conversation.
    pub from: OffsetDateTime,
    pub until: OffsetDateTime,
}

impl EpisodeSpan {
    pub fn without_session(self) -> Self {
        Self { session: None, ..self }
    }

    pub(crate) fn of(
        session: Option<(i64, String)>,
        span: (Option<OffsetDateTime>, Option<OffsetDateTime>),
    ) -> Option<Self> {
        let (from, until) = span.0.zip(span.1)?;
        Some(Self { session, from, until })
    }
}

/// Place of a part within its document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DocumentPart {
    #[serde(skip)]
    pub document: i64,
    /// Path of the document; memory_files knows it as /memories/{path}.
    pub path: String,
    /// First and last line, counted from 1.
    #[schemars(with = "[i32; 2]")]
    pub lines: (i32, i32),
}

impl DocumentPart {
    pub(crate) fn of(document: Option<(i64, String)>, lines: Option<(i32, i32)>) -> Option<Self> {
        let ((document, path), lines) = document.zip(lines)?;
        Some(Self { document, path, lines })
    }
}

/// Session and message of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TurnPosition {
    /// The agent's id of the session.
    pub session: String,
    /// Id in the address of the session's page, `/sessions/{session_id}`.
    pub session_id: i64,
    /// The sender's id of the message.
    pub message: String,
    /// Position of the message in the session, from 1.
    pub position: i32,
    #[schemars(extend("enum" = ["user", "assistant"]))]
    pub role: String,
}
