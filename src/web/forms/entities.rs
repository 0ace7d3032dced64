//! The forms of entities: the switches, possible duplicates, and a person's decisions about one entity.
//! Another user's entity is not found; in a read-only browser nothing can be decided.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{Field, Outcome, Posted, done, respond, respond_or_not_found};
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

#[derive(Deserialize)]
pub struct EntitySettingsForm {
    by_rules: Field,
    by_model: Field,
    in_search: Field,
}

pub async fn settings(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<EntitySettingsForm>,
) -> Response {
    let attempt = async {
        let form = form?;
        let wanted = EntitySettings {
            by_rules: form.by_rules.is_checked(),
            by_model: form.by_model.is_checked(),
            in_search: form.in_search.is_checked(),
            is_full: false,
        };
        settings::save(&state.db, signed_in.0.id, wanted).await?;
        Ok(done(SETTINGS_FORM, "Saved."))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, LIST, SETTINGS_FORM, &fields, outcome).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EntityPairForm {
    Merge { one: Field<i64>, other: Field<i64> },
    Apart { one: Field<i64>, other: Field<i64> },
}

/// Decides whether two possible duplicates are the same entity.
pub async fn pairs(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<EntityPairForm>,
) -> Response {
    actor::require_open_browser();
    let (db, user, now) = (&state.db, signed_in.0.id, state.clock.now());
    let attempt = async {
        let decided = match form? {
            EntityPairForm::Merge { one, other } => {
                decide::merge(db, user, (EntityId(*one), EntityId(*other)), now).await
            }
            EntityPairForm::Apart { one, other } => {
                decide::keep_apart(db, user, (EntityId(*one), EntityId(*other)), now).await
            }
        };
        decided.map_err(|error| problem(error, None))?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond_or_not_found(&state, signed_in, LIST, PAIRS_FORM, &fields, outcome).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EntityForm {
    Rename {
        name: Field,
        #[serde(rename = "type")]
        entity_type: Field,
    },
    Merge {
        with: Field,
    },
    Split {
        names: Field,
    },
    Protect,
    Unprotect,
    Undo {
        decision: Field<i64>,
    },
}

pub async fn decide(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(entity): Path<String>,
    Posted(fields, form): Posted<EntityForm>,
) -> Response {
    let Ok(entity) = entity.parse().map(EntityId) else {
        return not_found_for(&state, signed_in).await;
    };
    actor::require_open_browser();
    let name = match form {
        Ok(EntityForm::Rename { .. }) => "entity_rename",
        Ok(EntityForm::Merge { .. }) => "entity_merge",
        Ok(EntityForm::Split { .. }) => "entity_split",
        _ => "entity",
    };
    let outcome = obey(&state, &signed_in, entity, form).await;
    let path = format!("{LIST}/{entity}");
    respond_or_not_found(&state, signed_in, &path, name, &fields, outcome).await
}

async fn obey(
    state: &AppState,
    signed_in: &SignedIn,
    entity: EntityId,
    form: Result<EntityForm, Problem>,
) -> Result<Outcome, Problem> {
    let (db, user, now) = (&state.db, signed_in.0.id, state.clock.now());
    let (decided, field) = match form {
        Ok(EntityForm::Rename { name, entity_type }) => {
            let entity_type = EntityType::parse(&entity_type).ok_or_else(unknown_type)?;
            let renamed = decide::rename(db, user, entity, &name, entity_type, now);
            (renamed.await, None)
        }
        Ok(EntityForm::Merge { with }) => {
            // Checks that the entity exists before another is looked up by name.
            let other = other_one(state, signed_in, entity, &with).await?;
            match decide::merge(db, user, (entity, other), now).await {
                Err(EntityError::NotFound(id)) if id == other && id != entity => {
                    return Err(no_such_other(id));
                }
                merged => (merged, Some("with")),
            }
        }
        Ok(EntityForm::Split { names }) => {
            let split = decide::split(db, user, entity, &names.numbers(), now).await;
            (split.map(|_| ()), Some("names"))
        }
        Ok(EntityForm::Protect) => (decide::protect(db, user, entity, true, now).await, None),
        Ok(EntityForm::Unprotect) => (decide::protect(db, user, entity, false, now).await, None),
        Ok(EntityForm::Undo { decision }) => {
            exists(state, signed_in, entity).await?;
            (decide::undo(db, user, entity, *decision, now).await, None)
        }
        Err(unknown) => {
            exists(state, signed_in, entity).await?;
            return Err(unknown);
        }
    };
    decided.map_err(|error| problem(error, field))?;
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
