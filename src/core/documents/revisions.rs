//! Reading and comparing a document's revisions, and restoring an older text.

use super::model::{Document, DocumentError};
use super::{ChangeAuthor, Documents, finish, store};
use crate::accounts::UserId;

/// A document at one of its revisions.
#[derive(Clone, Debug)]
pub struct DocumentRevision {
    /// The current state.
    pub document: Document,
    pub content: String,
    /// The text of the revision before, empty for the first; `None` if that is not kept any more.
    pub before: Option<String>,
}

impl Documents {
    /// # Errors
    /// [`DocumentError::NotFound`], also if the revision's text is not kept any more.
    pub async fn compare_revision(
        &self,
        user: UserId,
        id: i64,
        revision: i32,
    ) -> Result<DocumentRevision, DocumentError> {
        let mut tx = self.db.as_user(user).await?;
        let found = store::find_by_id(&mut tx, user, id).await?;
        let document = found.ok_or(DocumentError::NotFound)?;
        let content = store::find_content(&mut tx, user, id, revision).await?;
        let before = match revision {
            ..=1 => Some(String::new()),
            _ => store::find_content(&mut tx, user, id, revision - 1).await?,
        };
        tx.commit().await?;
        Ok(DocumentRevision { content: content.ok_or(DocumentError::NotFound)?, document, before })
    }

    /// Writes the text of an older revision as the newest one; does nothing if it is the same.
    ///
    /// # Errors
    /// [`DocumentError::NotFound`]; [`DocumentError::Refused`] if the document is deleted.
    pub async fn restore_revision(
        &self,
        user: UserId,
        by: ChangeAuthor<'_>,
        id: i64,
        revision: i32,
    ) -> Result<Document, DocumentError> {
        let now = self.embeddings.now();
        let mut tx = self.db.as_writer(user).await?;
        let found = store::find_by_id(&mut tx, user, id).await?;
        let document = found.ok_or(DocumentError::NotFound)?;
        let content = store::find_content(&mut tx, user, id, revision).await?;
        let content = content.ok_or(DocumentError::NotFound)?;
        if document.archived_at.is_some() {
            let sentence = "This document is deleted; restore it first.".to_owned();
            return Err(DocumentError::Refused(sentence));
        }
        let newest = store::find_content(&mut tx, user, id, document.revision).await?;
        if newest.as_deref() == Some(&content) {
            return Ok(document);
        }
        // The text keeps its trust, whoever restores it.
        let trust = store::find_trust(&mut tx, user, id, revision).await?;
        let by = ChangeAuthor { trust: trust.unwrap_or(by.trust), ..by };
        let document = self.change(&mut tx, user, by, document, &content, now).await?;
        finish(tx, by, &[id]).await?;
        Ok(document)
    }
}
