//! Documents: text files that agents write (`MEMORY.md`, `memory/2026-03-23.md`). Each change is a stored revision. Search
//! finds the parts of Markdown documents (`parts.rs`). An agent's deletion archives; a user can restore, or delete for good
//! (`crate::erasure`).

mod lent;
mod model;
mod parts;
mod path;
mod revisions;
mod store;
mod take_back;
mod taken;

use std::collections::HashMap;

use sqlx::PgConnection;
use time::OffsetDateTime;

pub use lent::LentMemoryName;
pub use model::{
    CONTENT_BYTES_MAX, ChangeAuthor, DOCUMENTS_MAX, Document, DocumentError, ExpectedRevision,
    ImportedDocument, ImportedRevision, KEPT_BYTES_MAX, REVISIONS_KEPT, REVISIONS_SHOWN, Revision,
    check_content,
};
pub use path::{DocumentPath, PATH_CHARS_MAX};
pub use revisions::DocumentRevision;
pub use taken::TakenNote;

use crate::accounts::UserId;
use crate::db::{Db, Tx};
use crate::embedding::Embeddings;
use crate::input::Invalid;
use crate::memories::ProjectId;
use crate::search::reader::on_a_thread;
use crate::texts::edit;
use store::NewRevision;

/// Reads and changes users' documents.
#[derive(Clone)]
pub struct Documents {
    db: Db,
    embeddings: Embeddings,
    /// Whose documents are read first, and written.
    project: Option<i64>,
}

/// A document with its text.
#[derive(Clone, Debug)]
pub struct FullDocument {
    pub document: Document,
    pub content: String,
}

impl Documents {
    pub fn new(db: Db, embeddings: Embeddings) -> Self {
        Self { db, embeddings, project: None }
    }

    /// The documents of a project, and those of none where it has none of the path; what is written is the project's. Of an
    /// unknown project: those of none.
    pub fn in_project(self, project: Option<ProjectId>) -> Self {
        Self { project: project.map(|project| project.0), ..self }
    }

    /// Documents in this folder and below, or all, by path.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn list(
        &self,
        user: UserId,
        folder: Option<&DocumentPath>,
        with_archived: bool,
    ) -> Result<Vec<Document>, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        let beginning = folder.map(|folder| format!("{folder}/")).unwrap_or_default();
        let listed =
            store::list(&mut tx, user, &beginning, with_archived, self.project, DOCUMENTS_MAX)
                .await?;
        tx.commit().await?;
        Ok(listed)
    }

    /// # Errors
    /// [`DocumentError::NotFound`]
    pub async fn read(
        &self,
        user: UserId,
        path: &DocumentPath,
    ) -> Result<FullDocument, DocumentError> {
        let mut tx = self.db.as_user(user).await?;
        let whole = read_in(&mut tx, user, path, self.project).await?;
        tx.commit().await?;
        Ok(whole)
    }

    /// A document, archived or not, at a revision.
    ///
    /// # Errors
    /// [`DocumentError::NotFound`], also if the revision's text is not kept any more.
    pub async fn read_revision(
        &self,
        user: UserId,
        id: i64,
        revision: Option<i32>,
    ) -> Result<FullDocument, DocumentError> {
        let mut tx = self.db.as_user(user).await?;
        let found = store::find_by_id(&mut tx, user, id).await?;
        let document = found.ok_or(DocumentError::NotFound)?;
        let at = revision.unwrap_or(document.revision);
        let content = store::find_content(&mut tx, user, id, at).await?;
        tx.commit().await?;
        Ok(FullDocument { content: content.ok_or(DocumentError::NotFound)?, document })
    }

    /// Newest first.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn revisions(&self, user: UserId, id: i64) -> Result<Vec<Revision>, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        let listed = store::list_revisions(&mut tx, user, id, REVISIONS_SHOWN.into()).await?;
        tx.commit().await?;
        Ok(listed)
    }

    /// Creates a document or replaces its text.
    ///
    /// # Errors
    /// [`DocumentError::Changed`] if its revision is not the expected one.
    pub async fn put(
        &self,
        user: UserId,
        by: ChangeAuthor<'_>,
        path: &DocumentPath,
        content: &str,
        expected: ExpectedRevision,
    ) -> Result<Document, DocumentError> {
        check_content("content", content)?;
        check_writable(by, path)?;
        let now = self.embeddings.now();
        let mut tx = self.db.as_writer(user).await?;
        // With an expected revision, change the document that was read; otherwise the agent's own, next to a shared one.
        let of_writer = !matches!(expected, ExpectedRevision::Revision(_));
        let there = store::find(&mut tx, user, path, of_writer, self.project).await?;
        let document = match (there, expected) {
            (Some(_), ExpectedRevision::None) => return Err(DocumentError::Exists),
            (None, ExpectedRevision::Revision(_)) => return Err(DocumentError::NotFound),
            (Some(document), ExpectedRevision::Revision(expected))
                if document.revision != expected =>
            {
                let revision = document.revision;
                let content = store::find_content(&mut tx, user, document.id, revision).await?;
                return Err(DocumentError::Changed {
                    expected,
                    current: Box::new(document),
                    content: content.unwrap_or_default(),
                });
            }
            (Some(document), _) => self.change(&mut tx, user, by, document, content, now).await?,
            (None, _) => self.create(&mut tx, user, by, path, content, now).await?,
        };
        finish(tx, by, &[document.id]).await?;
        Ok(document)
    }

    /// Replaces a document's text by `change` of its current text, and passes on what else `change` returns.
    ///
    /// # Errors
    /// The errors of `change`, or [`DocumentError::NotFound`].
    pub async fn edit<T: Send + 'static>(
        &self,
        user: UserId,
        by: ChangeAuthor<'_>,
        path: &DocumentPath,
        change: impl FnOnce(&str) -> Result<(String, T), DocumentError> + Send + 'static,
    ) -> Result<(FullDocument, T), DocumentError> {
        check_writable(by, path)?;
        let now = self.embeddings.now();
        let mut tx = self.db.as_writer(user).await?;
        let before = read_in(&mut tx, user, path, self.project).await?;
        let (content, told) = on_a_thread(move || change(&before.content)).await??;
        check_content("content", &content)?;
        let document = self.change(&mut tx, user, by, before.document, &content, now).await?;
        finish(tx, by, &[document.id]).await?;
        Ok((FullDocument { document, content }, told))
    }

    /// Archives a document, or all in a folder. Returns how many.
    ///
    /// # Errors
    /// [`DocumentError::NotFound`] if there is neither.
    pub async fn archive(
        &self,
        user: UserId,
        by: ChangeAuthor<'_>,
        path: &DocumentPath,
    ) -> Result<usize, DocumentError> {
        check_writable(by, path)?;
        let mut tx = self.db.as_writer(user).await?;
        let found = list_at(&mut tx, user, path, self.project).await?;
        self.archive_all(tx, user, by, found).await
    }

    /// Archives all documents except the server's own. Returns how many.
    ///
    /// # Errors
    /// Database errors only, as a [`DocumentError`].
    pub async fn clear(&self, user: UserId, by: ChangeAuthor<'_>) -> Result<usize, DocumentError> {
        let mut tx = self.db.as_writer(user).await?;
        let all = store::list(&mut tx, user, "", false, None, DOCUMENTS_MAX).await?;
        let own = all.into_iter().filter(|d| !d.path.is_of_system());
        self.archive_all(tx, user, by, own.collect()).await
    }

    /// Moves a document, or all in a folder, to another path.
    ///
    /// # Errors
    /// [`DocumentError::NotFound`]; [`DocumentError::Exists`] if the new path is taken.
    pub async fn rename(
        &self,
        user: UserId,
        by: ChangeAuthor<'_>,
        from: &DocumentPath,
        to: &DocumentPath,
    ) -> Result<(), DocumentError> {
        check_writable(by, from)?;
        check_writable(by, to)?;
        let now = self.embeddings.now();
        let mut tx = self.db.as_writer(user).await?;
        let found = list_at(&mut tx, user, from, self.project).await?;
        if from == to {
            return Err(DocumentError::Exists);
        }
        if to.as_str().starts_with(&format!("{from}/")) {
            return Err(DocumentError::IsDocument);
        }
        let in_the_way = store::find_in_the_way(&mut tx, user, to).await?;
        if in_the_way.folder || store::find(&mut tx, user, to, false, self.project).await?.is_some()
        {
            return Err(DocumentError::Exists);
        }
        if in_the_way.document {
            return Err(DocumentError::IsDocument);
        }
        let mut paths = Vec::with_capacity(found.len());
        for document in &found {
            let path = document.path.moved(from, to).unwrap_or_default();
            paths.push(DocumentPath::parse("new_path", &path)?);
        }
        let moved = found.iter().zip(&paths);
        let moved: Vec<(i64, &str)> = moved.map(|(d, path)| (d.id, path.as_str())).collect();
        let new = NewRevision { event: "renamed", content: None, archived_at: None, at: now };
        let renamed = add_revisions(&mut tx, user, by, &moved, &new).await?;
        let was_searched = found.iter().map(|d| (d.id, d.path.is_searched()));
        let was_searched: HashMap<i64, bool> = was_searched.collect();
        for document in renamed {
            let before = was_searched.get(&document.id);
            if before.is_some_and(|before| *before != document.path.is_searched()) {
                self.index_again(&mut tx, user, by, &document, now).await?;
            }
        }
        let ids: Vec<i64> = moved.iter().map(|(id, _)| *id).collect();
        finish(tx, by, &ids).await
    }

    /// Restores an archived document.
    ///
    /// # Errors
    /// [`DocumentError::Exists`] if its path is taken meanwhile.
    pub async fn restore(
        &self,
        user: UserId,
        by: ChangeAuthor<'_>,
        id: i64,
    ) -> Result<Document, DocumentError> {
        let now = self.embeddings.now();
        let mut tx = self.db.as_writer(user).await?;
        let found = store::find_by_id(&mut tx, user, id).await?;
        let document = found.ok_or(DocumentError::NotFound)?;
        if document.archived_at.is_none() {
            return Ok(document);
        }
        check_free(&mut tx, user, &document.path).await?;
        let (path, project) = (&document.path, document.project_id());
        let there = store::find(&mut tx, user, path, false, project).await?;
        if there.is_some_and(|there| there.project_id() == project) {
            return Err(DocumentError::Exists);
        }
        let new = NewRevision { event: "restored", content: None, archived_at: None, at: now };
        let document = revise(&mut tx, user, by, &document, &new).await?;
        self.index_again(&mut tx, user, by, &document, now).await?;
        finish(tx, by, &[id]).await?;
        Ok(document)
    }

    /// Appends text to a document, creating it if needed, in a transaction that has raised the user's revision.
    /// The whole gets the lower trust of the two.
    ///
    /// # Errors
    /// [`Invalid`](crate::input::Invalid) if there is no room.
    pub async fn append(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        by: ChangeAuthor<'_>,
        path: &DocumentPath,
        text: &str,
    ) -> Result<(), DocumentError> {
        let now = self.embeddings.now();
        let there = store::find(&mut *conn, user, path, true, self.project).await?;
        match read_found(&mut *conn, user, there).await {
            Ok(there) => {
                let content = edit::append(&there.content, text);
                check_content("content", &content)?;
                let trust = by.trust.min(there.document.trust);
                let by = ChangeAuthor { trust, ..by };
                self.change(conn, user, by, there.document, &content, now).await?;
            }
            Err(DocumentError::NotFound) => {
                self.create(conn, user, by, path, text, now).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Creates a document at the first free of these paths, in a transaction that has raised the user's revision.
    ///
    /// # Errors
    /// [`DocumentError::Exists`] if all `paths_max` are taken.
    pub async fn create_first_free(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        by: ChangeAuthor<'_>,
        path: impl Fn(usize) -> Result<DocumentPath, Invalid>,
        text: &str,
        paths_max: usize,
    ) -> Result<Document, DocumentError> {
        let now = self.embeddings.now();
        for n in 1..=paths_max {
            let path = path(n)?;
            if store::find(&mut *conn, user, &path, true, self.project).await?.is_none() {
                return self.create(conn, user, by, &path, text, now).await;
            }
        }
        Err(DocumentError::Exists)
    }

    async fn create(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        by: ChangeAuthor<'_>,
        path: &DocumentPath,
        content: &str,
        now: OffsetDateTime,
    ) -> Result<Document, DocumentError> {
        check_free(&mut *conn, user, path).await?;
        let (documents, _) = store::count_kept(&mut *conn, user).await?;
        model::check_room(documents, 0, 0)?;
        let document = store::insert(&mut *conn, user, path, (by.trust, self.project), now).await?;
        self.change(conn, user, by, document, content, now).await
    }

    async fn change(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        by: ChangeAuthor<'_>,
        document: Document,
        content: &str,
        now: OffsetDateTime,
    ) -> Result<Document, DocumentError> {
        let (_, kept) = store::count_kept(&mut *conn, user).await?;
        model::check_room(0, kept, content.len())?;
        let new = NewRevision {
            event: if document.revision == 0 { "created" } else { "edited" },
            content: Some((content, by.trust)),
            archived_at: None,
            at: now,
        };
        let document = revise(&mut *conn, user, by, &document, &new).await?;
        self.index(conn, user, by, &document, content.to_owned(), now).await?;
        Ok(document)
    }

    async fn archive_all(
        &self,
        mut tx: Tx,
        user: UserId,
        by: ChangeAuthor<'_>,
        found: Vec<Document>,
    ) -> Result<usize, DocumentError> {
        let now = self.embeddings.now();
        let new = NewRevision { event: "archived", content: None, archived_at: Some(now), at: now };
        let gone: Vec<(i64, &str)> = found.iter().map(|d| (d.id, d.path.as_str())).collect();
        add_revisions(&mut tx, user, by, &gone, &new).await?;
        let ids: Vec<i64> = found.iter().map(|document| document.id).collect();
        store::remove_parts_of(&mut tx, user, &ids).await?;
        finish(tx, by, &ids).await?;
        Ok(ids.len())
    }

    /// Updates the search parts of an unchanged text, after its path or status changed.
    async fn index_again(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        by: ChangeAuthor<'_>,
        document: &Document,
        now: OffsetDateTime,
    ) -> Result<(), DocumentError> {
        let revision = document.revision;
        let content = store::find_content(&mut *conn, user, document.id, revision).await?;
        self.index(conn, user, by, document, content.unwrap_or_default(), now).await
    }

    async fn index(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        by: ChangeAuthor<'_>,
        document: &Document,
        content: String,
        now: OffsetDateTime,
    ) -> Result<(), DocumentError> {
        let text = document.path.is_searched().then_some(content);
        parts::set(conn, &self.embeddings, user, by.agent, document, text, now).await
    }
}

/// Adds a revision to each document, with its path; the oldest go.
async fn add_revisions(
    conn: &mut PgConnection,
    user: UserId,
    by: ChangeAuthor<'_>,
    documents: &[(i64, &str)],
    new: &NewRevision<'_>,
) -> Result<Vec<Document>, sqlx::Error> {
    let revised = store::add_revisions(&mut *conn, user, by, documents, new).await?;
    // The others cannot have more than are kept.
    let long = revised.iter().filter(|d| d.revision > REVISIONS_KEPT);
    let long: Vec<i64> = long.map(|document| document.id).collect();
    store::trim(conn, &long, REVISIONS_KEPT).await?;
    Ok(revised)
}

/// Adds a revision to one document.
async fn revise(
    conn: &mut PgConnection,
    user: UserId,
    by: ChangeAuthor<'_>,
    document: &Document,
    new: &NewRevision<'_>,
) -> Result<Document, DocumentError> {
    let one = [(document.id, document.path.as_str())];
    let mut revised = add_revisions(conn, user, by, &one, new).await?;
    revised.pop().ok_or(DocumentError::NotFound)
}

async fn read_in(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
    project: Option<i64>,
) -> Result<FullDocument, DocumentError> {
    let found = store::find(&mut *conn, user, path, false, project).await?;
    read_found(conn, user, found).await
}

async fn read_found(
    conn: &mut PgConnection,
    user: UserId,
    found: Option<Document>,
) -> Result<FullDocument, DocumentError> {
    let document = found.ok_or(DocumentError::NotFound)?;
    let content = store::find_content(conn, user, document.id, document.revision).await?;
    Ok(FullDocument { content: content.ok_or(DocumentError::NotFound)?, document })
}

/// The document with this path, or those in the folder.
async fn list_at(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
    project: Option<i64>,
) -> Result<Vec<Document>, DocumentError> {
    if let Some(document) = store::find(&mut *conn, user, path, false, project).await? {
        return Ok(vec![document]);
    }
    let inside =
        store::list(conn, user, &format!("{path}/"), false, project, DOCUMENTS_MAX).await?;
    match inside.is_empty() {
        true => Err(DocumentError::NotFound),
        false => Ok(inside),
    }
}

async fn check_free(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
) -> Result<(), DocumentError> {
    let in_the_way = store::find_in_the_way(conn, user, path).await?;
    match (in_the_way.folder, in_the_way.document) {
        (true, _) => Err(DocumentError::IsFolder),
        (_, true) => Err(DocumentError::IsDocument),
        _ => Ok(()),
    }
}

fn check_writable(by: ChangeAuthor<'_>, path: &DocumentPath) -> Result<(), DocumentError> {
    match by.call.is_some() && path.is_of_system() {
        true => Err(DocumentError::ReadOnly),
        false => Ok(()),
    }
}

async fn finish(mut tx: Tx, by: ChangeAuthor<'_>, documents: &[i64]) -> Result<(), DocumentError> {
    if let Some(call) = by.call {
        call.write(&mut tx, documents.to_vec()).await?;
    }
    tx.commit().await?;
    Ok(())
}
