//! The forms of one memory's page: archive, restore, confirm, unconfirm, and undo. Another user's memory is
//! not found; in a read-only browser nothing can be changed. Permanent deletion, which an admin cannot
//! disable, is among the forms of one's data. Also the admin's own form.

use app::view::{FormState, Rival};
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;

use super::{Field, Outcome, Posted, done, respond, respond_or_not_found};
use crate::db::actor;
use crate::memories::manage::{self, Restored};
use crate::memories::{self, Again, ItemId, MemoryError, fading};
use crate::tools::ToolError;
use crate::web::AppState;
use crate::web::auth::{Admin, SignedIn};
use crate::web::error::Problem;
use crate::web::pages::not_found_for;

pub const FORM: &str = "manage";
const HALF_LIFE_FORM: &str = "half_life";
const ADMIN_FORM: &str = "browser";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ManageForm {
    Archive,
    Restore {
        newer: Field,
    },
    Confirm,
    Unconfirm,
    Share,
    Own,
    HalfLife {
        days: Field,
    },
    HalfLifeByType,
    /// Undoes an event of the memory's history.
    Undo {
        event: Field<i64>,
    },
}

pub async fn decide(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(item): Path<String>,
    Posted(fields, form): Posted<ManageForm>,
) -> Response {
    let Ok(item) = item.parse().map(ItemId) else {
        return not_found_for(&state, signed_in).await;
    };
    actor::require_open_browser();
    let name = match form {
        Ok(ManageForm::HalfLife { .. }) => HALF_LIFE_FORM,
        _ => FORM,
    };
    let outcome = obey(&state, &signed_in, item, form).await;
    let path = path_of(item);
    respond_or_not_found(&state, signed_in, &path, name, &fields, outcome).await
}

pub fn path_of(item: ItemId) -> String {
    format!("/memory/{item}")
}

async fn obey(
    state: &AppState,
    signed_in: &SignedIn,
    item: ItemId,
    form: Result<ManageForm, Problem>,
) -> Result<Outcome, Problem> {
    let (db, clock, form) = (&state.db, &state.clock, form?);
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
    let call = state.activity.begin(&signed_in.viewer(), tool);
    let decided = match form {
        ManageForm::Restore { newer } => {
            let newer: Vec<ItemId> = newer.numbers().into_iter().map(ItemId).collect();
            memories::restore(db, clock, &call, item, &newer).await
        }
        ManageForm::Undo { event } => manage::undo(db, clock, &call, item, *event).await,
        ManageForm::Archive => memories::archive(db, clock, &call, item)
            .await
            .map(|()| Restored::Done),
        ManageForm::Confirm => {
            let confirmed = memories::confirm(db, clock, &call, item, Again::ChangesNothing);
            confirmed.await.map(|()| Restored::Done)
        }
        ManageForm::Unconfirm => {
            let unconfirmed = memories::unconfirm(db, clock, &call, item);
            unconfirmed.await.map(|()| Restored::Done)
        }
        ManageForm::HalfLife { days } => {
            let days = fading::parse_days("days", &days)?;
            let set = fading::set_half_life(db, &call, item, Some(days));
            set.await.map(|()| Restored::Done)
        }
        ManageForm::HalfLifeByType => {
            let set = fading::set_half_life(db, &call, item, None);
            set.await.map(|()| Restored::Done)
        }
        form @ (ManageForm::Share | ManageForm::Own) => {
            let is_own = matches!(form, ManageForm::Own);
            let owned = manage::set_owner(db, clock, &call, item, is_own);
            owned.await.map(|()| Restored::Done)
        }
    };
    // A success was recorded together with its change.
    call.ended_unknown();
    match decided.map_err(memory_problem)? {
        Restored::Done => Ok(Outcome::Redirect),
        Restored::Replaced(rivals) => Ok(FormState {
            form: FORM.to_owned(),
            rivals: rivals.into_iter().map(rival_view).collect(),
            ..FormState::default()
        }
        .into()),
    }
}

fn rival_view(rival: manage::Rival) -> Rival {
    Rival {
        id: rival.id.0,
        beginning: rival.beginning,
    }
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
pub async fn browser(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Posted(fields, form): Posted<BrowserForm>,
) -> Response {
    let attempt = async {
        let (read_only, sentence) = match form? {
            BrowserForm::Close => (true, "The memory browser is now read-only for all users."),
            BrowserForm::Open => (false, "Users can manage memories in the browser again."),
        };
        manage::set_browser_read_only(&state.db, &state.clock, read_only).await?;
        Ok(done(ADMIN_FORM, sentence))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/admin", ADMIN_FORM, &fields, outcome).await
}
