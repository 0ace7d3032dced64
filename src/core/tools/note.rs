//! `note` of every tool's output: what of the input was ignored ([`super::input`]), after what the tool itself says there.

use serde_json::{Value, json};

const NOTE: &str = "note";

pub(super) fn with_note(mut output: Value, note: Option<String>) -> Value {
    if let (Some(object), Some(ignored)) = (output.as_object_mut(), note) {
        let told = match object.get(NOTE).and_then(Value::as_str) {
            Some(own) => format!("{}. {ignored}", own.trim_end_matches('.')),
            None => ignored,
        };
        object.insert(NOTE.to_owned(), told.into());
    }
    output
}

/// What the output schema of a tool has besides, if it has no note of its own.
pub(super) fn schema_with_note(mut schema: Value) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        let about = "Names ignored input fields. Omitted if there are none.";
        let note = json!({ "type": "string", "description": about });
        properties.entry(NOTE).or_insert(note);
    }
    schema
}
