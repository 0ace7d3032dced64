//! Date arithmetic with days, weeks, months, quarters and years.

use std::ops::Range;

use time::{Date, Duration, Month};

pub const YEARS: Range<i32> = 1900..2101;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Unit {
    /// Roughly, and one day more.
    pub fn length(self) -> Duration {
        Duration::days(match self {
            Self::Minute | Self::Hour => 1,
            Self::Day => 2,
            Self::Week => 8,
            Self::Month => 32,
            Self::Quarter => 93,
            Self::Year => 366,
        })
    }

    /// The day that lies so many units back; ahead, if negative.
    pub fn before(self, today: Date, count: i64) -> Option<Date> {
        match self {
            Self::Minute | Self::Hour => Some(today),
            Self::Day => today.checked_sub(Duration::days(count)),
            Self::Week => today.checked_sub(Duration::days(7 * count)),
            Self::Month => months_back(today, count),
            Self::Quarter => months_back(today, 3 * count),
            Self::Year => months_back(today, 12 * count),
        }
    }

    /// The day, week, month … that has this day.
    pub fn around(self, date: Date) -> Option<Range<Date>> {
        match self {
            Self::Minute | Self::Hour | Self::Day => day(date),
            Self::Week => of_week(date),
            Self::Month => of_month(date),
            Self::Quarter => quarter(date),
            Self::Year => of_year(date.year()),
        }
    }
}

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

pub fn quarter(date: Date) -> Option<Range<Date>> {
    let first = date.replace_day(1).ok()?;
    let first = months_back(first, i64::from((u8::from(date.month()) - 1) % 3))?;
    Some(first..months_back(first, -3)?)
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
