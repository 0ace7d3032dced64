//! Parses a tool's JSON input into its type, or returns one sentence that says what is wrong. The sentence
//! names fields and types and never repeats a value.

use serde::de::{DeserializeOwned, IgnoredAny};

use super::ToolError;
use crate::input::Invalid;

pub const NOT_AN_OBJECT: &str = "the input must be a JSON object, such as {}";

pub(super) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, ToolError> {
    parse_for("this tool", json)
}

/// Like `parse`, for another recipient, `whom`, in the error messages.
pub fn parse_for<T: DeserializeOwned>(whom: &str, json: &[u8]) -> Result<T, ToolError> {
    // serde would also read a struct from an array.
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(ToolError::NotJson(NOT_AN_OBJECT.to_owned()));
    }
    let json = str::from_utf8(json)
        .map_err(|_| ToolError::NotJson("the input is not valid UTF-8".to_owned()))?;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let parsed: T = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { String::new() } else { path };
        // serde reports an unexpected value (`null` for a type) as a syntax error.
        let is_json = serde_json::from_str::<IgnoredAny>(json).is_ok();
        input_error(whom, field, error.inner(), is_json)
    })?;
    deserializer.end().map_err(|_| {
        ToolError::NotJson(
            "the input has something after its JSON object; send one object".to_owned(),
        )
    })?;
    Ok(parsed)
}

fn input_error(whom: &str, field: String, error: &serde_json::Error, is_json: bool) -> ToolError {
    let message = error.to_string();
    // serde's messages end in " at line 1 column 9", and quote values in `invalid type: string "…"`.
    let message = message.split(" at line ").next().unwrap_or_default();
    if message.contains("surrogate") || (is_json && message.contains("hex escape")) {
        let sentence =
            format!("`{field}` contains half of a surrogate pair; send valid Unicode text.");
        return Invalid::new(field, "invalid_text", sentence).into();
    }
    if !is_json {
        return ToolError::NotJson(format!(
            "the input is not valid JSON (line {}, column {})",
            error.line(),
            error.column()
        ));
    }
    let quoted = message.split('`').nth(1).unwrap_or_default().to_owned();
    let (field, code, sentence) = if message.starts_with("unknown field") {
        let known = message.split_once("expected ").map_or("", |(_, known)| known);
        let sentence = format!("`{quoted}` is not a field of {whom}; it takes {}.", list_of(known));
        (quoted, "unknown_field", sentence)
    } else if message.starts_with("missing field") {
        let sentence = format!("`{quoted}` is missing.");
        (quoted, "required", sentence)
    } else if message.starts_with("duplicate field") {
        let sentence = format!("`{quoted}` is given twice; give it once.");
        (quoted, "duplicate_field", sentence)
    } else {
        let expected =
            message.split_once("expected ").map_or("another value", |(_, expected)| expected);
        let sentence = format!("`{field}` has the wrong type; expected {}.", list_of(expected));
        (field, "invalid_type", sentence)
    };
    Invalid::new(field, code, sentence).into()
}

/// serde says "one of `a`, `b`" or "`a`" or "there are no fields".
fn list_of(expected: &str) -> String {
    match expected {
        "" => "no fields".to_owned(),
        other => other.to_owned(),
    }
}
