//! Documents lent to an agent (docs/teams.md): read and listed after its own, never written.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Document, DocumentError, DocumentPath, Documents, FullDocument};
use crate::accounts::{LentMemory, Viewer};
use crate::db::is_not_lent;

/// Display name of the lent memory that a document is from; `None`: the viewer's own.
pub type LentMemoryName = Option<Arc<str>>;

impl Documents {
    /// The viewer's document with this path or, if there is none, the lent one.
    ///
    /// # Errors
    /// [`DocumentError::NotFound`]
    pub async fn read_for(
        &self,
        viewer: &Viewer,
        path: &DocumentPath,
    ) -> Result<(FullDocument, LentMemoryName), DocumentError> {
        match (self.read(viewer.user_id, path).await, self.lent_to(viewer)) {
            (Err(DocumentError::NotFound), Some((lent, theirs))) => {
                let read = theirs.read(lent.user_id, path).await;
                let FullDocument { document, content } = read.map_err(unless_lent)?;
                let (document, memory_of) = told(document, lent, viewer);
                Ok((FullDocument { document, content }, memory_of))
            }
            (own, _) => Ok((own?, None)),
        }
    }

    /// [`Self::read_for`], at a revision. Of lent documents only the current one is.
    ///
    /// # Errors
    /// [`DocumentError::NotFound`], also if the revision's text is not kept any more.
    pub async fn read_revision_for(
        &self,
        viewer: &Viewer,
        path: &DocumentPath,
        revision: i32,
    ) -> Result<(FullDocument, LentMemoryName), DocumentError> {
        let (whole, memory_of) = self.read_for(viewer, path).await?;
        let id = whole.document.id;
        let then = match &memory_of {
            Some(_) if whole.document.revision == revision => whole,
            Some(_) => return Err(DocumentError::NotFound),
            None => self.read_revision(viewer.user_id, id, Some(revision)).await?,
        };
        Ok((then, memory_of))
    }

    /// The viewer's documents in this folder and below, and lent ones with other paths, by path.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn list_for(
        &self,
        viewer: &Viewer,
        folder: Option<&DocumentPath>,
    ) -> Result<Vec<(Document, LentMemoryName)>, sqlx::Error> {
        let own = self.list(viewer.user_id, folder, false).await?;
        let Some((lent, theirs)) = self.lent_to(viewer) else {
            return Ok(own.into_iter().map(|document| (document, None)).collect());
        };
        let lent_ones = match theirs.list(lent.user_id, folder, false).await {
            Err(error) if is_not_lent(&error) => Vec::new(),
            listed => listed?,
        };
        let paths: HashSet<String> = own.iter().map(|d| d.path.as_str().to_owned()).collect();
        let lent_ones = lent_ones
            .into_iter()
            .filter(|document| !paths.contains(document.path.as_str()))
            .map(|document| told(document, lent, viewer));
        let mut all: Vec<_> = own.into_iter().map(|document| (document, None)).collect();
        all.extend(lent_ones);
        all.sort_by(|(a, _), (b, _)| a.path.as_str().cmp(b.path.as_str()));
        Ok(all)
    }

    /// The error for a change that found no document of the viewer: a different one if the path is lent to them.
    pub async fn refused_for(
        &self,
        viewer: &Viewer,
        path: &DocumentPath,
        error: DocumentError,
    ) -> DocumentError {
        let (DocumentError::NotFound, Some((lent, theirs))) = (&error, self.lent_to(viewer)) else {
            return error;
        };
        let is_there = match theirs.read(lent.user_id, path).await {
            Ok(_) => true,
            Err(_) => {
                let inside = theirs.list(lent.user_id, Some(path), false).await;
                inside.is_ok_and(|inside| !inside.is_empty())
            }
        };
        match is_there {
            true => DocumentError::Lent(lent.refusal()),
            false => error,
        }
    }

    fn lent_to<'a>(&self, viewer: &'a Viewer) -> Option<(&'a LentMemory, Self)> {
        let lent = viewer.lent.as_ref()?;
        let db = self.db.lent_to(viewer.user_id);
        let theirs = Self { db, project: None, ..self.clone() };
        Some((lent, theirs))
    }
}

fn told(document: Document, lent: &LentMemory, viewer: &Viewer) -> (Document, LentMemoryName) {
    let is_anothers = lent.is_anothers(viewer.user_id);
    let trust = document.trust.read_by_another(is_anothers);
    let document = Document { trust, ..document };
    (document, Some(lent.name.clone()))
}

/// If it is not lent any more, it does not exist for the viewer.
fn unless_lent(error: DocumentError) -> DocumentError {
    match error {
        DocumentError::Database(error) if is_not_lent(&error) => DocumentError::NotFound,
        error => error,
    }
}
