//! The forms of one document: restore it or an older revision, or delete it permanently. Another user's
//! document is not found. In a read-only browser nothing can be restored, but an admin cannot disable
//! permanent deletion.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::data::to_receipt;
use super::{Field, Outcome, Posted, respond, respond_or_not_found};
use crate::db::actor;
use crate::documents::{By, DocumentError, Documents};
use crate::erasure::{self, ErasureError};
use crate::input::Invalid;
use crate::tools::ToolError;
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;
use crate::web::pages::not_found_for;

const FORM: &str = "document";
const ERASE_FORM: &str = "document_erase";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DocumentForm {
    Restore,
    RestoreRevision { revision: Field<i32> },
}

pub async fn decide(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(document): Path<String>,
    Posted(fields, form): Posted<DocumentForm>,
) -> Response {
    let Ok(document) = document.parse::<i64>() else {
        return not_found_for(&state, signed_in).await;
    };
    actor::require_open_browser();
    let documents = Documents::new(state.db.clone(), state.embeddings.clone());
    let (user, by) = (signed_in.0.id, By::person());
    let attempt = async {
        let restored = match form {
            Ok(DocumentForm::Restore) => documents.restore(user, by, document).await,
            Ok(DocumentForm::RestoreRevision { revision }) => {
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
    let (path, outcome) = (path_of(document), attempt.await);
    respond_or_not_found(&state, signed_in, &path, FORM, &fields, outcome).await
}

fn path_of(document: i64) -> String {
    format!("/documents/{document}")
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

pub async fn erase(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(document): Path<String>,
    Posted(fields, form): Posted<EraseDocumentForm>,
) -> Response {
    let Ok(document) = document.parse::<i64>() else {
        return not_found_for(&state, signed_in).await;
    };
    let (user, now) = (signed_in.0.id, state.clock.now());
    if !form.is_ok_and(|form| form.confirm.is_checked()) {
        let documents = Documents::new(state.db.clone(), state.embeddings.clone());
        let problem = match documents.read_revision(user, document, None).await {
            Ok(_) => unconfirmed(),
            Err(DocumentError::NotFound) => return not_found_for(&state, signed_in).await,
            Err(error) => problem(error),
        };
        let path = path_of(document);
        return respond(&state, signed_in, &path, ERASE_FORM, &fields, Err(problem)).await;
    }
    // Deletes all revisions in one statement, which may take long.
    let db = state.db.with_job_timeout();
    match erasure::document(&db, &state.activity, user, document, now).await {
        Ok(receipt) => {
            state.search.reader().forget(user);
            to_receipt(&receipt)
        }
        Err(ErasureError::Database(error)) => {
            let (path, problem) = (path_of(document), Problem::from(error));
            respond(&state, signed_in, &path, ERASE_FORM, &fields, Err(problem)).await
        }
        Err(_) => not_found_for(&state, signed_in).await,
    }
}

fn unconfirmed() -> Problem {
    let sentence = "Check the box to confirm; nothing was deleted. Deleting cannot be undone.";
    Invalid::new("confirm", "required", sentence).into()
}
