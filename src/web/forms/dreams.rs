//! The forms of Dreams: accept or dismiss proposals, undo what was applied (an admin can make these
//! read-only), and change the settings.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use super::{Field, Outcome, Posted, done, respond};
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

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DreamForm {
    Save {
        mode: Field,
        episodes_min: Field,
    },
    Accept {
        dream: Field<i64>,
        n: Field<i16>,
        kept: Option<Field<i64>>,
    },
    AcceptAll {
        dream: Field<i64>,
    },
    Dismiss {
        dream: Field<i64>,
        n: Field<i16>,
    },
    DismissAll {
        dream: Field<i64>,
    },
    /// Without a number, everything that the dream applied.
    Undo {
        dream: Field<i64>,
        n: Option<Field<i16>>,
    },
}

pub async fn change(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<DreamForm>,
) -> Response {
    let name = match form {
        Ok(DreamForm::Save { .. }) => SETTINGS_FORM,
        _ => {
            actor::require_open_browser();
            FORM
        }
    };
    let outcome = obey(&state, &signed_in, form).await;
    respond(&state, signed_in, PATH, name, &fields, outcome).await
}

async fn obey(
    state: &AppState,
    signed_in: &SignedIn,
    form: Result<DreamForm, Problem>,
) -> Result<Outcome, Problem> {
    let (db, user, now) = (&state.db, signed_in.0.id, state.clock.now());
    let sentence = match form? {
        DreamForm::Save { mode, episodes_min } => {
            let settings = DreamSettings::parse(&mode, &episodes_min)?;
            dreaming::save(db, user, settings).await?;
            "Saved. It applies from the next dream on.".to_owned()
        }
        DreamForm::Accept { dream, n, kept } => {
            let kept = kept.map(|kept| ItemId(*kept));
            accepted(decide::accept(db, user, (*dream, Some(*n)), kept, now).await?)
        }
        DreamForm::AcceptAll { dream } => {
            accepted(decide::accept(db, user, (*dream, None), None, now).await?)
        }
        DreamForm::Dismiss { dream, n } => {
            decide::dismiss(db, user, (*dream, Some(*n)), now).await?;
            return Ok(Outcome::Redirect);
        }
        DreamForm::DismissAll { dream } => {
            decide::dismiss(db, user, (*dream, None), now).await?;
            return Ok(Outcome::Redirect);
        }
        DreamForm::Undo { dream, n } => {
            undone(&decide::undo(db, user, (*dream, n.map(|n| *n)), now).await?)
        }
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
