//! When a memory's content is true in the world, independent of when it was recorded; and dates as people write them: a
//! year, a month, a day or a moment. Without an offset they are in the user's time zone.

use time::{Date, Duration, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

use crate::clock::Zone;
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

/// Where a moment lies from a period's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodPhase {
    /// It ended before.
    Over,
    Holds,
    /// It begins later.
    Ahead,
}

impl Period {
    pub fn phase(self, at: OffsetDateTime) -> PeriodPhase {
        match (self.from, self.until) {
            (_, Some(until)) if until <= at => PeriodPhase::Over,
            (Some(from), _) if from > at => PeriodPhase::Ahead,
            _ => PeriodPhase::Holds,
        }
    }

    pub fn holds(self, at: OffsetDateTime) -> bool {
        self.phase(at) == PeriodPhase::Holds
    }

    /// Whether there is a moment of both.
    pub fn overlaps(self, other: Self) -> bool {
        let begins_in =
            |a: Self, b: Self| a.from.zip(b.until).is_none_or(|(from, until)| from < until);
        begins_in(self, other) && begins_in(other, self)
    }

    /// Whether one of two values with these periods gives way: both are over, or hold, or are ahead, and there is a moment of
    /// both. As `periods_meet` in SQL.
    pub fn meets(self, other: Self, now: OffsetDateTime) -> bool {
        self.phase(now) == other.phase(now) && self.overlaps(other)
    }

    /// Whether the same statement with another period tells of the same time, so that it adds only an end or a beginning:
    /// "works at Acme", "works at Acme since 2019", "worked at Acme until May". Without dates it holds from when it was said.
    pub fn is_continued_by(
        self,
        said_at: OffsetDateTime,
        other: Self,
        now: OffsetDateTime,
    ) -> bool {
        match (other.from, other.until) {
            (Some(_), Some(_)) => {
                let from = self.from.or(self.until.is_none().then_some(said_at));
                let is_ahead = |period: Self| period.phase(now) == PeriodPhase::Ahead;
                is_ahead(self) == is_ahead(other) && Self { from, ..self }.overlaps(other)
            }
            (None, Some(until)) if until <= now => self.holds(now) || self.overlaps(other),
            _ => self.phase(now) == other.phase(now),
        }
    }

    /// With the dates that the other has.
    pub fn with(self, other: Self) -> Self {
        let (from, until) = (other.from.or(self.from), other.until.or(self.until));
        Self::new(from, until).unwrap_or(other)
    }

    /// `("2019", "2026-05")`: from the start of 2019 to the end of May 2026. Blank is open.
    ///
    /// # Errors
    /// [`Invalid`] naming `valid_from` or `valid_until`.
    pub fn parse(zone: &Zone, from: Option<&str>, until: Option<&str>) -> Result<Self, Invalid> {
        Self::parse_as(VALID, zone, from, until)
    }

    /// [`Self::parse`] with other field names, for errors.
    ///
    /// # Errors
    /// [`Invalid`] naming one of the given fields.
    pub fn parse_as(
        [from_field, until_field]: [&'static str; 2],
        zone: &Zone,
        from: Option<&str>,
        until: Option<&str>,
    ) -> Result<Self, Invalid> {
        let from = parse_given(from_field, zone, from)?.map(|(begins, _)| begins);
        let until = parse_given(until_field, zone, until)?.map(|(_, ends)| ends);
        Self::ordered([from_field, until_field], from, until)
    }

    /// For a model's output, in UTC: an invalid date, or an end before the start, is ignored.
    pub fn read(from: Option<String>, until: Option<String>) -> Self {
        let of = |from, until| Self::parse(&Zone::utc(), from, until).unwrap_or_default();
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
    zone: &Zone,
    text: Option<&str>,
) -> Result<Option<(OffsetDateTime, OffsetDateTime)>, Invalid> {
    given(text).map(|text| parse(field, zone, text)).transpose()
}

/// Start and exclusive end of the date.
fn parse(
    field: &'static str,
    zone: &Zone,
    text: &str,
) -> Result<(OffsetDateTime, OffsetDateTime), Invalid> {
    let out_of_range = || {
        let (least, most) = (YEARS.start(), YEARS.end());
        Invalid::new(
            field,
            "out_of_range",
            format!("`{field}` is out of range; years {least} to {most} are accepted."),
        )
    };
    let no_date = |what| {
        Invalid::new(
            field,
            "invalid_date",
            format!(
                "`{field}` {what}; give a year, a month, a day or a moment: 2019, 2019-05, 2019-05-17 or 2019-05-17T15:04:05Z."
            ),
        )
    };
    let written = WrittenDate::cut(text).ok_or_else(|| no_date("is no date"))?;
    if !YEARS.contains(&written.year) {
        return Err(out_of_range());
    }
    let moments = written.moments(zone);
    let (begins, ends) =
        moments.ok_or_else(|| no_date("names a day or time that does not exist"))?;
    // In UTC, at the edge, the year may be another.
    if !YEARS.contains(&begins.year()) {
        return Err(out_of_range());
    }
    Ok((begins, ends))
}

/// 2019, 2019-5, 2019/05/17, 2019-05-17 15:04, 2019-05-17T15:04:05.123+02:00.
struct WrittenDate<'a> {
    year: i32,
    month: Option<u8>,
    day: Option<u8>,
    /// Hours, minutes, seconds and nanoseconds, and the offset behind them.
    clock: Option<([u32; 4], &'a str)>,
}

impl<'a> WrittenDate<'a> {
    fn cut(text: &'a str) -> Option<Self> {
        let (date, clock) = match text.split_once(['T', 't', ' ']) {
            Some((date, clock)) => (date, Some(clock_of(clock.trim())?)),
            None => (text, None),
        };
        let sign = if date.contains('/') { '/' } else { '-' };
        let mut parts = date.split(sign);
        let year = parts.next().filter(|year| year.len() == 4)?;
        let number = |part: &str| digits(part, 2).and_then(|number| u8::try_from(number).ok());
        let month = parts.next().map(|part| number(part).ok_or(())).transpose().ok()?;
        let day = parts.next().map(|part| number(part).ok_or(())).transpose().ok()?;
        let is_whole = parts.next().is_none() && (clock.is_none() || day.is_some());
        let year = i32::try_from(digits(year, 4)?).ok()?;
        is_whole.then_some(Self { year, month, day, clock })
    }

    fn moments(&self, zone: &Zone) -> Option<(OffsetDateTime, OffsetDateTime)> {
        let month = Month::try_from(self.month.unwrap_or(1)).ok()?;
        let first = Date::from_calendar_date(self.year, month, self.day.unwrap_or(1)).ok()?;
        if let Some(([hour, minute, second, nanos], offset)) = self.clock {
            let byte = |number| u8::try_from(number).ok();
            // PostgreSQL stores microseconds.
            let time =
                Time::from_hms_micro(byte(hour)?, byte(minute)?, byte(second)?, nanos / 1_000);
            let local = PrimitiveDateTime::new(first, time.ok()?);
            let at = match offset {
                "" => zone.moment(local),
                offset => local.assume_offset(offset_of(offset)?),
            };
            let at = at.checked_to_offset(UtcOffset::UTC)?;
            return Some((at, at));
        }
        let after = match (self.month, self.day) {
            (_, Some(_)) => first.next_day()?,
            (Some(_), None) => first + Duration::days(i64::from(month.length(self.year))),
            (None, None) => Date::from_calendar_date(self.year + 1, Month::January, 1).ok()?,
        };
        Some((zone.midnight(first), zone.midnight(after)))
    }
}

/// A number of 1 to `most` digits.
fn digits(text: &str, most: usize) -> Option<u32> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// "15:04", "15:04:05", "15:04:05.123", and the offset, if there is one.
fn clock_of(text: &str) -> Option<([u32; 4], &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.')));
    let (clock, offset) = text.split_at(end.unwrap_or(text.len()));
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(c, f)| (c, Some(f)));
    let mut parts = clock.split(':');
    let mut next = || parts.next().map(|part| digits(part, 2).ok_or(())).transpose().ok();
    let (hour, minute, second) = (next()??, next()??, next()?);
    let nanos = match fraction {
        Some(fraction) if second.is_some() => digits(&format!("{fraction:0<9.9}"), 9)?,
        Some(_) => return None,
        None => 0,
    };
    let is_whole = parts.next().is_none() && fraction != Some("");
    is_whole.then_some(([hour, minute, second.unwrap_or(0), nanos], offset.trim()))
}

/// "Z", "+02:00", "-0330", "+2".
fn offset_of(text: &str) -> Option<UtcOffset> {
    if text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
        return Some(UtcOffset::UTC);
    }
    let factor = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let number = |part: &str| digits(part, 2).and_then(|number| i8::try_from(number).ok());
    let (hours, minutes) = match text[1..].split_once(':') {
        Some((hours, minutes)) => (number(hours)?, number(minutes)?),
        None => match text[1..].split_at_checked(2) {
            Some((hours, minutes)) if !minutes.is_empty() => (number(hours)?, number(minutes)?),
            _ => (number(&text[1..])?, 0),
        },
    };
    UtcOffset::from_hms(factor * hours, factor * minutes, 0).ok()
}

impl Period {
    /// A text with its period: "Works at Acme (since 2019)".
    pub fn beside(self, text: String, zone: &Zone) -> String {
        match self.told(zone).as_str() {
            "" => text,
            period => format!("{text} ({period})"),
        }
    }

    /// "since 2019", "until May 2026", "2015 to 2019". A midnight of the zone is a day; so is one of UTC, as models and other
    /// files give it.
    pub fn told(self, zone: &Zone) -> String {
        let day_of = |at: OffsetDateTime| match zone.local(at) {
            local if local.time() == Time::MIDNIGHT => local,
            _ if at.to_offset(UtcOffset::UTC).time() == Time::MIDNIGHT => {
                at.to_offset(UtcOffset::UTC)
            }
            local => local,
        };
        let (from, until) = (self.from.map(day_of), self.until.map(day_of));
        let is_day = |at: OffsetDateTime| at.day() != 1 || at.time() != Time::MIDNIGHT;
        let is_exact = from.into_iter().chain(until).any(is_day);
        let moment = |at| moment(at, zone);
        let from = from.map(|at| begin(at, is_exact).unwrap_or_else(|| moment(at)));
        let until = until.map(|at| end(at, is_exact).unwrap_or_else(|| moment(at)));
        match (from, until) {
            (None, None) => String::new(),
            (Some(from), None) => format!("since {from}"),
            (None, Some(until)) => format!("until {until}"),
            (Some(from), Some(until)) if from == until => from,
            (Some(from), Some(until)) => format!("{from} to {until}"),
        }
    }
}

/// The shortest form: a year, or a month and year, unless a date of the period needs a day. `None` for a time of day.
fn begin(at: OffsetDateTime, is_exact: bool) -> Option<String> {
    match (at.time() == Time::MIDNIGHT, is_exact, at.month()) {
        (false, ..) => None,
        (true, true, _) => Some(day(at.date())),
        (true, false, Month::January) => Some(at.year().to_string()),
        (true, false, month) => Some(format!("{month} {}", at.year())),
    }
}

/// Like [`begin`], for an exclusive end.
fn end(at: OffsetDateTime, is_exact: bool) -> Option<String> {
    let last = at.date().previous_day().unwrap_or(at.date());
    match (at.time() == Time::MIDNIGHT, is_exact, at.month()) {
        (false, ..) => None,
        (true, true, _) => Some(day(last)),
        (true, false, Month::January) => Some(last.year().to_string()),
        (true, false, _) => Some(format!("{} {}", last.month(), last.year())),
    }
}

fn day(date: Date) -> String {
    format!("{} {} {}", date.day(), date.month(), date.year())
}

fn moment(at: OffsetDateTime, zone: &Zone) -> String {
    let time = at.time();
    format!("{} {:02}:{:02} {}", day(at.date()), time.hour(), time.minute(), zone.name())
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
            let read = Period::parse(&Zone::utc(), Some(from), Some(until));
            if period == (None, None) && !from.is_empty() {
                assert!(read.is_err(), "{from} {until}");
                continue;
            }
            let read = read.expect("valid");
            assert_eq!((read.from, read.until), period, "{from} {until}");
            assert_eq!(read.told(&Zone::utc()), told);
        }
        assert_eq!(Period::parse(&Zone::utc(), None, None), Ok(Period::default()));
    }

    #[test]
    fn dates_are_read_as_people_write_them_in_their_zone() {
        let vienna = Zone::from_column("Europe/Vienna");
        let (may, day) = (datetime!(2019-04-30 22:00 UTC), datetime!(2019-05-06 22:00 UTC));
        let moment = datetime!(2019-05-07 8:00 UTC);
        for (text, from) in [
            ("2019", datetime!(2018-12-31 23:00 UTC)),
            ("2019-5", may),
            ("2019-05", may),
            ("2019/05", may),
            ("2019-5-7", day),
            ("2019/05/07", day),
            ("2019-05-07T10:00", moment),
            ("2019-05-07 10:00", moment),
            ("2019-5-7 10:00:00", moment),
            ("2019-05-07T08:00:00Z", moment),
            ("2019-05-07 10:00:00+02:00", moment),
            ("2019-05-07 10:00:00.000 +0200", moment),
            ("2019-05-07T10:00+02", moment),
        ] {
            let read = Period::parse(&vienna, Some(text), None).expect(text);
            assert_eq!(read.from, Some(from), "{text}");
        }
        let told = |from, until| Period::parse(&vienna, from, until).expect("valid").told(&vienna);
        assert_eq!(told(Some("2019"), Some("2021")), "2019 to 2021");
        assert_eq!(told(Some("2019-05-07T10:00"), None), "since 7 May 2019 10:00 Europe/Vienna");
        // A model's date.
        let read = Period::read(Some("2019-05".to_owned()), None);
        assert_eq!(read.told(&vienna), "since May 2019");
    }

    #[test]
    fn what_is_no_date_is_told_by_its_field() {
        for bad in [
            "yesterday",
            "19",
            "2019-005",
            "2019-5/7",
            "7.5.2019",
            "2019-05T10:00",
            "2019-05-17T10",
            "2019-05-17T10:00:00.",
            "2019-05-17T10:00 CET",
            "2019-13",
            "2019-02-30",
            "2019-01-01-01",
            "+2019",
            "2019-",
            "２０１９",
            "2019-05-17T25:00:00Z",
            "2019-05-17T15:04:05+99:00",
            "\u{0}",
        ] {
            let refused = Period::parse(&Zone::utc(), Some(bad), None).expect_err(bad);
            assert_eq!(
                (refused.field.as_ref(), refused.code),
                ("valid_from", "invalid_date"),
                "{bad}"
            );
            assert_eq!(
                Period::parse(&Zone::utc(), None, Some(bad)).expect_err(bad).field,
                "valid_until"
            );
        }
        for out in ["0000", "9999-12-31"] {
            let refused = Period::parse(&Zone::utc(), None, Some(out)).expect_err(out);
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
            let refused = Period::parse(&Zone::utc(), Some(from), Some(until)).expect_err(until);
            assert_eq!(
                (refused.field.as_ref(), refused.code),
                ("valid_until", "invalid_period"),
                "{until}"
            );
        }
    }
}
