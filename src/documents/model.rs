//! What a document is, who changes it, and why it was not changed.

use time::OffsetDateTime;

use super::path::DocumentPath;
use crate::accounts::AgentId;
use crate::activity::Call;
use crate::embedding::EmbeddingError;
use crate::input::Invalid;
use crate::memories::Trust;

/// Bytes of a document's text.
pub const CONTENT_BYTES_MAX: usize = 1024 * 1024;
/// Of a user, archived ones too.
pub const DOCUMENTS_MAX: i64 = 10_000;
/// Bytes of all revisions of all of a user's documents.
pub const KEPT_BYTES_MAX: i64 = 256 * 1024 * 1024;
/// Revisions of a document that keep their text.
pub const REVISIONS_KEPT: i32 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub id: i64,
    pub path: DocumentPath,
    /// 1, 2, …
    pub revision: i32,
    /// Of its text.
    pub bytes: i32,
    pub trust: Trust,
    /// The agent that alone it belongs to; `None`: it is shared.
    pub owner_id: Option<i64>,
    /// By name.
    pub owner: Option<String>,
    pub created_at: OffsetDateTime,
    pub updated_at: OffsetDateTime,
    pub archived_at: Option<OffsetDateTime>,
}

/// One state of a document. It is never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub revision: i32,
    /// `created`, `edited`, `renamed`, `archived`, `restored` or `imported`
    pub event: String,
    pub path: String,
    /// The agent's name; `None`: its person, or an import.
    pub agent: Option<String>,
    pub trust: Trust,
    pub at: OffsetDateTime,
}

/// Who changes a document.
#[derive(Clone, Copy)]
pub struct By<'a> {
    pub agent: Option<AgentId>,
    pub trust: Trust,
    /// Recorded with the change.
    pub call: Option<&'a Call>,
}

impl<'a> By<'a> {
    /// An agent, by this call.
    pub fn agent(call: &'a Call) -> Self {
        Self {
            agent: call.viewer.agent_id,
            trust: Trust::Agent,
            call: Some(call),
        }
    }

    /// The person whose memory it is.
    pub fn person() -> Self {
        Self {
            agent: None,
            trust: Trust::User,
            call: None,
        }
    }
}

/// The revision that whoever writes has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It does not matter.
    Any,
    /// There is no such document.
    None,
    Revision(i32),
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("there is no document of this path")]
    NotFound,
    /// It is lent to whoever would write it.
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
    /// Both are told: what is there, and that it is not what was read.
    #[error("the document has changed since revision {expected}: it is at revision {}", current.revision)]
    Changed {
        expected: i32,
        current: Box<Document>,
        content: String,
    },
    /// What was to be changed in it is not there as it was said.
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
/// [`Invalid`] where it is too long, or has a NUL.
pub fn check_content(field: &'static str, text: &str) -> Result<(), Invalid> {
    let invalid = |code, why: String| Err(Invalid::new(field, code, format!("`{field}` {why}")));
    if text.len() > CONTENT_BYTES_MAX {
        let why = format!(
            "has {} bytes; a document has at most {CONTENT_BYTES_MAX}.",
            text.len()
        );
        return invalid("too_long", why);
    }
    if text.contains('\0') {
        let why = "contains a NUL character (U+0000); send text without it.".to_owned();
        return invalid("invalid_text", why);
    }
    Ok(())
}

/// Whether one more document, or so many more bytes, may be kept.
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
