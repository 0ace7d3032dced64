//! Where a poller has read to: the position, and when it was given out. Sealed, since the position also moves with what the
//! poller's agent does not see.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use time::OffsetDateTime;

use super::CURSOR_LIFETIME;
use crate::db::UserId;
use crate::input::Invalid;
use crate::seal::{SealError, Sealer, SecretOwner};

/// The first byte of a cursor of an earlier version, in clear.
const IN_CLEAR: u8 = 1;
const BYTES_IN_CLEAR: usize = 17;

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
        (sealer, user): (&Sealer, UserId),
        now: OffsetDateTime,
    ) -> Result<Self, CursorError> {
        let cursor = Self::decode(text, sealer, user).ok_or_else(|| {
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

    fn decode(text: &str, sealer: &Sealer, user: UserId) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let cursor = match <[u8; BYTES_IN_CLEAR]>::try_from(bytes.as_slice()) {
            Ok(bytes) => {
                let (_, rest) = bytes.split_first().filter(|(first, _)| **first == IN_CLEAR)?;
                let (position, issued_at_s) = rest.split_at(8);
                Self {
                    position: i64::from_be_bytes(position.try_into().ok()?),
                    issued_at_s: i64::from_be_bytes(issued_at_s.try_into().ok()?),
                }
            }
            Err(_) => {
                let opened = sealer.open(owner(user), &bytes).ok()?;
                let (position, issued_at_s) = opened.split_once(' ')?;
                Self { position: position.parse().ok()?, issued_at_s: issued_at_s.parse().ok()? }
            }
        };
        (cursor.position >= 0).then_some(cursor)
    }

    /// # Errors
    /// The operating system has no randomness.
    pub fn encode(self, sealer: &Sealer, user: UserId) -> Result<String, SealError> {
        let text = format!("{:020} {:020}", self.position, self.issued_at_s);
        Ok(URL_SAFE_NO_PAD.encode(sealer.seal(owner(user), &text)?))
    }
}

fn owner(user: UserId) -> SecretOwner {
    SecretOwner { user_id: user.0, column: "changes.cursor" }
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
        let (sealer, anna) = (Sealer::new(&[7; 32]), UserId(1));
        let cursor = FeedCursor::new(812, now);
        let text = cursor.encode(&sealer, anna).unwrap();
        // Nobody reads from it whether anything happened.
        assert_ne!(cursor.encode(&sealer, anna).unwrap(), text);
        let parse = |text: &str, at| FeedCursor::parse("since", text, (&sealer, anna), at);
        assert_eq!(parse(&text, now + Duration::days(30)), Ok(cursor));
        assert!(FeedCursor::parse("since", &text, (&sealer, UserId(2)), now).is_err());
        let in_clear = |cursor: FeedCursor| {
            let mut bytes = vec![IN_CLEAR];
            bytes.extend(cursor.position.to_be_bytes());
            bytes.extend(cursor.issued_at_s.to_be_bytes());
            URL_SAFE_NO_PAD.encode(bytes)
        };
        assert_eq!(parse(&in_clear(cursor), now), Ok(cursor), "of an earlier version");
        let late = now + Duration::days(30) + Duration::seconds(1);
        assert_eq!(parse(&text, late), Err(CursorError::Expired));
        let hostile = in_clear(FeedCursor { position: -1, issued_at_s: i64::MIN });
        let long = "A".repeat(100_000);
        for refused in ["", "now ", "812", "AQ", &text[1..], "ä", &hostile, &long] {
            let error = parse(refused, now).unwrap_err();
            assert!(matches!(error, CursorError::Invalid(_)), "{refused:.40}");
        }
        let ancient = in_clear(FeedCursor { position: 1, issued_at_s: i64::MIN });
        assert_eq!(parse(&ancient, now), Err(CursorError::Expired));
    }
}
