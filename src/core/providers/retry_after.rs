//! The header `Retry-After` (RFC 9110 §10.2.3): seconds or a date.

use std::time::Duration;

use time::format_description::well_known::Rfc2822;
use time::{OffsetDateTime, PrimitiveDateTime, macros::format_description};

/// Longer waits are capped: an endpoint with a wrong clock must not be skipped for a year.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

pub fn parse(value: &str, now: OffsetDateTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        // The RFC requires whole seconds; some APIs send fractions.
        let wait = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(MAX_WAIT);
        return Some(wait.min(MAX_WAIT));
    }
    let until = OffsetDateTime::parse(value, &Rfc2822).or_else(|_| rfc_850(value)).ok()?;
    // A date in the past means: at once.
    let wait = Duration::try_from(until - now).unwrap_or_default();
    Some(wait.min(MAX_WAIT))
}

/// An obsolete date format that recipients must still accept.
fn rfc_850(value: &str) -> Result<OffsetDateTime, time::error::Parse> {
    let form = format_description!(
        "[weekday], [day]-[month repr:short]-[year repr:last_two] [hour]:[minute]:[second] GMT"
    );
    PrimitiveDateTime::parse(value, form).map(PrimitiveDateTime::assume_utc)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let now = datetime!(2026-11-21 07:28:00 UTC);
        let seconds = |value| parse(value, now).map(|wait| wait.as_secs_f64());
        assert_eq!(seconds("120"), Some(120.0));
        assert_eq!(seconds(" 0.5 "), Some(0.5));
        assert_eq!(seconds("-3"), Some(0.0));
        assert_eq!(seconds("Sat, 21 Nov 2026 07:28:30 GMT"), Some(30.0));
        assert_eq!(seconds("Sat, 21 Nov 2026 07:00:00 GMT"), Some(0.0));
        assert_eq!(seconds("99999999999999999999"), Some(86_400.0));
        assert_eq!(seconds("NaN"), Some(0.0));
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds(""), None);
    }
}
