//! Schedules: a time of day, optionally on a weekday, in a time zone. This is the only place that converts between instants
//! and local times. The last run time depends only on the current time, so it stays correct if the clock jumps.

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan};
use time::{OffsetDateTime, PrimitiveDateTime, Time, UtcOffset, Weekday};

/// A time zone of the IANA database.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl From<String> for Zone {
    fn from(column: String) -> Self {
        Self::from_column(&column)
    }
}

impl Zone {
    pub const UTC: &str = "UTC";

    /// Finds a zone by name, such as `Europe/Vienna`, ignoring case.
    pub fn find(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some()).map(Self)
    }

    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// From a row. An unknown name counts as UTC.
    pub fn from_column(name: &str) -> Self {
        Self::find(name).unwrap_or_else(Self::utc)
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or(Self::UTC)
    }

    /// Names to choose from: UTC and the zones of places.
    pub fn names() -> Vec<String> {
        let all = jiff::tz::db().available();
        let mut names: Vec<String> = all
            .map(|name| name.as_str().to_owned())
            .filter(|name| name == Self::UTC || name.contains('/') && !name.starts_with("Etc/"))
            .collect();
        names.sort_unstable();
        names
    }

    /// The same instant in local time.
    pub fn local(&self, at: OffsetDateTime) -> OffsetDateTime {
        let offset = Timestamp::from_nanosecond(at.unix_timestamp_nanos())
            .ok()
            .and_then(|at| UtcOffset::from_whole_seconds(self.0.to_offset(at).seconds()).ok());
        at.to_offset(offset.unwrap_or(UtcOffset::UTC))
    }

    /// The start of a day; in UTC for dates beyond the calendar's range.
    pub fn midnight(&self, day: time::Date) -> OffsetDateTime {
        self.moment(PrimitiveDateTime::new(day, Time::MIDNIGHT))
    }

    /// A local time, as [`Self::midnight`].
    pub fn moment(&self, local: PrimitiveDateTime) -> OffsetDateTime {
        let (date, time) = (local.date(), local.time());
        let [year, month, day] =
            [date.year(), i32::from(u8::from(date.month())), i32::from(date.day())];
        let [hour, minute, second] = [time.hour(), time.minute(), time.second()].map(|n| n as i8);
        let day = Date::new(year as i16, month as i8, day as i8).ok();
        let at = day.map(|day| day.at(hour, minute, second, time.nanosecond() as i32));
        at.and_then(|at| self.instant(at)).unwrap_or_else(|| local.assume_utc())
    }

    fn date(&self, at: OffsetDateTime) -> Option<Date> {
        let at = Timestamp::from_nanosecond(at.unix_timestamp_nanos()).ok()?;
        Some(self.0.to_datetime(at).date())
    }

    /// An ambiguous local time (clocks set back) is the first one; a skipped one (clocks set forward) is the moment of the
    /// change.
    fn instant(&self, local: DateTime) -> Option<OffsetDateTime> {
        let ambiguous = self.0.to_ambiguous_timestamp(local);
        let is_skipped = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
        let earlier = ambiguous.earlier().ok()?;
        let at = match is_skipped {
            true => self.0.following(earlier).next()?.timestamp(),
            false => earlier,
        };
        OffsetDateTime::from_unix_timestamp_nanos(at.as_nanosecond()).ok()
    }
}

/// A recurring local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// `None`: every day.
    pub weekday: Option<Weekday>,
    pub at: Time,
}

impl Schedule {
    pub const fn daily(at: Time) -> Self {
        Self { weekday: None, at }
    }

    pub const fn weekly(weekday: Weekday, at: Time) -> Self {
        Self { weekday: Some(weekday), at }
    }

    /// The last time it was due in the zone, including `now`.
    pub fn last(self, zone: &Zone, now: OffsetDateTime) -> OffsetDateTime {
        let last = zone.date(now).and_then(|today| {
            // Starts with tomorrow: if clocks are set back past midnight, tomorrow has already begun once.
            let days = (-1..=7).map(|ago| today.saturating_sub(ago.days()));
            days.filter(|day| self.is_on(*day))
                .filter_map(|day| zone.instant(self.on(day)))
                .find(|at| *at <= now)
        });
        // Beyond the calendar's range.
        last.unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// [`Self::last`] for each of these zones.
    pub fn rounds(self, zones: Vec<String>, now: OffsetDateTime) -> Rounds {
        let last = |name: &String| self.last(&Zone::from_column(name), now);
        Rounds { at: zones.iter().map(last).collect(), zones }
    }

    fn is_on(self, day: Date) -> bool {
        let number = day.weekday().to_monday_one_offset().unsigned_abs();
        self.weekday.is_none_or(|weekday| weekday.number_from_monday() == number)
    }

    fn on(self, day: Date) -> DateTime {
        let (hour, minute, second) = self.at.as_hms();
        day.at(hour as i8, minute as i8, second as i8, 0)
    }
}

/// "every day at 03:00"
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.weekday {
            Some(weekday) => write!(f, "every {weekday}")?,
            None => write!(f, "every day")?,
        }
        write!(f, " at {:02}:{:02}", self.at.hour(), self.at.minute())
    }
}

/// When a schedule was last due in each time zone. SQL statements join it with the users', so that they need no local times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    pub zones: Vec<String>,
    /// One per zone.
    pub at: Vec<OffsetDateTime>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use time::Duration;
    use time::macros::{datetime, format_description, time};

    use super::*;

    const NIGHT: Schedule = Schedule::daily(time!(3:00));

    fn check(schedule: Schedule, zone: &str, now: OffsetDateTime, last: OffsetDateTime) {
        let zone = Zone::find(zone).unwrap();
        assert_eq!(schedule.last(&zone, now), last, "{schedule} in {zone:?} at {now}");
    }

    /// Pairs of a time and the last due time at that point, in UTC.
    fn check_each(schedule: Schedule, zone: &str, cases: &[(&str, &str)]) {
        let form = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
        let at = |text| PrimitiveDateTime::parse(text, form).unwrap().assume_utc();
        for (now, last) in cases {
            check(schedule, zone, at(now), at(last));
        }
    }

    #[test]
    fn it_came_round_today_or_yesterday() {
        check_each(
            NIGHT,
            "UTC",
            &[
                ("2026-11-21 02:59:59", "2026-11-20 03:00:00"),
                ("2026-11-21 03:00:00", "2026-11-21 03:00:00"),
                ("2026-11-21 23:00:00", "2026-11-21 03:00:00"),
            ],
        );
    }

    #[test]
    fn east_and_west_of_utc_it_is_another_day() {
        let now = datetime!(2026-11-21 17:30 UTC);
        for (zone, last) in [
            // The 22nd, 07:30.
            ("Pacific/Kiritimati", datetime!(2026-11-21 13:00 UTC)),
            // The 22nd, 02:30.
            ("Asia/Tokyo", datetime!(2026-11-20 18:00 UTC)),
            ("Asia/Kathmandu", datetime!(2026-11-20 21:15 UTC)),
            // The 21st, 06:30.
            ("Pacific/Pago_Pago", datetime!(2026-11-21 14:00 UTC)),
            ("America/New_York", datetime!(2026-11-21 08:00 UTC)),
        ] {
            check(NIGHT, zone, now, last);
        }
        let zones = vec!["UTC".to_owned(), "Nowhere/Gone".to_owned()];
        let rounds = NIGHT.rounds(zones, now);
        assert_eq!(rounds.at, [datetime!(2026-11-21 03:00 UTC); 2]);
    }

    #[test]
    fn a_time_that_is_skipped_in_spring_comes_when_clocks_are_set_forward() {
        // On 29 March 2026, 02:00 became 03:00 in Vienna, at 01:00 UTC.
        let set_forward = datetime!(2026-03-29 01:00 UTC);
        for skipped in [time!(2:00), time!(2:30), time!(2:59), time!(3:00)] {
            let before = Schedule::daily(skipped);
            let second = Duration::SECOND;
            let yesterday = OffsetDateTime::new_utc(
                set_forward.date() - Duration::DAY,
                skipped - Duration::HOUR,
            );
            for (now, last) in [
                (set_forward - second, yesterday),
                (set_forward, set_forward),
                (set_forward + second, set_forward),
                (set_forward + Duration::hours(20), set_forward),
            ] {
                check(before, "Europe/Vienna", now, last);
            }
        }
        // 04:00 of that day comes 23 hours after that of the day before.
        check_each(
            Schedule::daily(time!(4:00)),
            "Europe/Vienna",
            &[
                ("2026-03-29 01:59:00", "2026-03-28 03:00:00"),
                ("2026-03-29 02:00:00", "2026-03-29 02:00:00"),
            ],
        );
    }

    #[test]
    fn a_time_that_comes_twice_in_autumn_comes_round_once() {
        // On 25 October 2026, 03:00 became 02:00 in Vienna, at 01:00 UTC.
        check_each(
            Schedule::daily(time!(2:30)),
            "Europe/Vienna",
            &[
                ("2026-10-25 00:29:00", "2026-10-24 00:30:00"),
                ("2026-10-25 00:30:00", "2026-10-25 00:30:00"),
                ("2026-10-25 01:30:00", "2026-10-25 00:30:00"),
                ("2026-10-26 01:29:00", "2026-10-25 00:30:00"),
            ],
        );
        check_each(
            NIGHT,
            "Europe/Vienna",
            &[
                ("2026-10-25 01:59:00", "2026-10-24 01:00:00"),
                ("2026-10-25 02:00:00", "2026-10-25 02:00:00"),
            ],
        );
    }

    #[test]
    fn clocks_that_are_set_back_past_midnight_bring_no_day_back() {
        // In 2006, 00:01 of 29 October became 23:01 of the 28th in St John's, at 02:31 UTC.
        check_each(
            Schedule::daily(time!(0:00)),
            "America/St_Johns",
            &[
                ("2006-10-29 02:29:00", "2006-10-28 02:30:00"),
                ("2006-10-29 02:30:00", "2006-10-29 02:30:00"),
                ("2006-10-29 03:00:00", "2006-10-29 02:30:00"),
                ("2006-10-29 12:00:00", "2006-10-29 02:30:00"),
            ],
        );
    }

    #[test]
    fn a_week_is_as_long_as_its_days() {
        check_each(
            Schedule::weekly(Weekday::Sunday, time!(3:00)),
            "Europe/Vienna",
            &[
                // Sunday the 22nd.
                ("2026-11-22 01:59:00", "2026-11-15 02:00:00"),
                ("2026-11-22 02:00:00", "2026-11-22 02:00:00"),
                ("2026-11-28 23:30:00", "2026-11-22 02:00:00"),
                ("2026-11-29 02:00:00", "2026-11-29 02:00:00"),
                // That week ends with a day of 23 hours.
                ("2026-03-29 00:59:00", "2026-03-22 02:00:00"),
                ("2026-03-29 01:00:00", "2026-03-29 01:00:00"),
            ],
        );
    }

    #[test]
    fn each_day_of_two_years_it_comes_round_once() {
        for zone in ["Europe/Vienna", "America/New_York", "Australia/Lord_Howe"] {
            let zone = Zone::find(zone).unwrap();
            let schedule = Schedule::daily(time!(2:15));
            let start = datetime!(2026-01-01 12:00 UTC);
            let mut seen = vec![schedule.last(&zone, start)];
            let end = datetime!(2028-01-02 12:00 UTC);
            let mut now = start;
            while now < end {
                now += Duration::minutes(15);
                let last = schedule.last(&zone, now);
                assert!(last <= now && last >= *seen.last().unwrap());
                if Some(&last) != seen.last() {
                    seen.push(last);
                }
            }
            assert_eq!(seen.len() - 1, 731, "{zone:?}");
        }
    }

    #[test]
    fn zones_are_found_by_name_alone() {
        assert_eq!(Zone::find("europe/vienna").unwrap().name(), "Europe/Vienna");
        assert_eq!(Zone::find("UTC").unwrap().name(), "UTC");
        for bad in [
            "",
            "Vienna",
            "Europe/",
            "Etc/Unknown",
            "CET-1CEST",
            "+01:00",
            "../zone",
            "Europe/Vienna\0",
        ] {
            assert!(Zone::find(bad).is_none(), "{bad}");
        }
        let names = Zone::names();
        assert!(names.len() > 300, "{names:?}");
        for name in ["UTC", "Europe/Vienna", "America/Argentina/Ushuaia"] {
            assert!(names.iter().any(|one| one == name), "{name}");
        }
        assert!(names.iter().all(|name| Zone::find(name).is_some()));
    }

    #[test]
    fn it_is_said_in_words() {
        assert_eq!(NIGHT.to_string(), "every day at 03:00");
        let weekly = Schedule::weekly(Weekday::Sunday, time!(18:05));
        assert_eq!(weekly.to_string(), "every Sunday at 18:05");
    }
}
