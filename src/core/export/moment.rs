//! Dates in the lines of a file: RFC 3339, of the years that PostgreSQL and our answers can write, in whole microseconds.

use serde::de::Error;
use serde::{Deserializer, Serializer};
use time::serde::rfc3339;
use time::{OffsetDateTime, UtcOffset};

use super::fields::whole_microseconds;
use crate::memories::period::YEARS;

/// What the error of such a date begins with.
pub const OUT_OF_RANGE: &str = "a year that is out of range";

pub fn serialize<S: Serializer>(at: &OffsetDateTime, serializer: S) -> Result<S::Ok, S::Error> {
    rfc3339::serialize(at, serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(json: D) -> Result<OffsetDateTime, D::Error> {
    checked(rfc3339::deserialize(json)?)
}

fn checked<E: Error>(at: OffsetDateTime) -> Result<OffsetDateTime, E> {
    let at = at.checked_to_offset(UtcOffset::UTC).map(whole_microseconds);
    at.filter(|at| YEARS.contains(&at.year())).ok_or_else(|| E::custom(OUT_OF_RANGE))
}

/// The same where there may be none.
pub mod option {
    use super::*;

    pub fn serialize<S: Serializer>(
        at: &Option<OffsetDateTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        rfc3339::option::serialize(at, serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        json: D,
    ) -> Result<Option<OffsetDateTime>, D::Error> {
        rfc3339::option::deserialize(json)?.map(checked).transpose()
    }
}
