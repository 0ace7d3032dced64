//! Times as programs write them. One that cannot be read is left out.

use serde_json::Value;
use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::macros::format_description;
use time::{Date, OffsetDateTime, PrimitiveDateTime, UtcOffset};

/// Years that a message's date may have.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=9999;

pub(super) fn moment(value: &Value) -> Option<OffsetDateTime> {
    let at = match value {
        Value::Number(number) => of_unix(number.as_f64()?),
        Value::String(text) => of_text(text.trim()),
        // MongoDB's {"$date": …}, Firestore's {"seconds": …}.
        Value::Object(object) => ["$date", "seconds", "_seconds", "$numberLong"]
            .iter()
            .find_map(|name| moment(object.get(*name)?)),
        _ => None,
    };
    let at = at?.checked_to_offset(UtcOffset::UTC)?;
    YEARS.contains(&at.year()).then_some(at)
}

/// Of seconds, or of so many thousandths that it would be far in the future otherwise.
fn of_unix(number: f64) -> Option<OffsetDateTime> {
    const FAR: f64 = 1e11;
    // Seconds, or thousandths, millionths, billionths.
    let units = [1.0, 1e3, 1e6, 1e9].into_iter();
    let seconds = units.map(|unit| number / unit).find(|seconds| seconds.abs() < FAR)?;
    let micros = (seconds * 1e6).round();
    micros
        .is_finite()
        .then(|| OffsetDateTime::from_unix_timestamp_nanos(micros as i128 * 1_000).ok())?
}

/// Without a zone, in UTC.
fn of_text(text: &str) -> Option<OffsetDateTime> {
    if let Ok(number) = text.parse::<f64>() {
        return of_unix(number);
    }
    let zoned = text.replacen(' ', "T", usize::from(text.as_bytes().get(10) == Some(&b' ')));
    let zoned = zoned.trim_end_matches(" UTC").trim_end_matches(" GMT");
    let zoned = match zoned.rfind(['+', '-']).map(|at| (at, zoned.len() - at)) {
        // +0200
        Some((at, 5)) if at > 10 => format!("{}:{}", &zoned[..at + 3], &zoned[at + 3..]),
        _ => zoned.replace(" +", "+"),
    };
    let zoned = zoned.as_str();
    let in_utc = |at: PrimitiveDateTime| at.assume_utc();
    let of_date = |text: &str| Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    let with_zone = OffsetDateTime::parse(zoned, &Rfc3339)
        .or_else(|_| OffsetDateTime::parse(&format!("{zoned}:00"), &Rfc3339))
        .or_else(|_| OffsetDateTime::parse(text, &Rfc2822));
    let whole = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    let short = format_description!("[year]-[month]-[day]T[hour]:[minute]");
    with_zone
        .or_else(|_| OffsetDateTime::parse(&format!("{zoned}Z"), &Rfc3339))
        .ok()
        .or_else(|| PrimitiveDateTime::parse(zoned, whole).ok().map(in_utc))
        .or_else(|| PrimitiveDateTime::parse(zoned, short).ok().map(in_utc))
        .or_else(|| of_date(text).map(|date| date.midnight().assume_utc()))
}
