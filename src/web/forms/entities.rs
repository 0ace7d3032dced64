//! The forms of entities: the switches, possible duplicates, and a person's decisions about one entity.
//! Another user's entity is not found; in a read-only browser nothing can be decided.

use axum::extract::{Path, RawForm, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Form, Outcome, done, respond, unknown_action};
use crate::db::actor;
use crate::entities::settings::{self, EntitySettings};
use crate::entities::{EntityError, EntityId, decide, find_named};
use crate::input::sentence;
use crate::memories::mentions::EntityType;
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;
use crate::web::pages::not_found_for;

const LIST: &str = "/entities";
const PAIRS_FORM: &str = "entity_pairs";
const SETTINGS_FORM: &str = "entity_settings";

pub async fn settings(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let wanted = EntitySettings {
        by_rules: form.get("by_rules") == "1",
        by_model: form.get("by_model") == "1",
        in_search: form.get("in_search") == "1",
        is_full: false,
    };
    let saved = settings::save(&state.db, signed_in.0.id, wanted).await;
    let outcome = saved
        .map(|()| done(SETTINGS_FORM, "Saved."))
        .map_err(Problem::from);
    respond(&state, signed_in, LIST, SETTINGS_FORM, &form, outcome).await
}

/// Decides whether two possible duplicates are the same entity.
pub async fn pairs(State(state): State<AppState>, signed_in: SignedIn, body: RawForm) -> Response {
    let form = Form::parse(&body);
    actor::require_open_browser();
    let (user, now) = (signed_in.0.id, state.clock.now());
    let id = |name: &str| EntityId(form.get(name).parse().unwrap_or(0));
    let pair = (id("one"), id("other"));
    let decided = match form.get("action") {
        "merge" => decide::merge(&state.db, user, pair, now).await,
        "apart" => decide::keep_apart(&state.db, user, pair, now).await,
        _ => {
            let outcome = Err(unknown_action());
            return respond(&state, signed_in, LIST, PAIRS_FORM, &form, outcome).await;
        }
    };
    let outcome = match decided {
        Err(EntityError::NotFound(_)) => return not_found_for(&state, signed_in).await,
        decided => decided
            .map(|()| Outcome::Redirect)
            .map_err(|error| problem(error, None)),
    };
    respond(&state, signed_in, LIST, PAIRS_FORM, &form, outcome).await
}

pub async fn decide(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(entity): Path<String>,
    body: RawForm,
) -> Response {
    let Ok(entity) = entity.parse().map(EntityId) else {
        return not_found_for(&state, signed_in).await;
    };
    let form = Form::parse(&body);
    actor::require_open_browser();
    let name = match form.get("action") {
        "rename" => "entity_rename",
        "merge" => "entity_merge",
        "split" => "entity_split",
        _ => "entity",
    };
    match obey(&state, &signed_in, entity, &form).await {
        Err(problem) if problem.status == StatusCode::NOT_FOUND => {
            not_found_for(&state, signed_in).await
        }
        outcome => {
            let path = format!("{LIST}/{entity}");
            respond(&state, signed_in, &path, name, &form, outcome).await
        }
    }
}

async fn obey(
    state: &AppState,
    signed_in: &SignedIn,
    entity: EntityId,
    form: &Form,
) -> Result<Outcome, Problem> {
    let (db, user, now) = (&state.db, signed_in.0.id, state.clock.now());
    match form.get("action") {
        "rename" => {
            let entity_type = EntityType::parse(form.get("type")).ok_or_else(unknown_type)?;
            let renamed = decide::rename(db, user, entity, form.get("name"), entity_type, now);
            renamed.await.map_err(|error| problem(error, None))?;
        }
        "merge" => {
            // Checks that the entity exists before another is looked up by name.
            let other = other_one(state, signed_in, entity, form.get("with")).await?;
            let merged = decide::merge(db, user, (entity, other), now).await;
            merged.map_err(|error| match error {
                EntityError::NotFound(id) if id == other && id != entity => no_such_other(id),
                error => problem(error, Some("with")),
            })?;
        }
        "split" => {
            let names = form.all("names").filter_map(|id| id.parse().ok());
            let names: Vec<i64> = names.collect();
            let made = decide::split(db, user, entity, &names, now).await;
            made.map_err(|error| problem(error, Some("names")))?;
        }
        action @ ("protect" | "unprotect") => {
            let protected = decide::protect(db, user, entity, action == "protect", now);
            protected.await.map_err(|error| problem(error, None))?;
        }
        "undo" => {
            exists(state, signed_in, entity).await?;
            let decision = form.get("decision").parse().unwrap_or(0);
            let undone = decide::undo(db, user, entity, decision, now).await;
            undone.map_err(|error| problem(error, None))?;
        }
        _ => {
            exists(state, signed_in, entity).await?;
            return Err(unknown_action());
        }
    }
    Ok(Outcome::Redirect)
}

/// Finds the other entity by its id or name.
async fn other_one(
    state: &AppState,
    signed_in: &SignedIn,
    entity: EntityId,
    text: &str,
) -> Result<EntityId, Problem> {
    exists(state, signed_in, entity).await?;
    let user = signed_in.0.id;
    if let Ok(id) = text.trim().parse() {
        return Ok(EntityId(id));
    }
    let found = find_named(&state.search, user, text).await;
    found.map_err(|error| match error {
        EntityError::Invalid(mut invalid) => {
            invalid.field = "with".into();
            invalid.into()
        }
        error => problem(error, Some("with")),
    })
}

async fn exists(state: &AppState, signed_in: &SignedIn, entity: EntityId) -> Result<(), Problem> {
    let found = crate::entities::exists(&state.db, signed_in.0.id, entity).await;
    match found? {
        true => Ok(()),
        false => Err(problem(EntityError::NotFound(entity), None)),
    }
}

fn no_such_other(id: EntityId) -> Problem {
    let said = format!("There is no entity {id} in your memory.");
    Problem {
        field: Some("with".to_owned()),
        ..Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_entity", said)
    }
}

fn unknown_type() -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "unknown_type",
        "`type` is not known; choose one from the list.",
    )
}

/// `field` is the field to blame.
fn problem(error: EntityError, field: Option<&str>) -> Problem {
    let said = sentence(&error.to_string());
    let (status, code) = match error {
        EntityError::Invalid(invalid) => return invalid.into(),
        EntityError::Database(error) => return error.into(),
        EntityError::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
        EntityError::NoSuchName(_) => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_entity"),
        EntityError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
    };
    Problem {
        field: field.map(str::to_owned),
        ..Problem::new(status, code, said)
    }
}
