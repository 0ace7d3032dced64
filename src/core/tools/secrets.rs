//! Screens the input of a tool that writes, whatever its fields, and adds warnings to its output ([`crate::redaction`]).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{Services, ToolError, schema_of};
use crate::activity::RunningCall;
use crate::redaction::{RedactionError, SecretWarning, TextDoor, fields_of};

const WARNINGS: &str = "warnings";

impl From<RedactionError> for ToolError {
    fn from(error: RedactionError) -> Self {
        match error {
            RedactionError::Invalid(invalid) => Self::Invalid(invalid),
            error => sqlx::Error::from(error).into(),
        }
    }
}

/// The input as it may be stored, and the warnings; `None` if nothing was found in it.
pub(super) async fn screen(
    context: &Services,
    call: &RunningCall,
    input: &Value,
    not_stored: &[&str],
) -> Result<Option<(Value, Vec<SecretWarning>)>, ToolError> {
    let mut screened = input.clone();
    let viewer = &call.viewer;
    let mut fields = fields_of(&mut screened, not_stored);
    let redactor = context.embeddings.redactor();
    let found = redactor.screen(viewer.user_id, viewer.agent_id, TextDoor::Call, &mut fields);
    let warnings = found.await?;
    if warnings.is_empty() && screened == *input {
        return Ok(None);
    }
    Ok(Some((screened, warnings)))
}

pub(super) fn with_warnings(
    mut output: Value,
    warnings: &[SecretWarning],
) -> Result<Value, ToolError> {
    if let Some(object) = output.as_object_mut().filter(|_| !warnings.is_empty()) {
        object.insert(WARNINGS.to_owned(), serde_json::to_value(warnings)?);
    }
    Ok(output)
}

/// What the output schema of a tool that writes has besides.
#[derive(serde::Serialize, JsonSchema)]
struct Screened {
    /// Possible secrets in the input. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<SecretWarning>,
}

pub(super) fn schema_with_warnings<T: JsonSchema>() -> Value {
    let settings = || SchemaSettings::draft2020_12().for_serialize();
    let mut schema = schema_of::<T>(settings());
    let mut screened = schema_of::<Screened>(settings());
    let warnings = screened["properties"][WARNINGS].take();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert(WARNINGS.to_owned(), warnings);
    }
    schema
}
