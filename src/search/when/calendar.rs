//! Date arithmetic with days, weeks, months and years, and parsing of day numbers.

use std::ops::Range;

use time::{Date, Duration, Month};

const YEARS: Range<i32> = 1900..2101;

pub fn day(date: Date) -> Option<Range<Date>> {
    Some(date..date.next_day()?)
}

/// Monday to Sunday.
pub fn of_week(date: Date) -> Option<Range<Date>> {
    let monday =
        date.checked_sub(Duration::days(i64::from(date.weekday().number_days_from_monday())))?;
    Some(monday..monday.checked_add(Duration::days(7))?)
}

pub fn of_month(date: Date) -> Option<Range<Date>> {
    let first = date.replace_day(1).ok()?;
    Some(first..months_back(first, -1)?)
}

pub fn of_year(year: i32) -> Option<Range<Date>> {
    let first = |year| Date::from_calendar_date(year, Month::January, 1).ok();
    Some(first(year)?..first(year + 1)?)
}

/// The same day `count` months earlier, or the last day of that month.
pub fn months_back(date: Date, count: i64) -> Option<Date> {
    let months = i64::from(date.year()) * 12 + i64::from(u8::from(date.month())) - 1 - count;
    let year = i32::try_from(months.div_euclid(12)).ok()?;
    let month = Month::try_from(u8::try_from(months.rem_euclid(12)).ok()? + 1).ok()?;
    Date::from_calendar_date(year, month, date.day().min(month.length(year))).ok()
}

pub fn year_of(word: &str) -> Option<i32> {
    let year = (word.len() == 4).then(|| word.parse().ok())??;
    YEARS.contains(&year).then_some(year)
}

/// Parses a day of a month: "7", "7th".
pub fn day_number(word: &str) -> Option<u8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().ok().filter(|n: &u8| (1..=31).contains(n))
}
