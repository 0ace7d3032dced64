//! What a person decides about a document: restores it or a revision of it, or deletes it permanently.

use axum::http::StatusCode;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::address::document_path;
use crate::components::{FormError, count};
use crate::documents::{ChangeAuthor, Document, DocumentError};
use crate::erasure::{self, ErasureError, ReceiptId};
use crate::forms::{Attempt, Field, FormName, FormState, Outcome, Submission};
use crate::input::Invalid;
use crate::page::asked;
use crate::quota::estimate;
use crate::tools::ToolError;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DocumentForm {
    Restore,
    RestoreRevision { revision: Field<i32> },
}

pub async fn apply(posted: &Submission, form: Result<DocumentForm, Problem>) -> Attempt {
    let (documents, user, by) = (&posted.state.documents, posted.user(), ChangeAuthor::person());
    let document = posted.id()?;
    let restored = match form {
        Ok(DocumentForm::Restore) => documents.restore(user, by, document).await,
        Ok(DocumentForm::RestoreRevision { revision }) => {
            posted.state.embeddings.quota().take(user, estimate(0, 1)).await?;
            documents.restore_revision(user, by, document, *revision).await
        }
        Err(unknown) => {
            let there = documents.read_revision(user, document, None).await;
            there.map_err(document_problem)?;
            return Err(unknown);
        }
    };
    restored.map_err(document_problem)?;
    Ok(Outcome::Redirect)
}

fn document_problem(error: DocumentError) -> Problem {
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

/// Deletes it with all revisions, and returns the receipt's id.
pub async fn erase(
    posted: &Submission,
    form: Result<EraseDocumentForm, Problem>,
) -> Result<ReceiptId, Problem> {
    let (state, user) = (&posted.state, posted.user());
    let document = posted.id()?;
    if !form?.confirm.is_checked() {
        let there = state.documents.read_revision(user, document, None).await;
        there.map_err(document_problem)?;
        return Err(unconfirmed());
    }
    // One statement, which may take long.
    let (db, now) = (state.db.with_job_timeout(), state.clock.now());
    let erased = erasure::document(&db, &state.activity, user, document, now).await;
    erased.map_err(|error| match error {
        ErasureError::Database(error) => error.into(),
        _ => document_problem(DocumentError::NotFound),
    })
}

fn unconfirmed() -> Problem {
    let sentence = "Check the box to confirm; nothing was deleted. Deleting cannot be undone.";
    Invalid::new("confirm", "required", sentence).into()
}

/// What a person decides about it, folded at first. Where the browser is read-only the deletion alone is left: nobody takes that
/// away. `shown`: the revision that the address names.
#[component]
pub fn Manage(
    document: Document,
    revisions: usize,
    shown: Option<i32>,
    is_manageable: bool,
) -> impl IntoView {
    let form = asked().form;
    let (of_document, of_erase) = (form.of(FormName::Document), form.of(FormName::DocumentErase));
    let is_open = of_document.error.is_some() || of_erase.error.is_some();
    let id = document.id;
    let is_deleted = document.archived_at.is_some();
    let restore = (is_manageable && is_deleted).then(|| {
        view! {
            <form class="decision" method="post" action=document_path(id)>
                <div>
                    <button type="submit" name="action" value="restore">
                        "Restore"
                    </button>
                </div>
                <p class="hint">"Agents see it again, and search covers it."</p>
            </form>
        }
    });
    let older = shown.filter(|shown| *shown != document.revision);
    let older = older.filter(|_| is_manageable && !is_deleted);
    let has_older = revisions > 1;
    let revision = older.map(|revision| {
        view! {
            <form class="decision" method="post" action=document_path(id)>
                <input type="hidden" name="revision" value=revision />
                <div>
                    <button type="submit" name="action" value="restore_revision">
                        {format!("Restore revision {revision}")}
                    </button>
                </div>
                <p class="hint">
                    "Its text becomes the newest revision. All revisions are kept."
                </p>
            </form>
        }
    });
    let how = (is_manageable && !is_deleted && has_older && older.is_none()).then(|| {
        view! { <p class="hint">"To restore an older text, open its revision first."</p> }
    });
    let label = match is_manageable {
        true => "Manage",
        false => "Delete permanently",
    };
    view! {
        <details class="manage" id="manage" open=is_open>
            <summary>{label}</summary>
            <div class="manage-body">
                <FormError form=of_document fields=&[] />
                {restore}
                {revision}
                {how}
                <Erase id revisions form=of_erase />
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn Erase(id: i64, revisions: usize, form: FormState) -> impl IntoView {
    let goes = match revisions {
        1 => "Its text and its search entries are deleted. This cannot be undone.".to_owned(),
        n => format!(
            "All {} revisions and their search entries are deleted. This cannot be undone.",
            count(n as i64)
        ),
    };
    view! {
        <form class="decision" method="post" action=format!("/documents/{id}/erase")>
            <FormError form fields=&[] />
            <label class="check">
                <input type="checkbox" name="confirm" value="1" required />
                <span>"I want to delete this document permanently"</span>
            </label>
            <div>
                <button class="danger" type="submit">
                    "Delete permanently"
                </button>
            </div>
            <p class="hint">{goes}</p>
        </form>
    }
    .into_any()
}
