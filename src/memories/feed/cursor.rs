//! Where a poller has read to, as the opaque text that it keeps: the position, and when it was given out.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use time::OffsetDateTime;

use super::CURSOR_LIFETIME;
use crate::input::Invalid;

/// The first byte of a cursor: its format.
const FORMAT: u8 = 1;
const BYTES: usize = 17;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedCursor {
    pub position: i64,
    issued_at_s: i64,
}

/// Why a cursor cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(
        "this cursor is more than 30 days old and may have missed that memories were erased; read the memory again and follow it from since=now"
    )]
    Expired,
}

impl FeedCursor {
    pub fn new(position: i64, now: OffsetDateTime) -> Self {
        Self { position, issued_at_s: now.unix_timestamp() }
    }

    /// # Errors
    /// If it is no cursor, or older than [`CURSOR_LIFETIME`].
    pub fn parse(
        field: &'static str,
        text: &str,
        now: OffsetDateTime,
    ) -> Result<Self, CursorError> {
        let cursor = Self::decode(text).ok_or_else(|| {
            let sentence = format!(
                "`{field}` is no cursor; give `next` of an earlier answer as it is, give now, or leave it out to begin with the oldest event."
            );
            Invalid::new(field, "invalid_cursor", sentence)
        })?;
        let age_s = now.unix_timestamp().saturating_sub(cursor.issued_at_s);
        match age_s > CURSOR_LIFETIME.whole_seconds() {
            true => Err(CursorError::Expired),
            false => Ok(cursor),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let bytes: [u8; BYTES] = bytes.try_into().ok()?;
        let (format, rest) = bytes.split_first()?;
        let (position, issued_at_s) = rest.split_at(8);
        let cursor = Self {
            position: i64::from_be_bytes(position.try_into().ok()?),
            issued_at_s: i64::from_be_bytes(issued_at_s.try_into().ok()?),
        };
        (*format == FORMAT && cursor.position >= 0).then_some(cursor)
    }

    pub fn encode(self) -> String {
        let mut bytes = vec![FORMAT];
        bytes.extend(self.position.to_be_bytes());
        bytes.extend(self.issued_at_s.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use time::Duration;
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was_and_lasts_for_thirty_days() {
        let now = datetime!(2026-12-17 12:00 UTC);
        let cursor = FeedCursor::new(812, now);
        let text = cursor.encode();
        let parse = |text: &str, at| FeedCursor::parse("since", text, at);
        assert_eq!(parse(&text, now + Duration::days(30)), Ok(cursor));
        let late = now + Duration::days(30) + Duration::seconds(1);
        assert_eq!(parse(&text, late), Err(CursorError::Expired));
        let hostile = FeedCursor { position: -1, issued_at_s: i64::MIN }.encode();
        let long = "A".repeat(100_000);
        for refused in ["", "now ", "812", "AQ", &text[1..], "ä", &hostile, &long] {
            let error = parse(refused, now).unwrap_err();
            assert!(matches!(error, CursorError::Invalid(_)), "{refused:.40}");
        }
        let ancient = FeedCursor { position: 1, issued_at_s: i64::MIN }.encode();
        assert_eq!(parse(&ancient, now), Err(CursorError::Expired));
    }
}
