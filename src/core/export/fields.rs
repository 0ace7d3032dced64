//! Checks of fields that several kinds of records have.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use time::OffsetDateTime;

use crate::accounts::AgentName;
use crate::input::Invalid;
use crate::memories::Trust;

const ATTRIBUTES_BYTES_MAX: usize = 64 * 1024;
/// As they stand in a line, with white space and escapes. Parsed, they take up to 32 times their length.
const ATTRIBUTES_WRITTEN_MAX: usize = 8 * ATTRIBUTES_BYTES_MAX;
/// Years that a date may have.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=9999;

pub fn agent_name(name: Option<&str>) -> Result<Option<AgentName>, Invalid> {
    name.map(AgentName::parse).transpose()
}

pub fn trust(text: &str) -> Result<Trust, Invalid> {
    Trust::from_label(text).ok_or_else(|| {
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

/// The first entries of a list that may have `MAX`, and one more if it has more. The others are skipped as they are read.
pub fn first_of<'de, D, T, const MAX: usize>(json: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    json.deserialize_seq(FirstOf::<T, MAX>(PhantomData))
}

struct FirstOf<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for FirstOf<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut first = Vec::new();
        while first.len() <= MAX {
            let Some(entry) = list.next_element()? else {
                return Ok(first);
            };
            first.push(entry);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first)
    }
}

/// Attributes that are far too long are not parsed: what comes instead is no object, which [`attributes`] refuses as well.
pub fn parse_attributes<'de, D: Deserializer<'de>>(json: D) -> Result<Value, D::Error> {
    let written = Box::<RawValue>::deserialize(json)?;
    match written.get().len() <= ATTRIBUTES_WRITTEN_MAX {
        true => serde_json::from_str(written.get()).map_err(D::Error::custom),
        false => Ok(Value::Bool(false)),
    }
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
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        _ => false,
    }
}
