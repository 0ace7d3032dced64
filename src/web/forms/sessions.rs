//! The forms of one session: read failed stretches again, and erase it. Only its owner can; for others it is
//! not found.

use axum::extract::{Path, RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};

use super::Form;
use super::data::to_receipt;
use crate::erasure::{self, ErasureError, Memories};
use crate::sessions::{self, SessionId, ledger};
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;
use crate::web::pages::not_found_for;

/// Makes a failed or skipped stretch due now. Does nothing if it is being read already.
pub async fn read_again(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(session): Path<String>,
    body: RawForm,
) -> Response {
    let Ok(session) = session.parse().map(SessionId) else {
        return not_found_for(&state, signed_in).await;
    };
    let (user, now) = (signed_in.0.id, state.clock.now());
    let first = Form::parse(&body).get("first").parse().unwrap_or(0);
    let attempt = async {
        let is_there = sessions::exists(&state.db, user, session).await?;
        ledger::read_again(&state.db, user, session, first, now).await?;
        Ok::<bool, sqlx::Error>(is_there)
    };
    match attempt.await {
        Ok(true) => Redirect::to(&format!("/sessions/{session}")).into_response(),
        Ok(false) => not_found_for(&state, signed_in).await,
        Err(error) => Problem::from(error).into_response(),
    }
}

pub async fn erase(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(session): Path<String>,
    body: RawForm,
) -> Response {
    let Ok(session) = session.parse().map(SessionId) else {
        return not_found_for(&state, signed_in).await;
    };
    let (user, now) = (signed_in.0.id, state.clock.now());
    let memories = match Form::parse(&body).get("memories") {
        "1" => Memories::GoToo,
        _ => Memories::Stay,
    };
    // Erases all messages in one statement, which may take long.
    let db = state.db.with_job_timeout();
    let erased = erasure::session(&db, &state.activity, user, session, memories, now);
    match erased.await {
        Ok(receipt) => {
            state.search.reader().forget(user);
            to_receipt(&receipt)
        }
        Err(ErasureError::Database(error)) => Problem::from(error).into_response(),
        Err(_) => not_found_for(&state, signed_in).await,
    }
}
