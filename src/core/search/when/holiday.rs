//! Holidays with a fixed date, and those that follow Easter.

use std::ops::Range;

use time::{Date, Duration, Month};

/// From its first day to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holiday {
    first: HolidayDate,
    last: HolidayDate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HolidayDate {
    Fixed(Month, u8),
    /// So many days after Easter Sunday.
    Easter(i64),
    /// Of the Julian calendar.
    OrthodoxEaster(i64),
}

impl Holiday {
    /// "12-31", "12-24/12-26", "easter-2/easter+1", "orthodox-easter".
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('/').unwrap_or((text, text));
        Some(Self { first: HolidayDate::parse(first)?, last: HolidayDate::parse(last)? })
    }

    /// Its days, if it begins in this year.
    pub fn days(self, year: i32) -> Option<Range<Date>> {
        let first = self.first.in_year(year)?;
        let last = self.last.in_year(year).filter(|last| first <= *last);
        Some(first..last.or_else(|| self.last.in_year(year + 1))?.next_day()?)
    }
}

impl HolidayDate {
    fn parse(text: &str) -> Option<Self> {
        let after = |days: &str| if days.is_empty() { Some(0) } else { days.parse().ok() };
        if let Some(days) = text.strip_prefix("easter") {
            return Some(Self::Easter(after(days)?));
        }
        if let Some(days) = text.strip_prefix("orthodox-easter") {
            return Some(Self::OrthodoxEaster(after(days)?));
        }
        let (month, day) = text.split_once('-')?;
        Some(Self::Fixed(Month::try_from(month.parse::<u8>().ok()?).ok()?, day.parse().ok()?))
    }

    fn in_year(self, year: i32) -> Option<Date> {
        match self {
            Self::Fixed(month, day) => Date::from_calendar_date(year, month, day).ok(),
            Self::Easter(days) => easter(year)?.checked_add(Duration::days(days)),
            Self::OrthodoxEaster(days) => orthodox_easter(year)?.checked_add(Duration::days(days)),
        }
    }
}

/// By Gauss, from 1900 to 2099; the 22nd of March is the first day that it may be.
fn easter(year: i32) -> Option<Date> {
    let moon = (19 * (year % 19) + 24) % 30;
    let sunday = (2 * (year % 4) + 4 * (year % 7) + 6 * moon + 5) % 7;
    let is_late = moon + sunday == 35 || moon == 28 && sunday == 6 && year % 19 > 10;
    let days = moon + sunday - if is_late { 7 } else { 0 };
    march_22(year)?.checked_add(Duration::days(days.into()))
}

/// By Gauss; its calendar is 13 days behind from 1900 to 2099.
fn orthodox_easter(year: i32) -> Option<Date> {
    let moon = (19 * (year % 19) + 15) % 30;
    let sunday = (2 * (year % 4) + 4 * (year % 7) + 6 * moon + 6) % 7;
    march_22(year)?.checked_add(Duration::days((moon + sunday + 13).into()))
}

fn march_22(year: i32) -> Option<Date> {
    Date::from_calendar_date(year, Month::March, 22).ok()
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    fn days(holiday: &str, year: i32) -> Option<Range<Date>> {
        Holiday::parse(holiday)?.days(year)
    }

    #[test]
    fn easter_moves_and_others_do_not() {
        for (year, western, orthodox) in [
            (1954, date!(1954 - 04 - 18), date!(1954 - 04 - 25)),
            (1981, date!(1981 - 04 - 19), date!(1981 - 04 - 26)),
            (2000, date!(2000 - 04 - 23), date!(2000 - 04 - 30)),
            (2019, date!(2019 - 04 - 21), date!(2019 - 04 - 28)),
            (2024, date!(2024 - 03 - 31), date!(2024 - 05 - 05)),
            (2025, date!(2025 - 04 - 20), date!(2025 - 04 - 20)),
            (2026, date!(2026 - 04 - 05), date!(2026 - 04 - 12)),
        ] {
            assert_eq!((easter(year), orthodox_easter(year)), (Some(western), Some(orthodox)));
        }
        let new_year = date!(2025 - 12 - 31)..date!(2026 - 01 - 02);
        assert_eq!(days("12-31/01-01", 2025), Some(new_year));
        let friday_to_monday = date!(2026 - 04 - 03)..date!(2026 - 04 - 07);
        assert_eq!(days("easter-2/easter+1", 2026), Some(friday_to_monday));
        assert_eq!(days("12-25", 2025), Some(date!(2025 - 12 - 25)..date!(2025 - 12 - 26)));
        for wrong in ["", "easter2x", "13-01", "12", "12-24/"] {
            assert_eq!(Holiday::parse(wrong), None, "{wrong}");
        }
    }
}
