//! The forms of Settings › Fading: the switch, the decay rates, and keeping and restoring single memories (an
//! admin can make these read-only).

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::manage::memory_problem;
use super::{Form, Outcome, done, respond, unknown_action};
use crate::db::actor;
use crate::memories::fading::{self, FadingSettings};
use crate::memories::manage::Restored;
use crate::memories::{self, ItemId};
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;

const PATH: &str = "/settings/fading";
const FORM: &str = "fading";
const SETTINGS_FORM: &str = "fading_settings";

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
    let (db, user) = (&state.db, signed_in.0.id);
    let sentence = match form.get("action") {
        action @ ("on" | "off") => {
            let is_on = action == "on";
            let settings = fading::settings(db, user).await?;
            fading::save(db, user, &FadingSettings { is_on, ..settings }).await?;
            return Ok(Outcome::Redirect);
        }
        "save" => {
            let is_on = fading::settings(db, user).await?.is_on;
            let days = |name: &str| form.get(name);
            let settings = FadingSettings::parse(is_on, form.get("threshold"), days)?;
            fading::save(db, user, &settings).await?;
            return Ok(done(FORM, "Saved."));
        }
        "keep" => {
            actor::require_open_browser();
            let item = item_of(form);
            let call = state
                .activity
                .begin(&signed_in.viewer(), "memory_half_life");
            let kept = fading::set_half_life(db, &call, item, Some(None)).await;
            call.ended_unknown();
            kept.map_err(memory_problem)?;
            format!("Memory {item} never fades.")
        }
        "restore" => {
            actor::require_open_browser();
            let item = item_of(form);
            match restore(state, signed_in, item).await? {
                true => format!("Memory {item} is active again."),
                false => format!(
                    "Memory {item} was not restored: another memory is active in its place. Its page asks which to keep."
                ),
            }
        }
        "restore_all" => {
            actor::require_open_browser();
            let (mut restored, mut replaced) = (0, 0);
            for item in fading::list_faded(db, user).await? {
                match restore(state, signed_in, item).await? {
                    true => restored += 1,
                    false => replaced += 1,
                }
            }
            told(restored, replaced)
        }
        _ => return Err(unknown_action()),
    };
    Ok(done(FORM, sentence))
}

fn item_of(form: &Form) -> ItemId {
    ItemId(form.get("item").parse().unwrap_or(0))
}

/// False if another item is active in its place.
async fn restore(state: &AppState, signed_in: &SignedIn, item: ItemId) -> Result<bool, Problem> {
    let call = state.activity.begin(&signed_in.viewer(), "memory_restore");
    let restored = memories::restore(&state.db, &state.clock, &call, item, &[]).await;
    call.ended_unknown();
    Ok(restored.map_err(memory_problem)? == Restored::Done)
}

fn told(restored: u32, replaced: u32) -> String {
    let active = match restored {
        1 => "1 memory is active again.".to_owned(),
        n => format!("{n} memories are active again."),
    };
    match replaced {
        0 => active,
        1 => format!("{active} 1 was not restored: another memory is active in its place."),
        n => format!("{active} {n} were not restored: other memories are active in their place."),
    }
}
