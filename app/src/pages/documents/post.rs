//! The forms of one document: restore it or an older revision, or delete it permanently. Another user's
//! document is not found. In a read-only browser nothing can be restored, but an admin cannot disable
//! permanent deletion.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::one;
use crate::db::actor;
use crate::documents::{ChangeAuthor, DocumentError};
use crate::erasure::{self, ErasureError};
use crate::forms::{Field, FormName, Outcome, Posted, Submission};
use crate::input::Invalid;
use crate::pages::data::post::to_receipt;
use crate::quota::estimate;
use crate::tools::ToolError;
use keepsake_edge::error::Problem;

const FORM: FormName = FormName::Document;
const ERASE_FORM: FormName = FormName::DocumentErase;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DocumentForm {
    Restore,
    RestoreRevision { revision: Field<i32> },
}

pub async fn decide(Posted(posted, form): Posted<DocumentForm>) -> Response {
    actor::require_open_browser();
    let (documents, user, by) = (&posted.state.documents, posted.user(), ChangeAuthor::person());
    let attempt = async {
        let document = posted.id()?;
        let restored = match form {
            Ok(DocumentForm::Restore) => documents.restore(user, by, document).await,
            Ok(DocumentForm::RestoreRevision { revision }) => {
                posted.state.embeddings.quota().take(user, estimate(0, 1)).await?;
                let restored = documents.restore_revision(user, by, document, *revision);
                restored.await
            }
            Err(unknown) => {
                let there = documents.read_revision(user, document, None).await;
                there.map_err(problem)?;
                return Err(unknown);
            }
        };
        restored.map_err(problem)?;
        Ok(Outcome::Redirect)
    };
    posted.respond_if_found(one::show, &path_of(&posted), FORM, attempt.await).await
}

fn path_of(posted: &Submission) -> String {
    format!("/documents/{}", posted.id)
}

fn problem(error: DocumentError) -> Problem {
    let conflict = |code, sentence: &str| Problem::new(StatusCode::CONFLICT, code, sentence);
    match error {
        DocumentError::Exists => conflict(
            "exists",
            "Not restored: another document has its path now. Delete that one first, or let an agent rename it.",
        ),
        DocumentError::IsFolder => conflict(
            "exists",
            "Not restored: a folder has its path now. Delete that one first, or let an agent rename it.",
        ),
        DocumentError::IsDocument => conflict(
            "exists",
            "Not restored: a document has the path of one of its folders now. Delete that one first, or let an agent rename it.",
        ),
        DocumentError::Refused(sentence) => conflict("deleted", &sentence),
        error => ToolError::from(error).into(),
    }
}

#[derive(Deserialize)]
pub struct EraseDocumentForm {
    confirm: Field,
}

pub async fn erase(Posted(posted, form): Posted<EraseDocumentForm>) -> Response {
    let (state, user) = (&posted.state, posted.user());
    let attempt = async {
        let document = posted.id()?;
        if !form?.confirm.is_checked() {
            let there = posted.state.documents.read_revision(user, document, None).await;
            there.map_err(problem)?;
            return Err(unconfirmed());
        }
        // Deletes all revisions in one statement, which may take long.
        let (db, now) = (state.db.with_job_timeout(), state.clock.now());
        let erased = erasure::document(&db, &state.activity, user, document, now).await;
        erased.map_err(|error| match error {
            ErasureError::Database(error) => error.into(),
            _ => problem(DocumentError::NotFound),
        })
    };
    match attempt.await {
        Ok(receipt) => {
            state.search.reader().forget(user);
            to_receipt(&receipt)
        }
        Err(problem) => {
            let path = path_of(&posted);
            posted.respond_if_found(one::show, &path, ERASE_FORM, Err(problem)).await
        }
    }
}

fn unconfirmed() -> Problem {
    let sentence = "Check the box to confirm; nothing was deleted. Deleting cannot be undone.";
    Invalid::new("confirm", "required", sentence).into()
}
