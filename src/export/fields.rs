//! Checks of fields that several kinds of records have.

use serde_json::Value;
use time::OffsetDateTime;

use crate::accounts::AgentName;
use crate::input::Invalid;
use crate::memories::Trust;

const ATTRIBUTES_BYTES_MAX: usize = 64 * 1024;
/// Years that a date may have.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=9999;

pub fn agent_name(name: Option<&str>) -> Result<Option<AgentName>, Invalid> {
    name.map(AgentName::parse).transpose()
}

pub fn trust(text: &str) -> Result<Trust, Invalid> {
    Trust::parse(text).ok_or_else(|| {
        let sentence = "`trust` is user, agent, tool or external.";
        Invalid::new("trust", "invalid", sentence)
    })
}

/// As PostgreSQL stores them, so that a second import compares equal.
pub fn whole_microseconds(at: OffsetDateTime) -> OffsetDateTime {
    at.replace_microsecond(at.microsecond()).unwrap_or(at)
}

/// A valid date, in whole microseconds.
pub fn date(field: &'static str, at: OffsetDateTime) -> Result<OffsetDateTime, Invalid> {
    let at = at.checked_to_offset(time::UtcOffset::UTC);
    if let Some(at) = at.filter(|at| YEARS.contains(&at.year())) {
        return Ok(whole_microseconds(at));
    }
    Err(Invalid::new(
        field,
        "out_of_range",
        format!(
            "`{field}` is out of range; years {} to {} are accepted.",
            YEARS.start(),
            YEARS.end()
        ),
    ))
}

/// A JSON object that PostgreSQL can store.
pub fn attributes(value: Value) -> Result<Value, Invalid> {
    let value = match value {
        Value::Null => Value::Object(serde_json::Map::new()),
        value => value,
    };
    let text = value.to_string();
    let is_kept = value.is_object() && text.len() <= ATTRIBUTES_BYTES_MAX && !has_nul(&value);
    if is_kept {
        return Ok(value);
    }
    Err(Invalid::new(
        "attributes",
        "invalid_attributes",
        format!(
            "`attributes` must be an object of at most {ATTRIBUTES_BYTES_MAX} bytes, without the character U+0000."
        ),
    ))
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}
