//! Documents, as pages show them: the tree, and one document with its revisions, the changes of one, and the
//! calls that found it.

mod diff;
mod markdown;
mod tree;

use crate::limits::{DELETED_SHOWN, LINES_SHOWN};
use crate::page::PageError;
use crate::view::{
    DiffView, DocumentBody, DocumentFilters, DocumentPage, DocumentRow, DocumentsPage, RevisionRow,
};

use crate::accounts::Viewer;
use crate::activity::KEPT_DAYS;
use crate::documents::{
    Document, DocumentError, DocumentPath, DocumentRevision, FullDocument, Revision,
};
use crate::memories::{Trust, manage};
use crate::page::whose;
use crate::page::{Page, database};
use crate::search::reader::on_a_thread;
use crate::tools::ToolError;
use keepsake_edge::error::Problem;

impl Page {
    pub(crate) async fn documents_view(
        &self,
        viewer: &Viewer,
        folder: Option<&str>,
    ) -> Result<DocumentsPage, PageError> {
        let folder = folder.map(|folder| DocumentPath::parse("folder", folder));
        let folder = folder.transpose().map_err(crate::page::invalid)?;
        let documents = &self.state.documents;
        let listed = documents.list(viewer.user_id, folder.as_ref(), true).await;
        let (mut deleted, there): (Vec<Document>, Vec<Document>) = listed
            .map_err(database)?
            .into_iter()
            .partition(|document| document.archived_at.is_some());
        deleted.sort_by_key(|document| std::cmp::Reverse(document.archived_at));
        let deleted_total = deleted.len();
        let deleted = deleted.into_iter().take(DELETED_SHOWN);
        Ok(DocumentsPage {
            is_empty: folder.is_none() && there.is_empty() && deleted_total == 0,
            tree: self.tree(&there, folder.as_ref()),
            total: there.len(),
            deleted: deleted
                .map(|document| {
                    let path = document.path.as_str().to_owned();
                    self.document_row(document, path)
                })
                .collect(),
            deleted_total,
            folder: folder.map(|folder| folder.as_str().to_owned()),
            public_url: self.state.public_url.as_str().to_owned(),
        })
    }

    fn document_row(&self, document: Document, name: String) -> DocumentRow {
        DocumentRow {
            id: document.id,
            name,
            bytes: document.bytes.into(),
            changed: document.updated_at,
            word: other_word(document.trust),
            owner: document.owner,
            deleted: document.archived_at,
        }
    }

    pub(crate) async fn document_view(
        &self,
        viewer: &Viewer,
        id: i64,
        filters: &DocumentFilters,
    ) -> Result<Option<DocumentPage>, PageError> {
        let (documents, user) = (&self.state.documents, viewer.user_id);
        let read = match filters.revision {
            Some(revision) => documents.compare_revision(user, id, revision).await,
            None => documents.read_revision(user, id, None).await.map(
                |FullDocument { document, content }| DocumentRevision {
                    document,
                    content,
                    before: None,
                },
            ),
        };
        let DocumentRevision { document, content, before } = match read {
            Ok(read) => read,
            Err(DocumentError::NotFound) => return Ok(None),
            Err(error) => return Err(document_error(error)),
        };
        let revisions = documents.revisions(user, id).await.map_err(database)?;
        let read_only = manage::is_browser_read_only(&self.state.db).await;
        let (is_markdown, compares) = (document.path.is_searched(), filters.revision.is_some());
        let is_rendered = is_markdown && !filters.as_text;
        let made = on_a_thread(move || {
            let diff = compares.then(|| match before {
                Some(before) => diff::compare(&before, &content),
                None => DiffView::NothingBefore,
            });
            let body = match is_rendered {
                true => markdown::parse(&content),
                false => numbered(&content),
            };
            (body, diff)
        });
        let (body, diff) = made.await.map_err(database)?;
        let last = revisions.first();
        Ok(Some(DocumentPage {
            id: document.id,
            revision: document.revision,
            bytes: document.bytes.into(),
            actor: last.map_or_else(|| "you".to_owned(), actor),
            whose: whose(document.trust),
            word: other_word(document.trust),
            owner: document.owner.clone(),
            created: document.created_at,
            changed: document.updated_at,
            deleted: document.archived_at,
            path: document.path.as_str().to_owned(),
            is_markdown,
            body,
            diff,
            revisions: self.revision_rows(&revisions),
            found: self.calls_with(viewer, id).await?,
            kept_days: KEPT_DAYS,
            is_manageable: !read_only.map_err(database)?,
        }))
    }

    /// Newest first.
    fn revision_rows(&self, revisions: &[Revision]) -> Vec<RevisionRow> {
        let before = revisions.iter().skip(1).map(Some).chain([None]);
        let rows = revisions.iter().zip(before).map(|(one, before)| RevisionRow {
            revision: one.revision,
            event: in_words(one, before),
            actor: actor(one),
            word: other_word(one.trust),
            at: one.at,
        });
        rows.collect()
    }
}

fn in_words(one: &Revision, before: Option<&Revision>) -> String {
    match (one.event.as_str(), before) {
        ("renamed", Some(before)) => format!("renamed from {} to {}", before.path, one.path),
        ("renamed", None) => format!("renamed to {}", one.path),
        ("archived", _) => "deleted".to_owned(),
        (event, _) => event.to_owned(),
    }
}

fn actor(revision: &Revision) -> String {
    match &revision.agent {
        Some(agent) => agent.clone(),
        None if revision.event == "imported" => "an import".to_owned(),
        None => "you".to_owned(),
    }
}

/// Only if it is not an agent's, which is the usual case.
fn other_word(trust: Trust) -> Option<&'static str> {
    (trust != Trust::Agent).then(|| whose(trust))
}

fn numbered(content: &str) -> DocumentBody {
    DocumentBody::Text {
        lines_total: content.lines().count(),
        lines: content.lines().take(LINES_SHOWN).map(str::to_owned).collect(),
    }
}

fn document_error(error: DocumentError) -> PageError {
    match error {
        DocumentError::Database(error) => database(error),
        error => {
            let problem = Problem::from(ToolError::from(error));
            PageError { is_invalid: problem.status.is_client_error(), sentence: problem.detail }
        }
    }
}
