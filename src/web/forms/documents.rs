//! The forms of one document: restore it or an older revision, or delete it permanently. Another user's
//! document is not found. In a read-only browser nothing can be restored, but an admin cannot disable
//! permanent deletion.

use axum::extract::{Path, RawForm, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::data::to_receipt;
use super::{Form, Outcome, respond, unknown_action};
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

pub async fn decide(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(document): Path<String>,
    body: RawForm,
) -> Response {
    let Ok(document) = document.parse::<i64>() else {
        return not_found_for(&state, signed_in).await;
    };
    let form = Form::parse(&body);
    actor::require_open_browser();
    match obey(&state, &signed_in, document, &form).await {
        Err(problem) if problem.status == StatusCode::NOT_FOUND => {
            not_found_for(&state, signed_in).await
        }
        outcome => respond(&state, signed_in, &path_of(document), FORM, &form, outcome).await,
    }
}

fn path_of(document: i64) -> String {
    format!("/documents/{document}")
}

async fn obey(
    state: &AppState,
    signed_in: &SignedIn,
    document: i64,
    form: &Form,
) -> Result<Outcome, Problem> {
    let documents = Documents::new(state.db.clone(), state.embeddings.clone());
    let (user, by) = (signed_in.0.id, By::person());
    let restored = match form.get("action") {
        "restore" => documents.restore(user, by, document).await,
        "restore_revision" => {
            // No document has the revision 0.
            let revision = form.get("revision").parse().unwrap_or(0);
            let restored = documents.restore_revision(user, by, document, revision);
            restored.await
        }
        _ => {
            let there = documents.read_revision(user, document, None).await;
            there.map_err(problem)?;
            return Err(unknown_action());
        }
    };
    restored.map_err(problem)?;
    Ok(Outcome::Redirect)
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

pub async fn erase(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(document): Path<String>,
    body: RawForm,
) -> Response {
    let Ok(document) = document.parse::<i64>() else {
        return not_found_for(&state, signed_in).await;
    };
    let form = Form::parse(&body);
    let (user, now) = (signed_in.0.id, state.clock.now());
    if form.get("confirm") != "1" {
        let documents = Documents::new(state.db.clone(), state.embeddings.clone());
        let problem = match documents.read_revision(user, document, None).await {
            Ok(_) => unconfirmed(),
            Err(DocumentError::NotFound) => return not_found_for(&state, signed_in).await,
            Err(error) => problem(error),
        };
        let path = path_of(document);
        return respond(&state, signed_in, &path, ERASE_FORM, &form, Err(problem)).await;
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
            respond(&state, signed_in, &path, ERASE_FORM, &form, Err(problem)).await
        }
        Err(_) => not_found_for(&state, signed_in).await,
    }
}

fn unconfirmed() -> Problem {
    let sentence = "Check the box to confirm; nothing was deleted. Deleting cannot be undone.";
    Invalid::new("confirm", "required", sentence).into()
}
