//! The forms of Learned: keep, forget or confirm a reviewed memory, and edit what is not worth keeping. An
//! admin can make them read-only.

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::manage::memory_problem;
use super::{Form, Outcome, done, respond, unknown_action};
use crate::db::actor;
use crate::memories::manage::Restored;
use crate::memories::{self, Again, ItemId, learned};
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;

const PATH: &str = "/learned";
const FORM: &str = "learned";
const UNWANTED_FORM: &str = "unwanted";

pub async fn change(State(state): State<AppState>, signed_in: SignedIn, body: RawForm) -> Response {
    let form = Form::parse(&body);
    let name = match form.get("action") {
        "unwanted" => UNWANTED_FORM,
        _ => FORM,
    };
    let outcome = obey(&state, &signed_in, &form).await;
    respond(&state, signed_in, PATH, name, &form, outcome).await
}

async fn obey(state: &AppState, signed_in: &SignedIn, form: &Form) -> Result<Outcome, Problem> {
    let (db, clock, user) = (&state.db, &state.clock, signed_in.0.id);
    actor::require_open_browser();
    let item = ItemId(form.get("item").parse().unwrap_or(0));
    let begin = |tool| state.activity.begin(&signed_in.viewer(), tool);
    let sentence = match form.get("action") {
        "keep" => {
            learned::keep(db, user, item)
                .await
                .map_err(memory_problem)?;
            return Ok(Outcome::Redirect);
        }
        "keep_all" => {
            learned::keep_all(db, user, item).await?;
            return Ok(Outcome::Redirect);
        }
        "forget" => {
            let call = begin("memory_archive");
            let forgotten = learned::forget(db, &state.embeddings, clock, &call, item).await;
            call.ended_unknown();
            forgotten.map_err(memory_problem)?;
            format!(
                "Memory {item} is archived, and similar ones are no longer stored. You can restore it below."
            )
        }
        "confirm" => {
            let call = begin("memory_confirm");
            let confirmed = memories::confirm(db, clock, &call, item, Again::ChangesNothing).await;
            call.ended_unknown();
            confirmed.map_err(memory_problem)?;
            format!("Memory {item} is confirmed: nothing learned later replaces it.")
        }
        "restore" => {
            let call = begin("memory_restore");
            let restored = memories::restore(db, clock, &call, item, &[]).await;
            call.ended_unknown();
            if restored.map_err(memory_problem)? != Restored::Done {
                format!(
                    "Memory {item} was not restored: another memory is active in its place. Its page asks which to keep."
                )
            } else {
                learned::remove_unwanted(db, user, line_of(form)).await?;
                format!("Memory {item} is active again.")
            }
        }
        "wanted" => {
            learned::remove_unwanted(db, user, line_of(form)).await?;
            return Ok(Outcome::Redirect);
        }
        "unwanted" => {
            let added = learned::add_unwanted(db, user, None, form.get("text")).await;
            added.map_err(memory_problem)?;
            return Ok(Outcome::Redirect);
        }
        _ => return Err(unknown_action()),
    };
    Ok(done(FORM, sentence))
}

fn line_of(form: &Form) -> i64 {
    form.get("line").parse().unwrap_or(0)
}
