//! The forms of Dreams: accept or dismiss proposals, undo what was applied (an admin can make these
//! read-only), and change the settings.

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::{Form, Outcome, done, respond, unknown_action};
use crate::consolidation::dreaming::decide::{self, Decided, UndoOutcome};
use crate::consolidation::dreaming::{self, DreamSettings};
use crate::db::actor;
use crate::memories::ItemId;
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;

const PATH: &str = "/dreams";
const FORM: &str = "dreams";
const SETTINGS_FORM: &str = "dream_settings";

pub async fn change(State(state): State<AppState>, signed_in: SignedIn, body: RawForm) -> Response {
    let form = Form::parse(&body);
    let name = match form.get("action") {
        "save" => SETTINGS_FORM,
        _ => FORM,
    };
    let outcome = obey(&state, &signed_in, &form).await;
    respond(&state, signed_in, PATH, name, &form, outcome).await
}

async fn obey(state: &AppState, signed_in: &SignedIn, form: &Form) -> Result<Outcome, Problem> {
    let (db, user, now) = (&state.db, signed_in.0.id, state.clock.now());
    if form.get("action") == "save" {
        let settings = DreamSettings::parse(form.get("mode"), form.get("episodes_min"))?;
        dreaming::save(db, user, settings).await?;
        return Ok(done(FORM, "Saved. It applies from the next dream on."));
    }
    actor::require_open_browser();
    let dream = form.get("dream").parse().unwrap_or(0);
    let n: Option<i16> = form.get("n").parse().ok();
    let kept = form.get("kept").parse().ok().map(ItemId);
    let sentence = match form.get("action") {
        // Requires a number, since without one all proposals would be accepted.
        "accept" => {
            let one = (dream, Some(n.unwrap_or(0)));
            accepted(decide::accept(db, user, one, kept, now).await?)
        }
        "accept_all" => accepted(decide::accept(db, user, (dream, None), None, now).await?),
        "dismiss" => {
            decide::dismiss(db, user, (dream, Some(n.unwrap_or(0))), now).await?;
            return Ok(Outcome::Redirect);
        }
        "dismiss_all" => {
            decide::dismiss(db, user, (dream, None), now).await?;
            return Ok(Outcome::Redirect);
        }
        "undo" => undone(&decide::undo(db, user, (dream, n), now).await?),
        _ => return Err(unknown_action()),
    };
    Ok(done(FORM, sentence))
}

fn accepted(decided: Decided) -> String {
    let applied = match decided.applied {
        0 => "Nothing was changed.".to_owned(),
        1 => "1 change was made; it can be undone.".to_owned(),
        n => format!("{n} changes were made; they can be undone."),
    };
    match decided.void {
        0 => applied,
        1 => format!("{applied} 1 no longer applies: one of its memories has changed."),
        n => format!("{applied} {n} no longer apply: their memories have changed."),
    }
}

fn undone(undone: &UndoOutcome) -> String {
    let mut told = vec![match undone.done {
        0 => "Nothing was undone.".to_owned(),
        1 => "1 change was undone.".to_owned(),
        n => format!("{n} changes were undone."),
    }];
    told.extend(
        undone
            .changed
            .iter()
            .map(|id| format!("Memory {id} has changed since, and stays unchanged.")),
    );
    told.extend(undone.stood_on.iter().map(|(id, newer)| {
        format!("Memory {id} stays archived: the newer memory {newer} has replaced it.")
    }));
    told.join(" ")
}
