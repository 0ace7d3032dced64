//! Reads a tool's JSON input by the tool's own schema. Published schemas are strict; what clients send is often not: members
//! that the schema does not have are ignored, and a value in another form is taken where it can mean one thing alone. A
//! refusal names fields and kinds of values and never repeats a value.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::ToolError;
use crate::input::Invalid;

pub const NOT_AN_OBJECT: &str = "the input must be a JSON object, such as {}";

/// Of ignored members that a note names. Names come from the client: what is longer or has other characters is only counted.
const NAMES_MAX: usize = 5;
const NAME_CHARS_MAX: usize = 40;
/// Above this, a float cannot represent every integer.
const WHOLE_FLOAT_MAX: f64 = (1_i64 << f64::MANTISSA_DIGITS) as f64;

/// A tool's input in the form of its schema.
pub struct ReadInput {
    pub value: Value,
    /// What was ignored, in a sentence.
    pub note: Option<String>,
}

/// # Errors
/// [`ToolError::NotJson`]; [`Invalid`] naming the field.
pub fn read_input(schema: &Value, json: &[u8]) -> Result<ReadInput, ToolError> {
    let json = utf8(json)?.trim();
    // Some clients send the whole object as text.
    let unwrapped: Option<String> =
        json.starts_with('"').then(|| serde_json::from_str(json).ok()).flatten();
    let InputMembers(members) = match unwrapped.as_deref().unwrap_or(json).trim() {
        "" | "null" => InputMembers::default(),
        object if object.starts_with('{') => parse_json("this tool", "", object)?,
        _ => return Err(ToolError::NotJson(NOT_AN_OBJECT.to_owned())),
    };
    let mut given = Map::new();
    for (name, json) in members {
        let is_known = schema["properties"].get(&name).is_some();
        let value = match is_known {
            true => parse_json("this tool", &name, json.get())?,
            false => Value::Null,
        };
        if is_known && given.contains_key(&name) {
            return Err(given_twice(name).into());
        }
        given.insert(name, value);
    }
    let mut reader = InputReader::default();
    let value = reader.object(schema, "", given)?;
    Ok(ReadInput { value, note: reader.note() })
}

/// # Errors
/// [`Invalid`], where a text is none of those that the type knows: [`InputReader`] leaves that to the types, some of which have a
/// code for it.
pub(super) fn typed<T: DeserializeOwned>(schema: &Value, value: &Value) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = error.path().to_string();
        let of = field.split('[').next().map_or(schema, |name| &schema["properties"][name]);
        let of = if field.ends_with(']') { &of["items"] } else { of };
        refused(of, &field, &Value::from("")).into()
    })
}

/// The members of an object in their order, unparsed; a name may come twice.
#[derive(Default)]
struct InputMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for InputMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = InputMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<InputMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(InputMembers(members))
            }
        }

        deserializer.deserialize_map(Each)
    }
}

/// Brings values into the form that a schema has. Of JSON Schema it knows what the tools' schemas use.
#[derive(Default)]
struct InputReader {
    ignored: BTreeSet<String>,
}

fn takes(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    }
}

impl InputReader {
    fn object(
        &mut self,
        schema: &Value,
        at: &str,
        given: Map<String, Value>,
    ) -> Result<Value, Invalid> {
        let mut fitted = Map::new();
        for (name, value) in given {
            let place = below(at, &name);
            match schema["properties"].get(&name) {
                Some(of) => _ = fitted.insert(name, self.fit(of, &place, value)?),
                None => _ = self.ignored.insert(place),
            }
        }
        let mut required = schema["required"].as_array().into_iter().flatten();
        if let Some(name) =
            required.find_map(|name| name.as_str().filter(|n| !fitted.contains_key(*n)))
        {
            let field = below(at, name);
            let ignored = self.note().map(|note| format!(" {note}")).unwrap_or_default();
            let sentence = format!("`{field}` is missing.{ignored}");
            return Err(Invalid::new(field, "required", sentence));
        }
        Ok(Value::Object(fitted))
    }

    fn fit(&mut self, schema: &Value, at: &str, given: Value) -> Result<Value, Invalid> {
        let takes = |kind| takes(schema, kind);
        match given {
            Value::Null if takes("null") => Ok(given),
            Value::Bool(_) if takes("boolean") => Ok(given),
            Value::Object(members) if takes("object") => self.object(schema, at, members),
            Value::Array(items) if takes("array") => {
                let items = items.into_iter().enumerate();
                let fitted =
                    items.map(|(n, item)| self.fit(&schema["items"], &format!("{at}[{n}]"), item));
                fitted.collect()
            }
            Value::Number(ref n) if takes("integer") => {
                whole(n).map(Value::from).ok_or_else(|| refused(schema, at, &given))
            }
            Value::Number(_) if takes("number") => Ok(given),
            Value::Number(ref n) if takes("boolean") && matches!(n.as_u64(), Some(0 | 1)) => {
                Ok(Value::Bool(n.as_u64() == Some(1)))
            }
            // A fraction may have had more digits, or zeros at its end.
            Value::Number(ref n) if takes("string") && (n.is_i64() || n.is_u64()) => {
                self.fit(schema, at, Value::String(n.to_string()))
            }
            Value::String(text) => self.fit_text(schema, at, text),
            Value::Bool(_) | Value::Number(_) if takes("array") => {
                self.fit(schema, at, Value::Array(vec![given]))
            }
            other => Err(refused(schema, at, &other)),
        }
    }

    fn fit_text(&mut self, schema: &Value, at: &str, text: String) -> Result<Value, Invalid> {
        let takes = |kind| takes(schema, kind);
        let choices = schema["enum"].as_array();
        if takes("string") && choices.is_none() {
            return Ok(Value::String(text));
        }
        let trimmed = text.trim();
        if takes("null") && (trimmed.is_empty() || trimmed.eq_ignore_ascii_case("null")) {
            return Ok(Value::Null);
        }
        if let Some(choices) = choices {
            let plain = trimmed.to_lowercase().replace([' ', '-'], "_");
            let chosen = choices.iter().find(|choice| **choice == plain);
            return Ok(chosen.cloned().unwrap_or(Value::String(text)));
        }
        if takes("array") && !(trimmed.starts_with('[') && trimmed.ends_with(']')) {
            let parts = parts(&schema["items"], &text).map(Value::from).collect();
            return self.fit(schema, at, Value::Array(parts));
        }
        let json = match (takes("integer"), takes("boolean")) {
            // As recall writes an id.
            (true, _) => trimmed.trim_start_matches('#').to_owned(),
            (_, true) => trimmed.to_ascii_lowercase(),
            _ => trimmed.to_owned(),
        };
        let fits = |value: &Value| match value {
            Value::Array(_) => takes("array"),
            Value::Object(_) => takes("object"),
            Value::Bool(_) => takes("boolean"),
            Value::Number(_) => ["integer", "number", "boolean"].into_iter().any(takes),
            Value::Null | Value::String(_) => false,
        };
        match serde_json::from_str(&json).ok().filter(fits) {
            Some(value) => self.fit(schema, at, value),
            None => Err(refused(schema, at, &Value::String(text))),
        }
    }

    fn note(&self) -> Option<String> {
        let named = self.ignored.iter().filter(|name| is_printable(name)).take(NAMES_MAX);
        let named: Vec<&str> = named.map(String::as_str).collect();
        let told = match (named.join(", "), self.ignored.len() - named.len()) {
            (_, 0) if named.is_empty() => return None,
            (told, 0) => told,
            (_, more) if named.is_empty() => format!("{more} in all"),
            (told, more) => format!("{told} and {more} more"),
        };
        Some(format!("Ignored, since this tool has no such field: {told}."))
    }
}

fn below(at: &str, name: &str) -> String {
    match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    }
}

fn is_printable(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.-[]".contains(&b);
    !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.bytes().all(is_plain)
}

fn whole(n: &Number) -> Option<i64> {
    let float = n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() <= WHOLE_FLOAT_MAX);
    n.as_i64().or(float.map(|f| f as i64))
}

/// A list that was sent as one text. Commas part choices, numbers and short texts such as tags; a longer text may have its own.
fn parts<'t>(items: &Value, text: &'t str) -> impl Iterator<Item = &'t str> {
    let is_long = takes(items, "string") && items["enum"].is_null() && items["maxLength"].is_null();
    let mut parts: Vec<&str> = match is_long {
        true => vec![text],
        false => text.split(',').map(str::trim).collect(),
    };
    parts.retain(|part| !part.is_empty());
    parts.into_iter()
}

fn refused(schema: &Value, at: &str, given: &Value) -> Invalid {
    let came = match given {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) if takes(schema, "integer") => "a fraction, or too large a number,",
        Value::Number(_) => "a number",
        Value::String(_) if schema["enum"].is_array() => "another text",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let sentence = format!("`{at}` must be {}; {came} came.", wanted(schema));
    Invalid::new(at.to_owned(), "invalid_type", sentence)
}

/// In a model's words.
fn wanted(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        let choices = choices.iter().filter_map(Value::as_str).map(|choice| format!("`{choice}`"));
        return format!("one of {}", choices.collect::<Vec<_>>().join(", "));
    }
    let array = match &schema["items"] {
        items if items["enum"].is_array() => format!("an array of texts, each {}", wanted(items)),
        items if takes(items, "integer") => "an array of whole numbers".to_owned(),
        _ => "an array of texts".to_owned(),
    };
    let kinds = [
        ("string", "a text"),
        ("integer", "a whole number"),
        ("number", "a number"),
        ("boolean", "true or false"),
        ("array", &array),
        ("object", "an object"),
    ];
    let wanted = kinds.into_iter().filter(|(kind, _)| takes(schema, kind)).map(|(_, words)| words);
    wanted.collect::<Vec<_>>().join(" or ")
}

/// Parses what is sent to another recipient than a tool, `whom` in the error messages.
pub fn parse_for<T: DeserializeOwned>(whom: &str, json: &[u8]) -> Result<T, ToolError> {
    // serde would also read a struct from an array.
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(ToolError::NotJson(NOT_AN_OBJECT.to_owned()));
    }
    parse_json(whom, "", utf8(json)?)
}

fn utf8(json: &[u8]) -> Result<&str, ToolError> {
    str::from_utf8(json).map_err(|_| ToolError::NotJson("the input is not valid UTF-8".to_owned()))
}

/// `at` is the field whose value this is.
fn parse_json<'de, T: Deserialize<'de>>(
    whom: &str,
    at: &str,
    json: &'de str,
) -> Result<T, ToolError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let parsed: T = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = match path.as_str() {
            "." => at.to_owned(),
            path if !is_printable(path) => at.to_owned(),
            path if path.starts_with('[') => format!("{at}{path}"),
            path => below(at, path),
        };
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

fn given_twice(field: String) -> Invalid {
    let sentence = format!("`{field}` is given twice; give it once.");
    Invalid::new(field, "duplicate_field", sentence)
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
        return given_twice(quoted).into();
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
