//! The forms of Learned: keep, forget or confirm a reviewed memory, and edit what is not worth keeping. An
//! admin can make them read-only.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use super::manage::memory_problem;
use super::{Field, Outcome, Posted, done, respond};
use crate::db::actor;
use crate::memories::manage::Restored;
use crate::memories::{self, Again, ItemId, learned};
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;

const PATH: &str = "/learned";
const FORM: &str = "learned";
const UNWANTED_FORM: &str = "unwanted";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum LearnedForm {
    Keep {
        item: Field<i64>,
    },
    /// This memory and all older ones.
    KeepAll {
        item: Field<i64>,
    },
    Forget {
        item: Field<i64>,
    },
    Confirm {
        item: Field<i64>,
    },
    Restore {
        item: Field<i64>,
        line: Field<i64>,
    },
    Wanted {
        line: Field<i64>,
    },
    Unwanted {
        text: Field,
    },
}

pub async fn change(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<LearnedForm>,
) -> Response {
    actor::require_open_browser();
    let name = match form {
        Ok(LearnedForm::Unwanted { .. }) => UNWANTED_FORM,
        _ => FORM,
    };
    let outcome = obey(&state, &signed_in, form).await;
    respond(&state, signed_in, PATH, name, &fields, outcome).await
}

async fn obey(
    state: &AppState,
    signed_in: &SignedIn,
    form: Result<LearnedForm, Problem>,
) -> Result<Outcome, Problem> {
    let (db, clock, user) = (&state.db, &state.clock, signed_in.0.id);
    let begin = |tool| state.activity.begin(&signed_in.viewer(), tool);
    let sentence = match form? {
        LearnedForm::Keep { item } => {
            learned::keep(db, user, ItemId(*item))
                .await
                .map_err(memory_problem)?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::KeepAll { item } => {
            learned::keep_all(db, user, ItemId(*item)).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::Forget { item } => {
            let item = ItemId(*item);
            let call = begin("memory_archive");
            let forgotten = learned::forget(db, &state.embeddings, clock, &call, item).await;
            call.ended_unknown();
            forgotten.map_err(memory_problem)?;
            format!(
                "Memory {item} is archived, and similar ones are no longer stored. You can restore it below."
            )
        }
        LearnedForm::Confirm { item } => {
            let item = ItemId(*item);
            let call = begin("memory_confirm");
            let confirmed = memories::confirm(db, clock, &call, item, Again::ChangesNothing).await;
            call.ended_unknown();
            confirmed.map_err(memory_problem)?;
            format!("Memory {item} is confirmed: nothing learned later replaces it.")
        }
        LearnedForm::Restore { item, line } => {
            let item = ItemId(*item);
            let call = begin("memory_restore");
            let restored = memories::restore(db, clock, &call, item, &[]).await;
            call.ended_unknown();
            if restored.map_err(memory_problem)? != Restored::Done {
                format!(
                    "Memory {item} was not restored: another memory is active in its place. Its page asks which to keep."
                )
            } else {
                learned::remove_unwanted(db, user, *line).await?;
                format!("Memory {item} is active again.")
            }
        }
        LearnedForm::Wanted { line } => {
            learned::remove_unwanted(db, user, *line).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::Unwanted { text } => {
            let added = learned::add_unwanted(db, user, None, &text).await;
            added.map_err(memory_problem)?;
            return Ok(Outcome::Redirect);
        }
    };
    Ok(done(FORM, sentence))
}
