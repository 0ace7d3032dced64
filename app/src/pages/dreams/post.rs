//! The forms of Dreams: accept or dismiss proposals, undo what was applied (an admin can make these
//! read-only), and change the settings.

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::consolidation::dreaming::decide::{self, DecisionOutcome, UndoOutcome};
use crate::consolidation::dreaming::{self, DreamSettings};
use crate::db::actor;
use crate::forms::{Attempt, Field, FormName, Outcome, Posted, Submission, done};
use crate::memories::ItemId;
use keepsake_edge::error::Problem;

const PATH: &str = "/dreams";
const FORM: FormName = FormName::Dreams;
const SETTINGS_FORM: FormName = FormName::DreamSettings;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DreamForm {
    Save { mode: Field, episodes_min: Field },
    Accept(ProposalForm),
    AcceptAll { dream: Field<i64> },
    Dismiss { dream: Field<i64>, n: Field<i16> },
    DismissAll { dream: Field<i64> },
    Undo { dream: Field<i64>, n: Field },
}

#[derive(Deserialize)]
pub struct ProposalForm {
    dream: Field<i64>,
    n: Field<i16>,
    kept: Field,
}

pub async fn change(Posted(posted, form): Posted<DreamForm>) -> Response {
    let name = match form {
        Ok(DreamForm::Save { .. }) => SETTINGS_FORM,
        _ => {
            actor::require_open_browser();
            FORM
        }
    };
    let outcome = obey(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn obey(posted: &Submission, form: Result<DreamForm, Problem>) -> Attempt {
    let (db, user, now) = posted.context();
    let sentence = match form? {
        DreamForm::Save { mode, episodes_min } => {
            let settings = DreamSettings::parse(&mode, &episodes_min)?;
            dreaming::save(db, user, settings).await?;
            "Saved. It applies from the next dream on.".to_owned()
        }
        DreamForm::Accept(ProposalForm { dream, n, kept }) => {
            let kept = kept.parse().ok().map(ItemId);
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
            // Without a number, undoes everything that the dream applied.
            undone(&decide::undo(db, user, (*dream, n.parse().ok()), now).await?)
        }
    };
    Ok(done(FORM, sentence))
}

fn accepted(decided: DecisionOutcome) -> String {
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
