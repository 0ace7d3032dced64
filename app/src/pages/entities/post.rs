//! The forms of entities: the switches, possible duplicates, and a person's decisions about one entity.
//! Another user's entity is not found; in a read-only browser nothing can be decided.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{one, show};
use crate::db::actor;
use crate::entities::settings::{self, EntitySettings};
use crate::entities::{EntityError, EntityId, decide, find_named};
use crate::forms::{Attempt, Field, FormName, Outcome, Posted, Submission, done};
use crate::input::sentence;
use crate::memories::mentions::EntityType;
use keepsake_edge::error::Problem;

const LIST: &str = "/entities";
const PAIRS_FORM: FormName = FormName::EntityPairs;
const SETTINGS_FORM: FormName = FormName::EntitySettings;

#[derive(Deserialize)]
pub struct EntitySettingsForm {
    by_rules: Field,
    by_model: Field,
    in_search: Field,
}

pub async fn settings(Posted(posted, form): Posted<EntitySettingsForm>) -> Response {
    let attempt = async {
        let form = form?;
        let wanted = EntitySettings {
            by_rules: form.by_rules.is_checked(),
            by_model: form.by_model.is_checked(),
            in_search: form.in_search.is_checked(),
            is_full: false,
        };
        settings::save(&posted.state.db, posted.user(), wanted).await?;
        Ok(done(SETTINGS_FORM, "Saved."))
    };
    posted.respond(show, LIST, SETTINGS_FORM, attempt.await).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EntityPairForm {
    Merge { one: Field<i64>, other: Field<i64> },
    Apart { one: Field<i64>, other: Field<i64> },
}

/// Decides whether two possible duplicates are the same entity.
pub async fn pairs(Posted(posted, form): Posted<EntityPairForm>) -> Response {
    actor::require_open_browser();
    let (db, user, now) = posted.context();
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
    posted.respond_if_found(show, LIST, PAIRS_FORM, attempt.await).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EntityForm {
    Rename { name: Field, r#type: Field },
    Merge { with: Field },
    Split { names: Field },
    Protect,
    Unprotect,
    Undo { decision: Field<i64> },
}

pub async fn decide(Posted(posted, form): Posted<EntityForm>) -> Response {
    actor::require_open_browser();
    let name = match form {
        Ok(EntityForm::Rename { .. }) => FormName::EntityRename,
        Ok(EntityForm::Merge { .. }) => FormName::EntityMerge,
        Ok(EntityForm::Split { .. }) => FormName::EntitySplit,
        _ => FormName::Entity,
    };
    let (path, outcome) = (format!("{LIST}/{}", posted.id), obey(&posted, form).await);
    posted.respond_if_found(one::show, &path, name, outcome).await
}

async fn obey(posted: &Submission, form: Result<EntityForm, Problem>) -> Attempt {
    let ((db, user, now), entity) = (posted.context(), EntityId(posted.id()?));
    let (decided, field) = match form {
        Ok(EntityForm::Rename { name, r#type }) => {
            let entity_type = EntityType::parse(&r#type).ok_or_else(unknown_type)?;
            let name = posted.screened("name", &name).await?;
            let renamed = decide::rename(db, user, entity, &name, entity_type, now);
            (renamed.await, None)
        }
        Ok(EntityForm::Merge { with }) => {
            // Checks that the entity exists before another is looked up by name.
            let other = other_one(posted, entity, &with).await?;
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
            exists(posted, entity).await?;
            (decide::undo(db, user, entity, *decision, now).await, None)
        }
        Err(unknown) => {
            exists(posted, entity).await?;
            return Err(unknown);
        }
    };
    decided.map_err(|error| problem(error, field))?;
    Ok(Outcome::Redirect)
}

/// Finds the other entity by its id or name.
async fn other_one(posted: &Submission, entity: EntityId, text: &str) -> Result<EntityId, Problem> {
    exists(posted, entity).await?;
    if let Ok(id) = text.trim().parse() {
        return Ok(EntityId(id));
    }
    let found = find_named(&posted.state.search, posted.user(), text).await;
    found.map_err(|error| match error {
        EntityError::Invalid(mut invalid) => {
            invalid.field = "with".into();
            invalid.into()
        }
        error => problem(error, Some("with")),
    })
}

async fn exists(posted: &Submission, entity: EntityId) -> Result<(), Problem> {
    let found = crate::entities::exists(&posted.state.db, posted.user(), entity).await;
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
    Problem { field: field.map(str::to_owned), ..Problem::new(status, code, said) }
}
