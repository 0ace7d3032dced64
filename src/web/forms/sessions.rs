//! The forms of Sessions: whether messages are searchable and how long they are kept, read failed stretches of a
//! session again, and erase it. Only its owner can; for others it is not found.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::data::to_receipt;
use super::{Field, Outcome, Posted, done, respond};
use crate::erasure::{self, ErasureError, Memories};
use crate::sessions::lifetimes::{self, Lifetimes};
use crate::sessions::{self, SessionId, ledger, turns};
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;
use crate::web::pages::not_found_for;

const PATH: &str = "/sessions";
const TURNS_FORM: &str = "turns";
const LIFETIMES_FORM: &str = "lifetimes";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SessionsForm {
    On,
    Off,
    Lifetimes {
        episode_days: Field,
        turn_days: Field,
    },
}

pub async fn change(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<SessionsForm>,
) -> Response {
    let (db, user, now) = (&state.db, signed_in.0.id, state.clock.now());
    let name = match form {
        Ok(SessionsForm::Lifetimes { .. }) => LIFETIMES_FORM,
        _ => TURNS_FORM,
    };
    let attempt = async {
        match form? {
            SessionsForm::On => turns::switch(db, user, true, now).await?,
            SessionsForm::Off => turns::switch(db, user, false, now).await?,
            SessionsForm::Lifetimes {
                episode_days,
                turn_days,
            } => {
                let chosen = Lifetimes::parse(&episode_days, &turn_days)?;
                lifetimes::set(db, user, chosen, now).await?;
                return Ok(done(name, "Saved."));
            }
        }
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, name, &fields, outcome).await
}

#[derive(Deserialize)]
pub struct ReadAgainForm {
    first: Field<i32>,
}

/// Makes a failed or skipped stretch due now. Does nothing if it is being read already.
pub async fn read_again(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(session): Path<String>,
    Posted(_, form): Posted<ReadAgainForm>,
) -> Response {
    let Ok(session) = session.parse().map(SessionId) else {
        return not_found_for(&state, signed_in).await;
    };
    let (user, now) = (signed_in.0.id, state.clock.now());
    let attempt = async {
        let is_there = sessions::exists(&state.db, user, session).await?;
        ledger::read_again(&state.db, user, session, *form?.first, now).await?;
        Ok::<bool, Problem>(is_there)
    };
    match attempt.await {
        Ok(true) => Redirect::to(&format!("{PATH}/{session}")).into_response(),
        Ok(false) => not_found_for(&state, signed_in).await,
        Err(problem) => problem.into_response(),
    }
}

#[derive(Deserialize)]
pub struct EraseSessionForm {
    memories: Field,
}

pub async fn erase(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(session): Path<String>,
    Posted(_, form): Posted<EraseSessionForm>,
) -> Response {
    let Ok(session) = session.parse().map(SessionId) else {
        return not_found_for(&state, signed_in).await;
    };
    let (user, now) = (signed_in.0.id, state.clock.now());
    let memories = match form.is_ok_and(|form| form.memories.is_checked()) {
        true => Memories::GoToo,
        false => Memories::Stay,
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
