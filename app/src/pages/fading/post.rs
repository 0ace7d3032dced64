//! The forms of Settings › Fading: the switch, the decay rates, and keeping and restoring single memories (an
//! admin can make these read-only).

use std::collections::BTreeMap;

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::db::actor;
use crate::forms::{Attempt, Field, FormName, Outcome, Posted, Submission, done};
use crate::memories::fading::{self, FadingSettings};
use crate::memories::manage::RestoreOutcome;
use crate::memories::{self, ItemId};
use crate::pages::item::post::memory_problem;
use keepsake_edge::error::Problem;

const PATH: &str = "/settings/fading";
const FORM: FormName = FormName::Fading;
const SETTINGS_FORM: FormName = FormName::FadingSettings;

/// What is saved is the threshold, and the half-life of each type of memory.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum FadingForm {
    On,
    Off,
    Save(BTreeMap<String, String>),
    Keep { item: Field<i64> },
    Restore { item: Field<i64> },
    RestoreAll,
}

pub async fn change(Posted(posted, form): Posted<FadingForm>) -> Response {
    let name = match form {
        Ok(FadingForm::Save(_)) => SETTINGS_FORM,
        _ => FORM,
    };
    let outcome = obey(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn obey(posted: &Submission, form: Result<FadingForm, Problem>) -> Attempt {
    let (db, user, _) = posted.context();
    let sentence = match form? {
        FadingForm::On => return switch(posted, true).await,
        FadingForm::Off => return switch(posted, false).await,
        FadingForm::Save(fields) => {
            let is_on = fading::settings(db, user).await?.is_on;
            let text = |name: &str| fields.get(name).map_or("", String::as_str);
            let settings = FadingSettings::parse(is_on, text("threshold"), text)?;
            fading::save(db, user, &settings).await?;
            "Saved.".to_owned()
        }
        FadingForm::Keep { item } => {
            actor::require_open_browser();
            let item = ItemId(*item);
            let call = posted.begin("memory_half_life");
            let kept = fading::set_half_life(db, &call, item, Some(None)).await;
            call.ended_unknown();
            kept.map_err(memory_problem)?;
            format!("Memory {item} never fades.")
        }
        FadingForm::Restore { item } => {
            actor::require_open_browser();
            let item = ItemId(*item);
            match restore(posted, item).await? {
                true => format!("Memory {item} is active again."),
                false => format!(
                    "Memory {item} was not restored: another memory is active in its place. Its page asks which to keep."
                ),
            }
        }
        FadingForm::RestoreAll => {
            actor::require_open_browser();
            let (mut restored, mut replaced) = (0, 0);
            for item in fading::list_faded(db, user).await? {
                match restore(posted, item).await? {
                    true => restored += 1,
                    false => replaced += 1,
                }
            }
            told(restored, replaced)
        }
    };
    Ok(done(FORM, sentence))
}

async fn switch(posted: &Submission, is_on: bool) -> Attempt {
    let (db, user, _) = posted.context();
    let settings = fading::settings(db, user).await?;
    fading::save(db, user, &FadingSettings { is_on, ..settings }).await?;
    Ok(Outcome::Redirect)
}

/// False if another item is active in its place.
async fn restore(posted: &Submission, item: ItemId) -> Result<bool, Problem> {
    let (state, call) = (&posted.state, posted.begin("memory_restore"));
    let restored = memories::restore(&state.db, &state.clock, &call, item, &[]).await;
    call.ended_unknown();
    Ok(restored.map_err(memory_problem)? == RestoreOutcome::Done)
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
