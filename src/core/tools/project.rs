//! `project`, as several tools and endpoints accept it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Services;
use crate::activity::RunningCall;
use crate::input::Invalid;
use crate::memories::projects::{NAME_CHARS_MAX, PLACE_CHARS_MAX};
use crate::memories::{MemoryError, ProjectId, ProjectRef, projects};

// A project as a model names it: its name, the address of its repository, or its folder. Its schema has no description,
// which would cost tokens in every call of a model.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ProjectInput(String);

/// A project as a program knows it: the same, or its parts.
#[derive(Deserialize)]
pub struct ProjectPlace(Value);

impl ProjectInput {
    pub fn parse(given: &Option<Self>) -> Result<Option<ProjectRef>, Invalid> {
        let parsed = given.as_ref().map(|given| ProjectRef::parse(&given.0));
        Ok(parsed.transpose()?.flatten())
    }
}

impl ProjectPlace {
    pub fn parse(given: &Option<Self>) -> Result<Option<ProjectRef>, Invalid> {
        ProjectRef::read(given.as_ref().map_or(&Value::Null, |given| &given.0))
    }
}

impl JsonSchema for ProjectPlace {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ProjectPlace".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let place = json!({ "type": ["string", "null"], "maxLength": PLACE_CHARS_MAX });
        json_schema!({
            "type": ["string", "object"],
            "maxLength": PLACE_CHARS_MAX,
            "properties": {
                "name": { "type": ["string", "null"], "maxLength": NAME_CHARS_MAX },
                "repository": place,
                "folder": place,
            },
            "additionalProperties": false,
        })
    }
}

/// The project of what is written, made if it is not known.
pub async fn project_of(
    context: &Services,
    call: &RunningCall,
    given: &Option<ProjectInput>,
) -> Result<Option<ProjectId>, MemoryError> {
    let asked = ProjectInput::parse(given)?;
    let (user, now) = (call.viewer.user_id, context.clock.now());
    let project = projects::ensure(&context.db, user, asked.as_ref(), now).await?;
    Ok(project.map(|project| project.id))
}

/// The project of what is read or changed; one that is not known has nothing.
pub async fn known_project(
    context: &Services,
    call: &RunningCall,
    given: &Option<ProjectInput>,
) -> Result<Option<ProjectId>, MemoryError> {
    let asked = ProjectInput::parse(given)?;
    Ok(projects::find_known(&context.db, call.viewer.user_id, asked.as_ref()).await?)
}
