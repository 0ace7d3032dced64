//! Where a source that is not an item comes from: its document, or its session.

use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

use crate::json::JsonTime;

/// The session and period that an episode summarizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EpisodeSpan {
    /// The agent's id of the session; null if the episode was imported.
    pub session: Option<String>,
    /// Id in the address of the session's page, `/sessions/{session_id}`.
    pub session_id: Option<i64>,
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "JsonTime")]
    pub from: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "JsonTime")]
    pub until: OffsetDateTime,
}

impl EpisodeSpan {
    pub fn without_session(self) -> Self {
        Self { session: None, session_id: None, ..self }
    }

    pub(crate) fn of(
        session: Option<(i64, String)>,
        span: (Option<OffsetDateTime>, Option<OffsetDateTime>),
    ) -> Option<Self> {
        let (from, until) = span.0.zip(span.1)?;
        let (session_id, session) = session.unzip();
        Some(Self { session, session_id, from, until })
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
