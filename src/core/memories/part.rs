//! Where a source that is not an item comes from: its document, or its session.

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

/// A document part's position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPart {
    pub document: i64,
    pub path: String,
    /// First and last line, inclusive, from 1.
    pub lines: (i32, i32),
}

impl DocumentPart {
    pub(crate) fn of(document: Option<(i64, String)>, lines: Option<(i32, i32)>) -> Option<Self> {
        let ((document, path), lines) = document.zip(lines)?;
        Some(Self { document, path, lines })
    }
}

/// A turn's position in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPosition {
    pub session_id: i64,
    /// The agent's id of the session.
    pub session: String,
    /// The message's position in the session.
    pub position: i32,
    /// The sender's id of the message.
    pub message: String,
    /// `user` or `assistant`
    pub role: String,
}
