//! A document's revisions, for whoever reads and compares them: the text of one and of the one before, and an older
//! text restored.

use super::model::{Document, DocumentError};
use super::{By, Documents, finish, store};
use crate::accounts::UserId;

/// A document as it was at one of its revisions.
#[derive(Clone, Debug)]
pub struct AtRevision {
    /// As it is now.
    pub document: Document,
    pub content: String,
    /// At the revision before: empty for the first. `None` where that is kept no more.
    pub before: Option<String>,
}

impl Documents {
    /// # Errors
    /// [`DocumentError::NotFound`]; so too where the revision is kept no more.
    pub async fn compare_revision(
        &self,
        user: UserId,
        id: i64,
        revision: i32,
    ) -> Result<AtRevision, DocumentError> {
        let mut tx = self.db.as_user(user).await?;
        let found = store::find_by_id(&mut tx, user, id).await?;
        let document = found.ok_or(DocumentError::NotFound)?;
        let content = store::find_content(&mut tx, user, id, revision).await?;
        let before = match revision {
            ..=1 => Some(String::new()),
            _ => store::find_content(&mut tx, user, id, revision - 1).await?,
        };
        tx.commit().await?;
        Ok(AtRevision {
            content: content.ok_or(DocumentError::NotFound)?,
            document,
            before,
        })
    }

    /// The text of an older revision becomes the newest one; nothing where it is that already.
    ///
    /// # Errors
    /// [`DocumentError::NotFound`]; [`DocumentError::Refused`] where the document is deleted.
    pub async fn restore_revision(
        &self,
        user: UserId,
        by: By<'_>,
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
        // Whose word it is stays, whoever brings it back.
        let trust = store::find_trust(&mut tx, user, id, revision).await?;
        let by = By {
            trust: trust.unwrap_or(by.trust),
            ..by
        };
        let document = self
            .change(&mut tx, user, by, document, &content, now)
            .await?;
        finish(tx, by, &[id]).await?;
        Ok(document)
    }
}
