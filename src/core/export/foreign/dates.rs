//! Dates as other programs write them. One that can be read in two ways is not read: it must never become another day.

use jiff::civil::DateTime;
use jiff::{Timestamp, fmt::rfc2822};
use time::OffsetDateTime;

use crate::export::fields::date;
use crate::languages::characters::digit;

/// Nobody writes a date in more.
const DATE_CHARS_MAX: usize = 64;
/// Numbers below are no times in seconds: years, days, counters.
const SECONDS_MIN: f64 = 1e8;
/// Beyond the year 5000.
const NANOSECONDS_MAX: f64 = 1e20;

/// RFC 3339, with or without a time or an offset (then UTC); RFC 2822; seconds, milliseconds, microseconds or nanoseconds
/// since 1970; `2025/02/13`, `13.02.2025`, `2025年2月13日`, in the digits of any script.
pub fn read_date(text: &str) -> Option<OffsetDateTime> {
    let text: String = text.trim().chars().map(|c| digit(c).unwrap_or(c)).collect();
    if text.chars().count() > DATE_CHARS_MAX {
        return None;
    }
    let found = of_number(&text)
        .or_else(|| of_standard(&text))
        .or_else(|| rfc2822::parse(&text).ok().map(|at| at.timestamp().as_nanosecond()))
        .or_else(|| of_numbers(&text))?;
    let at = OffsetDateTime::from_unix_timestamp_nanos(found).ok()?;
    date("date", at).ok()
}

/// In nanoseconds since 1970.
fn of_number(text: &str) -> Option<i128> {
    let is_day = text.len() == 8 && !text.contains('.');
    let number: f64 = text.parse().ok().filter(|n: &f64| n.is_finite())?;
    if is_day || !(SECONDS_MIN..NANOSECONDS_MAX).contains(&number.abs()) {
        return None;
    }
    let per_second = match number.abs() {
        n if n < 1e11 => 1e6,
        n if n < 1e14 => 1e3,
        n if n < 1e17 => 1.0,
        _ => 1e-3,
    };
    // A float holds microseconds of this century.
    Some((number * per_second).round() as i128 * 1_000)
}

fn of_standard(text: &str) -> Option<i128> {
    let upper = text.to_ascii_uppercase();
    let without_zone = upper.strip_suffix(" UTC").or_else(|| upper.strip_suffix(" GMT"));
    let with_zone = match without_zone {
        Some(text) => format!("{text}Z"),
        None => upper.clone(),
    };
    let at = with_zone.parse::<Timestamp>();
    let at = at.or_else(|_| {
        let local = upper.parse::<DateTime>()?;
        Ok::<_, jiff::Error>(local.to_zoned(jiff::tz::TimeZone::UTC)?.timestamp())
    });
    at.ok().map(|at| at.as_nanosecond())
}

/// Of numbers between other characters: year, month and day, or day, month and year, with a time after them.
fn of_numbers(text: &str) -> Option<i128> {
    let numbers: Vec<&str> =
        text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    let of = |at: usize| numbers.get(at).and_then(|n| n.parse::<i16>().ok());
    let (a, b, c) = (of(0)?, of(1)?, of(2)?);
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    let (year, month, day) = match (numbers[0].len(), numbers[2].len()) {
        (4, 1 | 2) => (a, b, c),
        (1 | 2, 4) if separator == '.' || a > 12 => (c, b, a),
        (1 | 2, 4) if b > 12 => (c, a, b),
        _ => return None,
    };
    let is_wordless = text.chars().all(|c| !c.is_alphabetic() || "年月日時时分秒T".contains(c));
    let time = |at| of(at).filter(|_| is_wordless && numbers.len() <= 6).unwrap_or(0);
    let small = |n: i16| i8::try_from(n).ok();
    let at = DateTime::new(
        year,
        small(month)?,
        small(day)?,
        small(time(3))?,
        small(time(4))?,
        small(time(5))?,
        0,
    );
    let at = at.ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(at.timestamp().as_nanosecond())
}

#[cfg(test)]
mod tests {
    use time::format_description::well_known::Rfc3339;

    use super::*;

    #[test]
    fn dates_are_read_as_programs_and_people_of_many_countries_write_them() {
        for (text, expected) in [
            ("2025-02-13T01:12:04.123456-08:00", "2025-02-13T09:12:04.123456Z"),
            ("2025-02-13T01:12:04Z", "2025-02-13T01:12:04Z"),
            ("2025-02-13 01:12:04.5+00:00", "2025-02-13T01:12:04.5Z"),
            ("2025-02-13T01:12:04", "2025-02-13T01:12:04Z"),
            ("2025-02-13 01:12:04 UTC", "2025-02-13T01:12:04Z"),
            ("2025-02-13", "2025-02-13T00:00:00Z"),
            ("20250213", "2025-02-13T00:00:00Z"),
            ("Thu, 13 Feb 2025 01:12:04 GMT", "2025-02-13T01:12:04Z"),
            ("1715000000.25", "2024-05-06T12:53:20.25Z"),
            ("1715000000", "2024-05-06T12:53:20Z"),
            ("1715000000250", "2024-05-06T12:53:20.25Z"),
            ("1715000000250000", "2024-05-06T12:53:20.25Z"),
            ("2025/02/13", "2025-02-13T00:00:00Z"),
            ("13.02.2025", "2025-02-13T00:00:00Z"),
            ("13.02.2025, 14:05", "2025-02-13T14:05:00Z"),
            ("5.2.2025", "2025-02-05T00:00:00Z"),
            ("02/13/2025", "2025-02-13T00:00:00Z"),
            ("13/02/2025 09:30", "2025-02-13T09:30:00Z"),
            ("2025年2月13日", "2025-02-13T00:00:00Z"),
            ("٢٠٢٥-٠٢-١٣", "2025-02-13T00:00:00Z"),
        ] {
            let read = read_date(text).map(|at| at.format(&Rfc3339).expect("written"));
            assert_eq!(read.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_or_may_be_two_is_none() {
        for text in [
            "",
            "yesterdayish",
            "2025",
            "17",
            "02/03/2025",
            "13.13.2025",
            "30.02.2025",
            "0001-01-01T00:00:00Z",
            "1e300",
            "NaN",
            "2025-13-02T10:00:00Z",
            "1.2.3",
        ] {
            assert_eq!(read_date(text), None, "{text}");
        }
        assert_eq!(read_date(&"9".repeat(1_000)), None);
    }
}
