//! The forms of one memory's page: archive, restore, confirm, unconfirm, and undo. Another user's memory is
//! not found; in a read-only browser nothing can be changed. Permanent deletion, which an admin cannot
//! disable, is among the forms of one's data. Also the admin's own form.

use std::fmt::Display;

use axum::response::Response;
use serde::Deserialize;

use crate::db::actor;
use crate::forms::{Admin, FormName, FormState, Rival};
use crate::forms::{Attempt, Field, Outcome, Posted, Submission, done, page};
use crate::memories::manage::{self, RestoreOutcome};
use crate::memories::{self, ItemId, MemoryError, Reconfirmation, fading};
use crate::tools::ToolError;
use keepsake_edge::error::Problem;

pub const FORM: FormName = FormName::Manage;
use super::show;
use crate::pages::admin;

const HALF_LIFE_FORM: FormName = FormName::HalfLife;
const ADMIN_FORM: FormName = FormName::Browser;

/// What is undone is an event of the memory's history.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ManageForm {
    Archive,
    Restore { newer: Field },
    Confirm,
    Unconfirm,
    Share,
    Own,
    HalfLife { days: Field },
    HalfLifeByType,
    Undo { event: Field<i64> },
}

pub async fn decide(Posted(posted, form): Posted<ManageForm>) -> Response {
    actor::require_open_browser();
    let name = match form {
        Ok(ManageForm::HalfLife { .. }) => HALF_LIFE_FORM,
        _ => FORM,
    };
    let (path, outcome) = (path_of(&posted.id), obey(&posted, form).await);
    posted.respond_if_found(show, &path, name, outcome).await
}

pub fn path_of(item: impl Display) -> String {
    format!("/memory/{item}")
}

async fn obey(posted: &Submission, form: Result<ManageForm, Problem>) -> Attempt {
    let (db, clock) = (&posted.state.db, &posted.state.clock);
    let (item, form) = (ItemId(posted.id()?), form?);
    let tool = match form {
        ManageForm::Archive => "memory_archive",
        ManageForm::Restore { .. } => "memory_restore",
        ManageForm::Confirm => "memory_confirm",
        ManageForm::Unconfirm => "memory_unconfirm",
        ManageForm::Share => "memory_share",
        ManageForm::Own => "memory_own",
        ManageForm::HalfLife { .. } | ManageForm::HalfLifeByType => "memory_half_life",
        ManageForm::Undo { .. } => "memory_undo",
    };
    let call = posted.begin(tool);
    let done = |()| RestoreOutcome::Done;
    let decided = match form {
        ManageForm::Archive => memories::archive(db, clock, &call, item).await.map(done),
        ManageForm::Restore { newer } => {
            let newer: Vec<ItemId> = newer.numbers().into_iter().map(ItemId).collect();
            memories::restore(db, clock, &call, item, &newer).await
        }
        ManageForm::Confirm => {
            let confirmed =
                memories::confirm(db, clock, &call, item, Reconfirmation::ChangesNothing);
            confirmed.await.map(done)
        }
        ManageForm::Unconfirm => memories::unconfirm(db, clock, &call, item).await.map(done),
        ManageForm::Share => manage::set_owner(db, clock, &call, item, false).await.map(done),
        ManageForm::Own => manage::set_owner(db, clock, &call, item, true).await.map(done),
        ManageForm::HalfLife { days } => {
            let days = fading::parse_days("days", &days)?;
            fading::set_half_life(db, &call, item, Some(days)).await.map(done)
        }
        ManageForm::HalfLifeByType => fading::set_half_life(db, &call, item, None).await.map(done),
        ManageForm::Undo { event } => manage::undo(db, clock, &call, item, *event).await,
    };
    // A success was recorded together with its change.
    call.ended_unknown();
    match decided.map_err(memory_problem)? {
        RestoreOutcome::Done => Ok(Outcome::Redirect),
        RestoreOutcome::Replaced(rivals) => Ok(Outcome::from(FormState {
            rivals: rivals.into_iter().map(rival_view).collect(),
            ..page(FORM)
        })),
    }
}

fn rival_view(rival: manage::Replacement) -> Rival {
    Rival { id: rival.id.0, beginning: rival.beginning }
}

/// With the same messages as everywhere else.
pub fn memory_problem(error: MemoryError) -> Problem {
    ToolError::from(error).into()
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum BrowserForm {
    Close,
    Open,
}

/// Whether users may manage memories in the browser.
pub async fn browser(_: Admin, Posted(posted, form): Posted<BrowserForm>) -> Response {
    let (db, clock) = (&posted.state.db, &posted.state.clock);
    let attempt = async {
        let (read_only, sentence) = match form? {
            BrowserForm::Close => (true, "The memory browser is now read-only for all users."),
            BrowserForm::Open => (false, "Users can manage memories in the browser again."),
        };
        manage::set_browser_read_only(db, clock, read_only).await?;
        Ok(done(ADMIN_FORM, sentence))
    };
    posted.respond(admin::show, "/admin", ADMIN_FORM, attempt.await).await
}
