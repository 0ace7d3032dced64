//! The forms of one's data: import, deletion of a memory, and erasure of the account. Irreversible steps ask
//! for the name and the password.

use std::sync::Arc;

use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use tower_sessions::Session;

use super::show;
use crate::accounts::{Email, Password, UserId};
use crate::erasure::{self, ErasureError, ReceiptId};
use crate::export::{FORM_BYTES_MAX, UPLOAD_BYTES_MAX, Upload, UploadError};
use crate::forms::{Field, Form, FormName, Outcome, Posted, Submission, memory_problem, respond};
use crate::input::{Invalid, sentence};
use crate::memories::{ItemId, MemoryError};
use crate::pages::data::upload::{Preamble, bounded};
use crate::pages::item;
use crate::pages::item::manage::{FORM as MANAGE_FORM, path_of};
use keepsake_edge::AppState;
use keepsake_edge::client::ClientAddress;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::SignedIn;

const PATH: &str = "/data";

/// Limit on an upload's body.
pub const BODY_BYTES_MAX: usize = (UPLOAD_BYTES_MAX + FORM_BYTES_MAX) as usize;

pub async fn import(
    State(state): State<AppState>,
    signed_in: SignedIn,
    request: Request,
) -> Response {
    let user = signed_in.0.id;
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let preamble = Arc::<Preamble>::default();
    let request = request.map(|body| bounded(body, preamble.clone()));
    let attempt = async {
        let form = Multipart::from_request(request, &state).await;
        let form = form.map_err(|_| no_file())?;
        let admitted = state.imports.admit(user, declared).await;
        let received = receive(form, &preamble, admitted.map_err(upload_problem)?);
        let (upload, is_vouched) = received.await?;
        let begun = state.imports.begin(upload, is_vouched).await;
        begun.map_err(upload_problem)?;
        Ok(Outcome::Redirect)
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(show, &state, signed_in, PATH, FormName::Import, &fields, outcome).await
}

/// The file, and whether its person vouches for it.
async fn receive(
    mut form: Multipart,
    preamble: &Preamble,
    mut upload: Upload,
) -> Result<(Upload, bool), Problem> {
    let cut_off = |error| body_problem(&error, preamble);
    let mut is_vouched = false;
    while let Some(mut field) = form.next_field().await.map_err(cut_off)? {
        match field.name() {
            Some("file") => {
                preamble.end();
                if let Some(name) = field.file_name() {
                    upload.set_name(name);
                }
            }
            Some("vouch") => {
                is_vouched = field.bytes().await.map_err(cut_off)? == "1";
                continue;
            }
            _ => continue,
        }
        while let Some(chunk) = field.chunk().await.map_err(cut_off)? {
            upload.write(&chunk).await.map_err(upload_problem)?;
        }
        upload.flush().await.map_err(upload_problem)?;
        if upload.is_empty() {
            return Err(no_file());
        }
        return Ok((upload, is_vouched));
    }
    Err(no_file())
}

fn body_problem(error: &MultipartError, preamble: &Preamble) -> Problem {
    if preamble.is_too_long() {
        let kib = FORM_BYTES_MAX / 1024;
        let sentence = format!(
            "The form has over {kib} KiB before its file; nothing was imported. Choose the file on this page."
        );
        return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", sentence);
    }
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return upload_problem(UploadError::TooLarge);
    }
    Problem::new(
        StatusCode::BAD_REQUEST,
        "incomplete_body",
        "The upload was interrupted; nothing was imported. Try again.",
    )
}

fn no_file() -> Problem {
    Invalid::new("file", "required", "Choose a file first.").into()
}

fn upload_problem(error: UploadError) -> Problem {
    let (status, code) = match error {
        UploadError::Database(error) => return error.into(),
        UploadError::Quota(error) => return error.into(),
        UploadError::UnderWay => (StatusCode::CONFLICT, "under_way"),
        UploadError::Uploading | UploadError::TooManyUploads | UploadError::TooMany => {
            (StatusCode::TOO_MANY_REQUESTS, "too_many")
        }
        UploadError::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        UploadError::NoRoom(ref error) => {
            tracing::error!(%error, "an upload could not be put aside");
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
        }
        UploadError::File(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    Problem::new(status, code, sentence(&error.to_string()))
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DeleteItemForm {
    Delete { item: Field },
    Undo { item: Field },
}

/// Deletes one memory permanently after its undo period, or undoes that. Another user's memory is not found.
/// An admin cannot disable this.
pub async fn delete_item(Posted(posted, form): Posted<DeleteItemForm>) -> Response {
    let (db, clock, user) = (&posted.state.db, &posted.state.clock, posted.user());
    let attempt = async {
        let (item, done) = match form? {
            DeleteItemForm::Delete { item } => {
                let item = parse_item(&item)?;
                (item, erasure::delete_item_soon(db, clock, user, item).await)
            }
            DeleteItemForm::Undo { item } => {
                let item = parse_item(&item)?;
                (item, erasure::keep_item(db, clock, user, item).await)
            }
        };
        match done {
            Ok(()) => Ok((item, Ok(Outcome::Redirect))),
            // Shown on the memory's page, which still exists.
            Err(error @ MemoryError::TooLate) => Ok((item, Err(memory_problem(error)))),
            Err(MemoryError::NotFound(_)) => Err(no_such_item()),
            Err(error) => Err(memory_problem(error)),
        }
    };
    match attempt.await {
        Ok((at, outcome)) => posted.respond(item::show, &path_of(at), MANAGE_FORM, outcome).await,
        Err(problem) => posted.respond(show, PATH, FormName::Delete, Err(problem)).await,
    }
}

fn no_such_item() -> Problem {
    let sentence = "There is no such memory. If it was deleted, its receipt is listed below.";
    Problem {
        field: Some("item".to_owned()),
        ..Problem::new(StatusCode::NOT_FOUND, "not_found", sentence)
    }
}

/// Accepts an id, or the URL of its page.
fn parse_item(text: &str) -> Result<ItemId, Invalid> {
    let text = text.trim();
    let path = text.split(['?', '#']).next().unwrap_or(text);
    let number = path.rsplit_once("/memory/").map_or(path, |(_, rest)| rest);
    let number = number.trim_end_matches('/').parse();
    number.map(ItemId).map_err(|_| {
        let sentence = "`item` names no memory; give its ID, or the address of its page.";
        Invalid::new("item", "invalid_item", sentence)
    })
}

#[derive(Deserialize)]
pub struct EraseAccountForm {
    email: Field,
    password: Field,
}

pub async fn erase_account(
    ClientAddress(address): ClientAddress,
    session: Session,
    Posted(posted, form): Posted<EraseAccountForm>,
) -> Response {
    let (state, email) = (&posted.state, &posted.signed_in.0.email);
    let attempt = async {
        state.throttles.admit_sign_in(email, address).await?;
        make_sure(&posted, &form?).await?;
        begin(state, posted.user()).await
    };
    match attempt.await {
        Ok(receipt) => {
            // The session's row is deleted already; this deletes the cookie.
            session.flush().await.ok();
            to_receipt(&receipt)
        }
        Err(problem) => posted.respond(show, PATH, FormName::Erase, Err(problem)).await,
    }
}

async fn make_sure(posted: &Submission, form: &EraseAccountForm) -> Result<(), Problem> {
    let email = Email::parse(&form.email)?;
    if email.as_str() != posted.signed_in.0.email {
        let sentence = "This is not the e-mail address of your account; nothing was deleted.";
        return Err(Invalid::new("email", "wrong_email", sentence).into());
    }
    let (accounts, password) = (&posted.state.accounts, Password::to_compare(&form.password));
    if !accounts.is_password_of(posted.user(), password).await? {
        let sentence = "This is not your password; nothing was deleted.";
        return Err(Invalid::new("password", "wrong_password", sentence).into());
    }
    Ok(())
}

async fn begin(state: &AppState, user: UserId) -> Result<ReceiptId, Problem> {
    let begun = erasure::begin(&state.db, user, state.clock.now()).await;
    if begun.is_ok() {
        state.registry.forget(user);
        state.search.reader().forget(user);
    }
    begun.map_err(|error| match error {
        ErasureError::Database(error) => error.into(),
        other => Problem::new(StatusCode::CONFLICT, "not_erased", sentence(&other.to_string())),
    })
}

pub(crate) fn to_receipt(receipt: &ReceiptId) -> Response {
    Redirect::to(&format!("/erased/{}", receipt.as_str())).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_named_by_its_number_or_its_address() {
        for named in [
            "42",
            " 42 ",
            "/memory/42",
            "https://memory.example.com/memory/42",
            "http://127.0.0.1:3000/memory/42/?q=tea#manage",
        ] {
            assert_eq!(parse_item(named), Ok(ItemId(42)), "{named:?}");
        }
        for none in ["", "tea", "/memory/", "/sessions/42", "4 2", "42e", "99999999999999999999"] {
            assert_eq!(parse_item(none).expect_err("none").field, "item", "{none:?}");
        }
    }
}
