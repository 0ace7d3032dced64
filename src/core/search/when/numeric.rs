//! Numbers, and dates that are written in digits.

use std::ops::Range;

use time::{Date, Month};

use super::calendar::{YEARS, day, of_month, of_year, quarter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Number {
        value: i64,
        digits: usize,
    },
    /// A day, a month, or several years; half-open. Is it one only with a preposition? 7.5.23 may be a version.
    Days {
        from: Date,
        until: Date,
        needs_sign: bool,
    },
    /// 7.5., of some year.
    DayOfMonth {
        day: u8,
        month: Month,
    },
    /// Q3.
    Quarter(i64),
}

/// 2023-05-07, 2023/5/7, 7.5.2023, 07.05.23, 5/7/2023, 2023-05, 2019-2021, 7.5. A moment is its day.
///
/// 5/7/2023 is 7 May where the month comes first (English), else 5 July; with a number above 12 there is one reading.
pub fn date(text: &str, ends_with_dot: bool, month_first: bool, this_year: i32) -> Option<Written> {
    let text = match text.split_once('t') {
        Some((date, clock))
            if date.len() >= 8 && clock.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            date
        }
        _ => text,
    };
    let sign = text.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
    let parts: Vec<&str> = text.split(sign).collect();
    let is_number =
        |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if !parts.iter().all(is_number) {
        return None;
    }
    let values: Vec<i32> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    let is_year = |at: usize| {
        parts.get(at).is_some_and(|part| part.len() == 4) && YEARS.contains(&values[at])
    };
    match values.as_slice() {
        [year, month, number] if is_year(0) => days(one(*year, *month, *number)?, false),
        [first, second, year] if is_year(2) => {
            days(either(sign, [*first, *second], *year, month_first)?, false)
        }
        [first, second, year] if parts[2].len() == 2 && sign != '-' => {
            // Of this century, if it was already.
            let year = if year + 2000 > this_year + 1 { year + 1900 } else { year + 2000 };
            let is_full = parts[0].len() == 2 && parts[1].len() == 2;
            let needs_sign = sign == '.' && !is_full;
            days(either(sign, [*first, *second], year, month_first)?, needs_sign)
        }
        [year, until] if is_year(0) && is_year(1) && year < until => {
            days(of_year(*year)?.start..of_year(*until)?.end, false)
        }
        [year, until] if is_year(0) && sign == '-' && parts[1].len() == 2 && *until > 12 => {
            let until = year - year % 100 + until;
            (*year < until).then(|| days(of_year(*year)?.start..of_year(until)?.end, false))?
        }
        [year, month] if is_year(0) && sign != '.' => days(month_of(*year, *month)?, false),
        [month, year] if is_year(1) && sign != '-' => days(month_of(*year, *month)?, true),
        [first, second] if ends_with_dot && sign == '.' || sign == '/' => {
            let [number, month] =
                if month_first && sign == '/' { [second, first] } else { [first, second] };
            let month = Month::try_from(u8::try_from(*month).ok()?).ok()?;
            let day = u8::try_from(*number).ok().filter(|day| (1..=31).contains(day))?;
            Some(Written::DayOfMonth { day, month })
        }
        _ => None,
    }
}

fn days(days: Range<Date>, needs_sign: bool) -> Option<Written> {
    Some(Written::Days { from: days.start, until: days.end, needs_sign })
}

fn either(
    sign: char,
    [first, second]: [i32; 2],
    year: i32,
    month_first: bool,
) -> Option<Range<Date>> {
    let is_month_first = match (first > 12, second > 12) {
        (true, _) => false,
        (_, true) => true,
        _ => month_first && sign != '.',
    };
    let [number, month] = if is_month_first { [second, first] } else { [first, second] };
    one(year, month, number)
}

fn one(year: i32, month: i32, number: i32) -> Option<Range<Date>> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    day(Date::from_calendar_date(year, month, u8::try_from(number).ok()?).ok()?)
}

fn month_of(year: i32, month: i32) -> Option<Range<Date>> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    of_month(Date::from_calendar_date(year, month, 1).ok()?)
}

/// Four digits at most, or Q3.
pub fn number(text: &str) -> Option<Written> {
    if let Some(nth) = text.strip_prefix('q').filter(|nth| nth.len() == 1) {
        return nth.parse().ok().filter(|nth| (1..=4).contains(nth)).map(Written::Quarter);
    }
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let value = is_number.then(|| text.parse().ok())??;
    Some(Written::Number { value, digits: text.len() })
}

/// 二〇二三
pub fn han(digits: &[char]) -> Option<Written> {
    const DIGITS: &str = "〇一二三四五六七八九";
    let digit =
        |c: &char| DIGITS.chars().position(|digit| digit == *c || *c == '零' && digit == '〇');
    let value = digits.iter().try_fold(0, |value, c| Some(value * 10 + digit(c)? as i64))?;
    Some(Written::Number { value, digits: digits.len() })
}

/// "7th" is "7" and "th".
pub fn apart(text: &str) -> impl Iterator<Item = &str> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(digits);
    [digits, rest].into_iter().filter(|part| !part.is_empty())
}

/// The third quarter of a year.
pub fn quarter_of(nth: i64, year: i32) -> Option<Range<Date>> {
    let month = Month::try_from(u8::try_from(nth * 3 - 2).ok()?).ok()?;
    quarter(Date::from_calendar_date(year, month, 1).ok()?)
}
