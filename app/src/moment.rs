//! Points in time and days, as pages show them.

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime};

use crate::input::Invalid;

/// A point in time, three ways: for machines, for the tooltip, for the eye.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// RFC 3339, for `<time datetime>`.
    pub iso: String,
    /// "21 November 2026, 04:15 UTC"
    pub exact: String,
    /// "3 minutes ago"
    pub relative: String,
}

pub fn moment(at: OffsetDateTime, now: OffsetDateTime) -> Moment {
    let exact =
        format_description!("[day padding:none] [month repr:long] [year], [hour]:[minute] UTC");
    Moment {
        iso: at.format(&Rfc3339).unwrap_or_default(),
        exact: at.format(exact).unwrap_or_default(),
        relative: relative(at, now),
    }
}

/// "3 minutes ago", "in 2 days", "just now"; beyond a year, the date.
fn relative(at: OffsetDateTime, now: OffsetDateTime) -> String {
    let seconds = (now - at).whole_seconds();
    let (n, unit) = match seconds.unsigned_abs() {
        // Another machine's clock may be a second ahead.
        2..45 if seconds < 0 => return "in a moment".to_owned(),
        0..45 => return "just now".to_owned(),
        s @ 45..3_570 => ((s + 30) / 60, "minute"),
        s @ 3_570..84_600 => ((s + 1_800) / 3_600, "hour"),
        s @ 84_600..2_592_000 => ((s + 43_200) / 86_400, "day"),
        s @ 2_592_000..31_536_000 => (s / 2_592_000, "month"),
        _ => {
            let date = format_description!("[day padding:none] [month repr:short] [year]");
            return at.format(date).unwrap_or_default();
        }
    };
    let unit = if n == 1 { unit.to_owned() } else { format!("{unit}s") };
    if seconds < 0 { format!("in {n} {unit}") } else { format!("{n} {unit} ago") }
}

/// In milliseconds; 0 where it is over.
pub fn whole_ms(left: Duration) -> u32 {
    u32::try_from(left.whole_milliseconds().max(0)).unwrap_or(u32::MAX)
}

/// "3 March 2026"
pub fn date_of(at: OffsetDateTime) -> String {
    at.format(format_description!("[day padding:none] [month repr:long] [year]"))
        .unwrap_or_default()
}

/// "2026-03-03"
pub fn iso(day: Date) -> String {
    day.format(format_description!("[year]-[month]-[day]")).unwrap_or_default()
}

/// # Errors
/// If it is no day such as "2026-03-03".
pub fn parse_day(field: &'static str, text: &str) -> Result<Date, Invalid> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    day.filter(|day| (1..=9_998).contains(&day.year())).ok_or_else(|| {
        Invalid::new(field, "invalid_date", "That is not a date; give one such as 2026-03-03.")
    })
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn times_are_told_relative_to_now() {
        let now = datetime!(2026-11-21 12:00 UTC);
        for (at, said) in [
            (datetime!(2026-11-21 11:59:30 UTC), "just now"),
            (datetime!(2026-11-21 12:00:30 UTC), "in a moment"),
            (datetime!(2026-11-21 11:57 UTC), "3 minutes ago"),
            (datetime!(2026-11-21 11:00 UTC), "1 hour ago"),
            (datetime!(2026-11-20 12:00 UTC), "1 day ago"),
            (datetime!(2026-11-23 12:00 UTC), "in 2 days"),
            (datetime!(2026-08-21 12:00 UTC), "3 months ago"),
            (datetime!(2024-02-01 12:00 UTC), "1 Feb 2024"),
        ] {
            assert_eq!(relative(at, now), said);
        }
    }
}
