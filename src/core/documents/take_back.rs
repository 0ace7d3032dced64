//! Takes back what one author has changed within a time, as `memories::take_back` does with items: a created document is
//! deleted, a deleted one restored, an edited or moved one set back. One that somebody else has changed since stays.

use super::model::{DOCUMENTS_MAX, Document, DocumentError};
use super::store::{self, NewRevision, TouchedDocument};
use super::{ChangeAuthor, DocumentPath, Documents, add_revisions, check_free, finish};
use crate::accounts::UserId;
use crate::memories::take_back::{ChangedBy, TakenBack};

/// Limit on the documents taken back at once.
const TAKEN_BACK_MAX: i64 = DOCUMENTS_MAX;

impl Documents {
    /// How many documents an author has changed, by what taking back means for them.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn count_changed_by(
        &self,
        user: UserId,
        by: ChangedBy,
    ) -> Result<TakenBack, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        let touched = store::list_touched(&mut tx, user, by, TAKEN_BACK_MAX).await?;
        tx.commit().await?;
        let mut found = TakenBack::default();
        for one in &touched {
            *one.count_in(&mut found) += 1;
        }
        Ok(found)
    }

    /// Takes back what [`Self::count_changed_by`] counts, as the person, one document after another. Idempotent.
    ///
    /// # Errors
    /// Database errors only, as a [`DocumentError`].
    pub async fn take_back(&self, user: UserId, by: ChangedBy) -> Result<TakenBack, DocumentError> {
        let mut tx = self.db.as_user(user).await?;
        let touched = store::list_touched(&mut tx, user, by, TAKEN_BACK_MAX).await?;
        tx.commit().await?;
        let mut taken = TakenBack::default();
        for one in &touched {
            let is_done = match one.stays {
                true => false,
                false => match self.set_back(user, one).await {
                    Ok(()) => true,
                    Err(error @ (DocumentError::Database(_) | DocumentError::Embedding(_))) => {
                        return Err(error);
                    }
                    // Such as: another document has its path by now, or its old text is not kept any more.
                    Err(_) => false,
                },
            };
            match is_done {
                true => *one.count_in(&mut taken) += 1,
                false => taken.stay += 1,
            }
        }
        Ok(taken)
    }

    async fn set_back(&self, user: UserId, one: &TouchedDocument) -> Result<(), DocumentError> {
        let person = ChangeAuthor::person();
        let mut tx = self.db.as_writer(user).await?;
        let document = store::find_by_id(&mut tx, user, one.id).await?;
        let document = document.ok_or(DocumentError::NotFound)?;
        let Some(before) = one.before.as_ref().filter(|before| !before.is_archived) else {
            let found: Vec<Document> =
                Some(document).filter(|d| d.archived_at.is_none()).into_iter().collect();
            return self.archive_all(tx, user, person, found).await.map(drop);
        };
        tx.commit().await?;
        if document.archived_at.is_some() {
            self.restore(user, person, one.id).await?;
        }
        if document.path != before.path {
            self.rename_back(user, &document, &before.path).await?;
        }
        self.restore_revision(user, person, one.id, before.revision).await?;
        Ok(())
    }
}

impl Documents {
    async fn rename_back(
        &self,
        user: UserId,
        document: &Document,
        path: &DocumentPath,
    ) -> Result<(), DocumentError> {
        let (person, now) = (ChangeAuthor::person(), self.embeddings.now());
        let mut tx = self.db.as_writer(user).await?;
        check_free(&mut tx, user, path).await?;
        let there = store::find(&mut tx, user, path, false, document.project_id()).await?;
        if there.is_some() {
            return Err(DocumentError::Exists);
        }
        let new = NewRevision { event: "renamed", content: None, archived_at: None, at: now };
        let renamed = [(document.id, path.as_str())];
        for renamed in add_revisions(&mut tx, user, person, &renamed, &new).await? {
            if document.path.is_searched() != renamed.path.is_searched() {
                self.index_again(&mut tx, user, person, &renamed, now).await?;
            }
        }
        finish(tx, person, &[document.id]).await
    }
}

impl TouchedDocument {
    /// The count that it belongs to.
    fn count_in<'a>(&self, counts: &'a mut TakenBack) -> &'a mut usize {
        match &self.before {
            _ if self.stays => &mut counts.stay,
            None => &mut counts.archived,
            Some(before) if before.is_archived => &mut counts.archived,
            Some(_) if self.is_archived => &mut counts.restored,
            Some(_) => &mut counts.set_back,
        }
    }
}
