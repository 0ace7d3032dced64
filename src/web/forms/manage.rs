//! The forms of one memory's page: archive, restore, confirm, unconfirm, and undo. Another user's memory is
//! not found; in a read-only browser nothing can be changed. Permanent deletion, which an admin cannot
//! disable, is among the forms of one's data. Also the admin's own form.

use app::view::{FormState, Rival};
use axum::extract::{Path, RawForm, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Form, Outcome, done, respond, unknown_action};
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

pub async fn decide(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(item): Path<String>,
    body: RawForm,
) -> Response {
    let Ok(item) = item.parse().map(ItemId) else {
        return not_found_for(&state, signed_in).await;
    };
    let form = Form::parse(&body);
    actor::require_open_browser();
    let name = match form.get("action") {
        "half_life" => HALF_LIFE_FORM,
        _ => FORM,
    };
    match obey(&state, &signed_in, item, &form).await {
        Err(problem) if problem.status == StatusCode::NOT_FOUND => {
            not_found_for(&state, signed_in).await
        }
        outcome => respond(&state, signed_in, &path_of(item), name, &form, outcome).await,
    }
}

pub fn path_of(item: ItemId) -> String {
    format!("/memory/{item}")
}

async fn obey(
    state: &AppState,
    signed_in: &SignedIn,
    item: ItemId,
    form: &Form,
) -> Result<Outcome, Problem> {
    let (db, clock) = (&state.db, &state.clock);
    let tool = match form.get("action") {
        "archive" => "memory_archive",
        "restore" => "memory_restore",
        "confirm" => "memory_confirm",
        "unconfirm" => "memory_unconfirm",
        "share" => "memory_share",
        "own" => "memory_own",
        "half_life" | "half_life_by_type" => "memory_half_life",
        "undo" => "memory_undo",
        _ => return Err(unknown_action()),
    };
    let call = state.activity.begin(&signed_in.viewer(), tool);
    let decided = match form.get("action") {
        "archive" => memories::archive(db, clock, &call, item)
            .await
            .map(|()| Restored::Done),
        "restore" => {
            let newer = form.all("newer").filter_map(|id| id.parse().ok());
            let newer: Vec<ItemId> = newer.map(ItemId).collect();
            memories::restore(db, clock, &call, item, &newer).await
        }
        "confirm" => {
            let confirmed = memories::confirm(db, clock, &call, item, Again::ChangesNothing);
            confirmed.await.map(|()| Restored::Done)
        }
        "unconfirm" => {
            let unconfirmed = memories::unconfirm(db, clock, &call, item);
            unconfirmed.await.map(|()| Restored::Done)
        }
        "half_life" => {
            let days = fading::parse_days("days", form.get("days"))?;
            let set = fading::set_half_life(db, &call, item, Some(days));
            set.await.map(|()| Restored::Done)
        }
        "half_life_by_type" => {
            let set = fading::set_half_life(db, &call, item, None);
            set.await.map(|()| Restored::Done)
        }
        action @ ("share" | "own") => {
            let owned = manage::set_owner(db, clock, &call, item, action == "own");
            owned.await.map(|()| Restored::Done)
        }
        _ => {
            let event = form.get("event").parse().unwrap_or(0);
            manage::undo(db, clock, &call, item, event).await
        }
    };
    // A success was recorded together with its change.
    call.ended_unknown();
    match decided.map_err(memory_problem)? {
        Restored::Done => Ok(Outcome::Redirect),
        Restored::Replaced(rivals) => Ok(Outcome::Page(Box::new(FormState {
            form: FORM.to_owned(),
            rivals: rivals.into_iter().map(rival_view).collect(),
            ..FormState::default()
        }))),
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

/// Whether users may manage memories in the browser.
pub async fn browser(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let (read_only, sentence) = match form.get("action") {
            "close" => (true, "The memory browser is now read-only for all users."),
            "open" => (false, "Users can manage memories in the browser again."),
            _ => return Err(unknown_action()),
        };
        manage::set_browser_read_only(&state.db, &state.clock, read_only).await?;
        Ok(done(ADMIN_FORM, sentence))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/admin", ADMIN_FORM, &form, outcome).await
}
