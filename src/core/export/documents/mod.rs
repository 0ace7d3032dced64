//! Documents and their revisions, as lines of an export and an import. A document is identified by its path
//! and creation time. If another document has its path, it is imported as deleted, and can be restored.

pub(super) mod store;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::fields::{agent_name, trust};
use crate::accounts::AgentName;
use crate::documents::{DocumentPath, ImportedDocument, ImportedRevision, check_content};
use crate::input::Invalid;
use crate::memories::Trust;

/// Far from where the next one would not fit its column.
const REVISION_MAX: i32 = 1_000_000_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DocumentLine {
    pub id: i64,
    pub path: String,
    /// The number of the newest revision.
    pub revision: i32,
    /// The agent that owns it; null: it is shared.
    pub owner: Option<String>,
    /// By name; null: of none.
    pub project: Option<String>,
    #[serde(with = "crate::export::moment")]
    pub created_at: OffsetDateTime,
    #[serde(default, with = "crate::export::moment::option")]
    pub archived_at: Option<OffsetDateTime>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RevisionLine {
    pub document: i64,
    pub revision: i32,
    pub event: String,
    pub path: String,
    /// Null: unchanged from the previous revision.
    pub content: Option<String>,
    pub trust: String,
    pub agent: Option<String>,
    #[serde(with = "crate::export::moment")]
    pub at: OffsetDateTime,
}

/// A note of another program: a document with its only text.
#[derive(Clone, Debug)]
pub struct NoteRecord {
    pub path: DocumentPath,
    pub content: String,
    pub created_at: OffsetDateTime,
    pub trust: Trust,
}

const EVENTS: [&str; 6] = ["created", "edited", "renamed", "archived", "restored", "imported"];

impl DocumentLine {
    /// Checks the line.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn taken(&self) -> Result<(ImportedDocument, Option<AgentName>), Invalid> {
        let document = ImportedDocument {
            path: DocumentPath::parse("path", &self.path)?,
            created_at: self.created_at,
        };
        Ok((document, agent_name(self.owner.as_deref())?))
    }
}

impl RevisionLine {
    /// Checks the line.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn taken(&self) -> Result<(ImportedRevision<'_>, Option<AgentName>), Invalid> {
        let event = EVENTS.into_iter().find(|event| *event == self.event);
        let event = event.ok_or_else(|| {
            let sentence = format!("`event` is none of {}.", EVENTS.join(", "));
            Invalid::new("event", "invalid", sentence)
        })?;
        let trust = trust(&self.trust)?;
        if !(1..=REVISION_MAX).contains(&self.revision) {
            let sentence = format!("`revision` is out of range; 1 to {REVISION_MAX} are accepted.");
            return Err(Invalid::new("revision", "out_of_range", sentence));
        }
        if let Some(content) = &self.content {
            check_content("content", content)?;
        }
        let revision = ImportedRevision {
            revision: self.revision,
            event,
            path: DocumentPath::parse("path", &self.path)?,
            content: self.content.as_deref(),
            trust,
            at: self.at,
        };
        Ok((revision, agent_name(self.agent.as_deref())?))
    }
}
