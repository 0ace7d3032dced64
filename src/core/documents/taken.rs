//! Import of documents: each is created archived, then gets its revisions, then becomes active if its path is free.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{
    Document, DocumentError, ImportedDocument, ImportedRevision, REVISIONS_KEPT, check_room,
};
use super::{ChangeAuthor, DocumentPath, Documents, check_free, store};
use crate::accounts::{AgentId, UserId};
use crate::input::Invalid;
use crate::memories::{ProjectId, Trust};

/// What became of a note of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenNote {
    Active,
    /// Another document has its path.
    Archived,
    /// A document of its path has its text.
    Known,
}

impl Documents {
    /// Imports a document with its only text, and its path and creation time, in the user's write transaction.
    ///
    /// # Errors
    /// [`Invalid`] if the user has too many.
    pub async fn take_note(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        (path, created_at): (&DocumentPath, OffsetDateTime),
        (text, trust): (&str, Trust),
        now: OffsetDateTime,
    ) -> Result<TakenNote, DocumentError> {
        if store::is_text_known(&mut *conn, user, path, text).await? {
            return Ok(TakenNote::Known);
        }
        let (documents, _) = store::count_kept(&mut *conn, user).await?;
        check_room(documents, 0, 0)?;
        let document = ImportedDocument { path: path.clone(), created_at };
        let id = store::insert_taken(&mut *conn, user, &document, (None, None), now).await?;
        let revision = ImportedRevision {
            revision: 1,
            event: "imported",
            path: path.clone(),
            content: Some(text),
            trust,
            at: created_at,
        };
        self.take_revision(&mut *conn, user, id, None, &revision).await?;
        self.take_end(&mut *conn, user, id, None, now).await?;
        let is_active = found(conn, user, id).await?.archived_at.is_none();
        Ok(if is_active { TakenNote::Active } else { TakenNote::Archived })
    }

    /// Creates the document and returns its id; `None` if it exists already. This and the following calls need a transaction
    /// of [`Db::as_writer`](crate::db::Db::as_writer).
    ///
    /// # Errors
    /// [`Invalid`] if the user has too many.
    pub async fn take_document(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        taken: &ImportedDocument,
        whose: (Option<i64>, Option<ProjectId>),
        now: OffsetDateTime,
    ) -> Result<Option<i64>, DocumentError> {
        if store::is_known(&mut *conn, user, &taken.path, taken.created_at).await? {
            return Ok(None);
        }
        let (documents, _) = store::count_kept(&mut *conn, user).await?;
        check_room(documents, 0, 0)?;
        let id = store::insert_taken(conn, user, taken, whose, now).await?;
        Ok(Some(id))
    }

    /// # Errors
    /// [`Invalid`] if it does not follow the previous one, or the first has no text.
    pub async fn take_revision(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        id: i64,
        agent: Option<AgentId>,
        taken: &ImportedRevision<'_>,
    ) -> Result<(), DocumentError> {
        let document = found(&mut *conn, user, id).await?;
        if taken.revision <= document.revision || document.revision == 0 && taken.content.is_none()
        {
            let sentence = "`revision` does not follow the one before, or the first has no text.";
            return Err(Invalid::new("revision", "invalid", sentence).into());
        }
        let (_, kept) = store::count_kept(&mut *conn, user).await?;
        check_room(0, kept, taken.content.map_or(0, str::len))?;
        store::insert_taken_revision(&mut *conn, user, id, agent, taken).await?;
        store::trim(conn, &[id], REVISIONS_KEPT).await?;
        Ok(())
    }

    /// Ends the import of a document after its last revision. `archived_at`: it was archived in the source.
    ///
    /// # Errors
    /// Database errors.
    pub async fn take_end(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        id: i64,
        archived_at: Option<OffsetDateTime>,
        now: OffsetDateTime,
    ) -> Result<(), DocumentError> {
        let document = found(&mut *conn, user, id).await?;
        let project = document.project_id();
        let there = store::find(&mut *conn, user, &document.path, false, project).await?;
        let is_other =
            |there: Document| there.owner_id != document.owner_id || there.project_id() != project;
        let is_free = there.is_none_or(is_other)
            && check_free(&mut *conn, user, &document.path).await.is_ok();
        let archived_at = match is_free {
            true => archived_at,
            false => Some(archived_at.unwrap_or(now)),
        };
        store::set_archived(&mut *conn, user, id, archived_at).await?;
        if archived_at.is_some() {
            return Ok(());
        }
        let by = ChangeAuthor { trust: document.trust, ..ChangeAuthor::person() };
        self.index_again(conn, user, by, &document, now).await
    }
}

async fn found(conn: &mut PgConnection, user: UserId, id: i64) -> Result<Document, DocumentError> {
    let found = store::find_by_id(conn, user, id).await?;
    found.ok_or(DocumentError::NotFound)
}
