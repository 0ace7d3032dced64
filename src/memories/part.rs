//! Where a source stands that is no memory: in which document, or of which session.

use time::OffsetDateTime;

/// What an episode tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// By number, and as its agent calls it; `None` where it was imported.
    pub session: Option<(i64, String)>,
    /// Of what was said.
    pub from: OffsetDateTime,
    pub until: OffsetDateTime,
}

impl Span {
    pub fn without_session(self) -> Self {
        Self {
            session: None,
            ..self
        }
    }

    pub(crate) fn of(
        session: Option<(i64, String)>,
        span: (Option<OffsetDateTime>, Option<OffsetDateTime>),
    ) -> Option<Self> {
        let (from, until) = span.0.zip(span.1)?;
        Some(Self {
            session,
            from,
            until,
        })
    }
}

/// Where a part of a document stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub document: i64,
    pub path: String,
    /// From 1, both included.
    pub lines: (i32, i32),
}

impl Part {
    pub(crate) fn of(document: Option<(i64, String)>, lines: Option<(i32, i32)>) -> Option<Self> {
        let ((document, path), lines) = document.zip(lines)?;
        Some(Self {
            document,
            path,
            lines,
        })
    }
}

/// Where a turn was said, as its agent calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub session_id: i64,
    /// The agent's own name of the session.
    pub session: String,
    /// The message's place in it.
    pub position: i32,
    /// The sender's id of the message.
    pub message: String,
    /// `user` or `assistant`
    pub role: String,
}
