//! The forms of Sessions: whether messages are searchable and how long they are kept, read failed stretches of a
//! session again, and erase it. Only its owner can; for others it is not found.

use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::show;
use crate::erasure::{self, ErasureError, ExtractedMemories};
use crate::forms::{Field, FormName, Outcome, Posted, done};
use crate::pages::data::post::to_receipt;
use crate::sessions::lifetimes::{self, Lifetimes};
use crate::sessions::{self, SessionId, ledger, turns};
use keepsake_edge::error::Problem;

const PATH: &str = "/sessions";
const TURNS_FORM: FormName = FormName::Turns;
const LIFETIMES_FORM: FormName = FormName::Lifetimes;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SessionsForm {
    On,
    Off,
    Lifetimes { episode_days: Field, turn_days: Field },
}

pub async fn change(Posted(posted, form): Posted<SessionsForm>) -> Response {
    let (db, user, now) = posted.context();
    let name = match form {
        Ok(SessionsForm::Lifetimes { .. }) => LIFETIMES_FORM,
        _ => TURNS_FORM,
    };
    let attempt = async {
        match form? {
            SessionsForm::On => turns::switch(db, user, true, now).await?,
            SessionsForm::Off => turns::switch(db, user, false, now).await?,
            SessionsForm::Lifetimes { episode_days, turn_days } => {
                let chosen = Lifetimes::parse(&episode_days, &turn_days)?;
                lifetimes::set(db, user, chosen, now).await?;
                return Ok(done(name, "Saved."));
            }
        }
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, name, attempt.await).await
}

#[derive(Deserialize)]
pub struct ReadAgainForm {
    first: Field<i32>,
}

/// Makes a failed or skipped stretch due now. Does nothing if it is being read already.
pub async fn read_again(Posted(posted, form): Posted<ReadAgainForm>) -> Response {
    let Ok(session) = posted.id().map(SessionId) else {
        return posted.not_found().await;
    };
    let (db, user, now) = posted.context();
    let attempt = async {
        let is_there = sessions::exists(db, user, session).await?;
        ledger::read_again(db, user, session, *form?.first, now).await?;
        Ok::<bool, Problem>(is_there)
    };
    match attempt.await {
        Ok(true) => Redirect::to(&format!("{PATH}/{session}")).into_response(),
        Ok(false) => posted.not_found().await,
        Err(problem) => posted.refused(problem).await,
    }
}

#[derive(Deserialize)]
pub struct EraseSessionForm {
    memories: Field,
}

pub async fn erase(Posted(posted, form): Posted<EraseSessionForm>) -> Response {
    let Ok(session) = posted.id().map(SessionId) else {
        return posted.not_found().await;
    };
    let (db, user, now) = posted.context();
    let memories = match form.is_ok_and(|form| form.memories.is_checked()) {
        true => ExtractedMemories::GoToo,
        false => ExtractedMemories::Stay,
    };
    // Erases all messages in one statement, which may take long.
    let db = db.with_job_timeout();
    let erased = erasure::session(&db, &posted.state.activity, user, session, memories, now);
    match erased.await {
        Ok(receipt) => {
            posted.state.search.reader().forget(user);
            to_receipt(&receipt)
        }
        Err(ErasureError::Database(error)) => posted.refused(error.into()).await,
        Err(_) => posted.not_found().await,
    }
}
