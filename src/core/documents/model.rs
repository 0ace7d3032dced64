//! Documents, their authors, and the errors of changing them.

use time::OffsetDateTime;

use super::path::DocumentPath;
use crate::accounts::AgentId;
use crate::activity::RunningCall;
use crate::embedding::EmbeddingError;
use crate::input::Invalid;
use crate::memories::{Project, Trust};

/// Limit of a document's text, in bytes.
pub const CONTENT_BYTES_MAX: usize = 1024 * 1024;
/// Limit per user, including archived ones.
pub const DOCUMENTS_MAX: i64 = 10_000;
/// Limit on all revisions of a user's documents, in bytes.
pub const KEPT_BYTES_MAX: i64 = 256 * 1024 * 1024;
/// Number of revisions per document whose text is kept.
pub const REVISIONS_KEPT: i32 = 100;
/// The newest revisions per document, with a text or without, that are kept and listed: twice as many (`trim_revisions`).
pub const REVISIONS_SHOWN: i32 = 2 * REVISIONS_KEPT;

impl Document {
    pub(super) fn project_id(&self) -> Option<i64> {
        self.project.as_ref().map(|project| project.id.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub id: i64,
    pub path: DocumentPath,
    /// 1, 2, …
    pub revision: i32,
    /// Of the text.
    pub bytes: i32,
    pub trust: Trust,
    /// The only agent that can see it; `None`: shared.
    pub owner_id: Option<i64>,
    /// The owner's name.
    pub owner: Option<String>,
    /// `None`: of none, and seen in all.
    pub project: Option<Project>,
    pub created_at: OffsetDateTime,
    pub updated_at: OffsetDateTime,
    pub archived_at: Option<OffsetDateTime>,
}

/// One immutable state of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub revision: i32,
    /// `created`, `edited`, `renamed`, `archived`, `restored` or `imported`
    pub event: String,
    pub path: String,
    /// Name of the agent; `None`: the user, or an import.
    pub agent: Option<String>,
    pub trust: Trust,
    pub at: OffsetDateTime,
}

/// The author of a change.
#[derive(Clone, Copy)]
pub struct ChangeAuthor<'a> {
    pub agent: Option<AgentId>,
    pub trust: Trust,
    /// Recorded in the same transaction.
    pub call: Option<&'a RunningCall>,
}

impl<'a> ChangeAuthor<'a> {
    /// An agent, through this call.
    pub fn agent(call: &'a RunningCall) -> Self {
        Self { agent: call.viewer.agent_id, trust: Trust::Agent, call: Some(call) }
    }

    /// The user who owns the memory.
    pub fn person() -> Self {
        Self { agent: None, trust: Trust::User, call: None }
    }
}

/// The precondition of a write: the revision that the writer has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedRevision {
    /// No precondition.
    Any,
    /// The document must not exist.
    None,
    Revision(i32),
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("there is no document of this path")]
    NotFound,
    /// It is lent to the writer, so it is read-only.
    #[error("{0}")]
    Lent(&'static str),
    #[error("there is a document of this path already")]
    Exists,
    #[error("a folder stands where the document would")]
    IsFolder,
    #[error("a document stands where one of the path's folders would")]
    IsDocument,
    #[error("this document is the server's own: agents read it and do not change it")]
    ReadOnly,
    /// Contains the current text, so that the writer can merge.
    #[error("the document has changed since revision {expected}: it is at revision {}", current.revision)]
    Changed { expected: i32, current: Box<Document>, content: String },
    /// The requested change does not apply to the text.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Embedding(EmbeddingError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<EmbeddingError> for DocumentError {
    fn from(error: EmbeddingError) -> Self {
        match error {
            EmbeddingError::Database(error) => Self::Database(error),
            EmbeddingError::Invalid(invalid) => Self::Invalid(invalid),
            error => Self::Embedding(error),
        }
    }
}

/// # Errors
/// [`Invalid`] if it is too long or contains NUL.
pub fn check_content(field: &'static str, text: &str) -> Result<(), Invalid> {
    let invalid = |code, why: String| Err(Invalid::new(field, code, format!("`{field}` {why}")));
    if text.len() > CONTENT_BYTES_MAX {
        let why = format!("has {} bytes; a document has at most {CONTENT_BYTES_MAX}.", text.len());
        return invalid("too_long", why);
    }
    if text.contains('\0') {
        let why = "contains a NUL character (U+0000); send text without it.".to_owned();
        return invalid("invalid_text", why);
    }
    Ok(())
}

/// Checks the limits for one more document and for `more` bytes.
pub(super) fn check_room(documents: i64, kept: i64, more: usize) -> Result<(), Invalid> {
    if documents >= DOCUMENTS_MAX {
        let sentence = format!(
            "A memory has at most {DOCUMENTS_MAX} documents, deleted ones that can be restored too; nothing was written: delete some permanently on the page Documents."
        );
        return Err(Invalid::new("path", "too_many_documents", sentence));
    }
    if kept + more as i64 > KEPT_BYTES_MAX {
        let sentence = format!(
            "All documents with their revisions have {kept} bytes, and at most {KEPT_BYTES_MAX} are kept; nothing was written: delete some permanently on the page Documents."
        );
        return Err(Invalid::new("content", "too_many_bytes", sentence));
    }
    Ok(())
}

/// An imported document.
#[derive(Clone, Debug)]
pub struct ImportedDocument {
    pub path: DocumentPath,
    pub created_at: OffsetDateTime,
}

#[derive(Clone, Debug)]
pub struct ImportedRevision<'a> {
    pub revision: i32,
    pub event: &'static str,
    pub path: DocumentPath,
    /// `None`: unchanged.
    pub content: Option<&'a str>,
    pub trust: Trust,
    pub at: OffsetDateTime,
}
