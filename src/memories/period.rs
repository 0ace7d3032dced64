//! When a memory's content is true in the world, independent of when it was recorded. Dates are given as a year, a month,
//! a day or a point in time (UTC).

use std::fmt;

use time::format_description::well_known::Rfc3339;
use time::{Date, Duration, Month, OffsetDateTime, Time};

use crate::input::Invalid;

/// Of a date, in UTC.
pub const YEARS: std::ops::RangeInclusive<i32> = 1..=9998;

/// Field names of a memory's period.
const VALID: [&str; 2] = ["valid_from", "valid_until"];

/// Either end may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    pub from: Option<OffsetDateTime>,
    /// Exclusive.
    pub until: Option<OffsetDateTime>,
}

impl Period {
    /// `("2019", "2026-05")`: from the start of 2019 to the end of May 2026. Blank is open.
    ///
    /// # Errors
    /// [`Invalid`] naming `valid_from` or `valid_until`.
    pub fn parse(from: Option<&str>, until: Option<&str>) -> Result<Self, Invalid> {
        Self::parse_as(VALID, from, until)
    }

    /// [`Self::parse`] with other field names, for errors.
    ///
    /// # Errors
    /// [`Invalid`] naming one of the given fields.
    pub fn parse_as(
        [from_field, until_field]: [&'static str; 2],
        from: Option<&str>,
        until: Option<&str>,
    ) -> Result<Self, Invalid> {
        let from = parse_given(from_field, from)?.map(|(begins, _)| begins);
        let until = parse_given(until_field, until)?.map(|(_, ends)| ends);
        Self::ordered([from_field, until_field], from, until)
    }

    /// For a model's output: an invalid date, or an end before the start, is ignored.
    pub fn read(from: Option<String>, until: Option<String>) -> Self {
        let of = |from, until| Self::parse(from, until).unwrap_or_default();
        let (from, until) = (of(from.as_deref(), None), of(None, until.as_deref()));
        Self::new(from.from, until.until).unwrap_or_default()
    }

    /// `self`, or `other` if `self` is open at both ends.
    pub fn or(self, other: Self) -> Self {
        match self == Self::default() {
            true => other,
            false => self,
        }
    }

    pub fn new(
        from: Option<OffsetDateTime>,
        until: Option<OffsetDateTime>,
    ) -> Result<Self, Invalid> {
        Self::ordered(VALID, from, until)
    }

    fn ordered(
        [from_field, until_field]: [&'static str; 2],
        from: Option<OffsetDateTime>,
        until: Option<OffsetDateTime>,
    ) -> Result<Self, Invalid> {
        if from.zip(until).is_some_and(|(from, until)| until <= from) {
            return Err(Invalid::new(
                until_field,
                "invalid_period",
                format!(
                    "`{until_field}` is before `{from_field}`; give the later date as `{until_field}`."
                ),
            ));
        }
        Ok(Self { from, until })
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// Start and exclusive end of the date; both are equal for a point in time. `None` if blank.
///
/// # Errors
/// [`Invalid`] naming the field.
pub(super) fn parse_given(
    field: &'static str,
    text: Option<&str>,
) -> Result<Option<(OffsetDateTime, OffsetDateTime)>, Invalid> {
    given(text).map(|text| parse(field, text)).transpose()
}

/// Start and exclusive end of the date.
fn parse(field: &'static str, text: &str) -> Result<(OffsetDateTime, OffsetDateTime), Invalid> {
    let out_of_range = || {
        let (least, most) = (YEARS.start(), YEARS.end());
        Invalid::new(
            field,
            "out_of_range",
            format!("`{field}` is out of range; years {least} to {most} are accepted."),
        )
    };
    // Checked first, so that a year out of range is reported as that and not as an invalid date.
    let year = text.get(..4).and_then(|year| year.parse().ok());
    if year.is_some_and(|year: i32| !YEARS.contains(&year)) {
        return Err(out_of_range());
    }
    let (begins, ends) = moments(text).ok_or_else(|| {
        Invalid::new(
            field,
            "invalid_date",
            format!(
                "`{field}` is no date; give 2019, 2019-05, 2019-05-17 or 2019-05-17T15:04:05Z."
            ),
        )
    })?;
    // In UTC, at the edge, the year may be another.
    if !YEARS.contains(&begins.year()) {
        return Err(out_of_range());
    }
    Ok((begins, ends))
}

fn moments(text: &str) -> Option<(OffsetDateTime, OffsetDateTime)> {
    if text.contains(['T', 't', ' ']) {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        // PostgreSQL stores microseconds.
        let at = at.replace_microsecond(at.microsecond()).ok()?;
        let at = at.checked_to_offset(time::UtcOffset::UTC)?;
        return Some((at, at));
    }
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next(), parts.next());
    let is_number =
        |part: &str, digits| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
    let is_well_formed = is_number(year, 4)
        && month.is_none_or(|month| is_number(month, 2))
        && day.is_none_or(|day| is_number(day, 2))
        && parts.next().is_none();
    if !is_well_formed {
        return None;
    }
    let year: i32 = year.parse().ok()?;
    let month_number: u8 = month.unwrap_or("01").parse().ok()?;
    let month_given = Month::try_from(month_number).ok()?;
    let first =
        Date::from_calendar_date(year, month_given, day.unwrap_or("01").parse().ok()?).ok()?;
    let after = match (month, day) {
        (_, Some(_)) => first.next_day()?,
        (Some(_), None) => {
            first.replace_day(1).ok()? + Duration::days(i64::from(month_given.length(year)))
        }
        (None, None) => Date::from_calendar_date(year + 1, Month::January, 1).ok()?,
    };
    let midnight = |date: Date| OffsetDateTime::new_utc(date, Time::MIDNIGHT);
    Some((midnight(first), midnight(after)))
}

/// "since 2019", "until May 2026", "2015 to 2019".
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_day = |at: OffsetDateTime| at.day() != 1 || at.time() != Time::MIDNIGHT;
        let is_exact = self.from.into_iter().chain(self.until).any(is_day);
        let from = self.from.map(|at| begin(at, is_exact));
        let until = self.until.map(|at| end(at, is_exact));
        match (from, until) {
            (None, None) => Ok(()),
            (Some(from), None) => write!(f, "since {from}"),
            (None, Some(until)) => write!(f, "until {until}"),
            (Some(from), Some(until)) if from == until => write!(f, "{from}"),
            (Some(from), Some(until)) => write!(f, "{from} to {until}"),
        }
    }
}

/// The shortest form: a year, or a month and year, unless a date of the period needs a day.
fn begin(at: OffsetDateTime, is_exact: bool) -> String {
    match (at.time() == Time::MIDNIGHT, is_exact, at.month()) {
        (false, ..) => moment(at),
        (true, true, _) => day(at.date()),
        (true, false, Month::January) => at.year().to_string(),
        (true, false, month) => format!("{month} {}", at.year()),
    }
}

/// Like [`begin`], for an exclusive end.
fn end(at: OffsetDateTime, is_exact: bool) -> String {
    let last = at.date().previous_day().unwrap_or(at.date());
    match (at.time() == Time::MIDNIGHT, is_exact, at.month()) {
        (false, ..) => moment(at),
        (true, true, _) => day(last),
        (true, false, Month::January) => last.year().to_string(),
        (true, false, _) => format!("{} {}", last.month(), last.year()),
    }
}

fn day(date: Date) -> String {
    format!("{} {} {}", date.day(), date.month(), date.year())
}

fn moment(at: OffsetDateTime) -> String {
    let time = at.time();
    format!("{} {:02}:{:02} UTC", day(at.date()), time.hour(), time.minute())
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_year_a_month_a_day_and_a_moment_are_read_and_told() {
        for (from, until, period, told) in [
            ("2019", "", (Some(datetime!(2019-01-01 00:00 UTC)), None), "since 2019"),
            ("", "2026-05", (None, Some(datetime!(2026-06-01 00:00 UTC))), "until May 2026"),
            (
                "2024-02",
                "2024-02",
                (Some(datetime!(2024-02-01 00:00 UTC)), Some(datetime!(2024-03-01 00:00 UTC))),
                "February 2024",
            ),
            (
                "2015",
                "2019",
                (Some(datetime!(2015-01-01 00:00 UTC)), Some(datetime!(2020-01-01 00:00 UTC))),
                "2015 to 2019",
            ),
            (
                "2026-05-17",
                "2026-05-31",
                (Some(datetime!(2026-05-17 00:00 UTC)), Some(datetime!(2026-06-01 00:00 UTC))),
                "17 May 2026 to 31 May 2026",
            ),
            (" 2026-12-31 ", "2026-12-30T24:00:00Z", (None, None), ""),
            (
                "2026-05-17T15:04:05.1234567+02:00",
                "",
                (Some(datetime!(2026-05-17 13:04:05.123456 UTC)), None),
                "since 17 May 2026 13:04 UTC",
            ),
            ("", "", (None, None), ""),
        ] {
            let read = Period::parse(Some(from), Some(until));
            if period == (None, None) && !from.is_empty() {
                assert!(read.is_err(), "{from} {until}");
                continue;
            }
            let read = read.expect("valid");
            assert_eq!((read.from, read.until), period, "{from} {until}");
            assert_eq!(read.to_string(), told);
        }
        assert_eq!(Period::parse(None, None), Ok(Period::default()));
    }

    #[test]
    fn what_is_no_date_is_told_by_its_field() {
        for bad in [
            "yesterday",
            "19",
            "2019-5",
            "2019-13",
            "2019-02-30",
            "2019-01-01-01",
            "+2019",
            "2019-",
            "２０１９",
            "2019-05-17T25:00:00Z",
            "2019-05-17T15:04:05",
            "\u{0}",
        ] {
            let refused = Period::parse(Some(bad), None).expect_err(bad);
            assert_eq!(
                (refused.field.as_ref(), refused.code),
                ("valid_from", "invalid_date"),
                "{bad}"
            );
            assert_eq!(Period::parse(None, Some(bad)).expect_err(bad).field, "valid_until");
        }
        for out in ["0000", "9999-12-31"] {
            let refused = Period::parse(None, Some(out)).expect_err(out);
            assert_eq!(
                (refused.field.as_ref(), refused.code),
                ("valid_until", "out_of_range"),
                "{out}"
            );
        }
        for (from, until) in [
            ("2019", "2018"),
            ("2019-05-17T15:04:05Z", "2019-05-17T15:04:05Z"),
            ("2019-05-17T15:04:05Z", "2019-05-17T17:04:04+02:00"),
        ] {
            let refused = Period::parse(Some(from), Some(until)).expect_err(until);
            assert_eq!(
                (refused.field.as_ref(), refused.code),
                ("valid_until", "invalid_period"),
                "{until}"
            );
        }
    }
}
