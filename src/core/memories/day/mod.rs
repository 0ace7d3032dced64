//! The memory on any day: what was known then (`as_of`), and what was true then (`at`). History is never rewritten: the
//! state is computed from the times in which items were active and from their events (docs/time.md).

pub mod store;

use std::collections::HashMap;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::history::ItemState;
use super::model::{ItemId, MemoryItem, Status};
use super::{MemoryError, period};
use crate::clock::Zone;
use crate::db::UserId;
use crate::input::Invalid;

/// The two points in time of a query. `None`: now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Day {
    /// When it was known. Never in the future.
    pub as_of: Option<OffsetDateTime>,
    /// When it was true.
    pub at: Option<OffsetDateTime>,
}

/// An item's state at a point in time.
#[derive(Clone, Debug)]
pub struct PastState {
    pub is_live: bool,
    /// Whether it had its key by then.
    pub has_key: bool,
    pub updated_at: OffsetDateTime,
    pub state: ItemState,
    /// The item that had superseded it, if the reader sees that one.
    pub successor: Option<ItemId>,
}

impl MemoryItem {
    fn with_past_state(self, then: PastState) -> Self {
        let status = then.status();
        let was = then.state;
        Self {
            status,
            key: self.key.filter(|_| then.has_key),
            updated_at: then.updated_at,
            confidence: was.confidence,
            trust: was.trust,
            protected: was.protected,
            locked: was.locked,
            last_verified_at: was.last_verified_at,
            expires_at: was.expires_at,
            period: was.period,
            superseded_by: was.superseded_by,
            successor: then.successor,
            tags: was.tags,
            ..self
        }
    }
}

impl PastState {
    pub fn status(&self) -> Status {
        match self.is_live {
            true => Status::Active,
            false => Status::Archived,
        }
    }
}

impl Day {
    /// Parses a year, month or day, each meaning its last moment, or a point in time, in this time zone. Blank means now. An
    /// `as_of` period that has begun but not ended also means now.
    ///
    /// # Errors
    /// [`Invalid`] naming `as_of` or `at`.
    pub fn parse(
        zone: &Zone,
        as_of: Option<&str>,
        at: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<Self, Invalid> {
        let as_of = match period::parse_given("as_of", zone, as_of)? {
            Some((begins, _)) if begins > now => {
                return Err(Invalid::new(
                    "as_of",
                    "in_the_future",
                    "`as_of` is in the future; give a day up to today.",
                ));
            }
            given => given.map(last_moment).map(|as_of| as_of.min(now)),
        };
        let at = period::parse_given("at", zone, at)?.map(last_moment);
        Ok(Self { as_of, at })
    }

    pub fn is_now(&self) -> bool {
        *self == Self::default()
    }
}

/// The last moment of the period; a point in time is itself.
fn last_moment((begins, ends): (OffsetDateTime, OffsetDateTime)) -> OffsetDateTime {
    begins.max(ends - Duration::MICROSECOND)
}

/// The item as it was known on that day.
///
/// # Errors
/// [`Invalid`] if it was not known or not true then, or a database error.
pub(super) async fn on(
    conn: &mut PgConnection,
    user: UserId,
    item: MemoryItem,
    day: &Day,
    now: OffsetDateTime,
) -> Result<MemoryItem, MemoryError> {
    let ids = [item.id.0];
    let holds = store::list_ids(conn, user, day, now, Some(&ids)).await?;
    if holds.is_empty() {
        return Err(not_then(item.id, day).into());
    }
    let Some(as_of) = day.as_of else {
        return Ok(item);
    };
    let mut then = store::list_states_at(conn, user, &ids, as_of).await?;
    Ok(match then.remove(&item.id.0) {
        Some(then) => item.with_past_state(then),
        None => item,
    })
}

fn not_then(id: ItemId, day: &Day) -> Invalid {
    let (field, what) = match day.at {
        Some(_) => ("at", "true"),
        None => ("as_of", "known"),
    };
    let sentence =
        format!("item {id} was not {what} then; leave out `{field}` to read it as it is now.");
    Invalid::new(field, "not_then", sentence)
}

/// The state of each item at `as_of`, by id.
///
/// # Errors
/// Database errors only.
pub async fn then(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    as_of: OffsetDateTime,
) -> Result<HashMap<i64, PastState>, sqlx::Error> {
    store::list_states_at(conn, user, ids, as_of).await
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-03-05 12:00 UTC);

    #[test]
    fn a_day_is_its_last_moment_and_today_is_now() {
        let utc = Zone::utc();
        let of = |as_of, at| Day::parse(&utc, Some(as_of), Some(at), NOW).expect("valid");
        let day = of("2026-03-03", "2020");
        assert_eq!(day.as_of, Some(datetime!(2026-03-03 23:59:59.999999 UTC)));
        assert_eq!(day.at, Some(datetime!(2020-12-31 23:59:59.999999 UTC)));
        let day = of("2026-03-04T10:00:00+01:00", "2027-01-01T00:00:00Z");
        assert_eq!(day.as_of, Some(datetime!(2026-03-04 9:00 UTC)));
        assert_eq!(day.at, Some(datetime!(2027-01-01 0:00 UTC)));
        assert_eq!(of("2026-03-05", " ").as_of, Some(NOW));
        assert_eq!(of("2026", " ").as_of, Some(NOW));
        assert!(of(" ", "").is_now());
    }

    #[test]
    fn what_was_known_in_the_future_and_what_is_no_date_is_refused_by_its_field() {
        let utc = Zone::utc();
        for (as_of, at, field, code) in [
            ("2026-03-06", "", "as_of", "in_the_future"),
            ("2026-03-05T12:00:01Z", "", "as_of", "in_the_future"),
            ("yesterday", "", "as_of", "invalid_date"),
            ("", "2020-13", "at", "invalid_date"),
            ("", "9999", "at", "out_of_range"),
        ] {
            let refused = Day::parse(&utc, Some(as_of), Some(at), NOW).expect_err(as_of);
            assert_eq!((refused.field.as_ref(), refused.code), (field, code));
        }
    }
}
