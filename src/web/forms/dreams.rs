//! The forms of Dreams: what is proposed is accepted or dismissed, and what was applied taken back, which an admin may close; and
//! how dreams work.

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::{Form, Outcome, done, respond, unknown_action};
use crate::consolidation::dreaming::decide::{self, Decided, Undone};
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
        return Ok(done(FORM, "Saved, and in force from the next dream on."));
    }
    actor::require_open_browser();
    let dream = form.get("dream").parse().unwrap_or(0);
    let n: Option<i16> = form.get("n").parse().ok();
    let kept = form.get("kept").parse().ok().map(ItemId);
    let sentence = match form.get("action") {
        // One, since without a number all would be meant.
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

fn undone(undone: &Undone) -> String {
    let mut told = vec![match undone.done {
        0 => "Nothing was taken back.".to_owned(),
        1 => "1 change was taken back.".to_owned(),
        n => format!("{n} changes were taken back."),
    }];
    told.extend(
        undone
            .changed
            .iter()
            .map(|id| format!("Memory {id} was changed since, and stays as it is.")),
    );
    told.extend(undone.stood_on.iter().map(|(id, newer)| {
        format!("Memory {id} stays archived: memory {newer}, which is newer, stands in its place.")
    }));
    told.join(" ")
}
