//! Stops asking a dead endpoint for a while, so that a search does not wait for
//! it each time. In memory: it guards the time of those who wait. What guards
//! the work is the space's own `retry_at`, which survives a restart.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use time::{Duration, OffsetDateTime};

use super::SpaceId;
use crate::db::UserId;

/// Failures in a row that open it.
const OPENS_AFTER: u32 = 3;
const OPEN_FOR: Duration = Duration::seconds(10);
const OPEN_FOR_MAX: Duration = Duration::seconds(60);

/// One breaker a space: one user's wrong key stops nobody else.
#[derive(Default)]
pub(super) struct Breakers(Mutex<HashMap<(UserId, SpaceId), Failures>>);

#[derive(Clone, Copy)]
struct Failures {
    in_a_row: u32,
    open_until: OffsetDateTime,
}

impl Breakers {
    /// Whether a call may be made; after the pause one is let through to look.
    pub fn admits(&self, user: UserId, space: SpaceId, now: OffsetDateTime) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(&(user, space)) {
            Some(f) if f.in_a_row >= OPENS_AFTER && now < f.open_until => false,
            Some(f) if f.in_a_row >= OPENS_AFTER => {
                // Others wait for what this one finds.
                f.open_until = now + OPEN_FOR;
                true
            }
            _ => true,
        }
    }

    /// Of how many spaces nobody is asked just now.
    pub fn count_open(&self, now: OffsetDateTime) -> usize {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |f: &&Failures| f.in_a_row >= OPENS_AFTER && now < f.open_until;
        all.values().filter(is_open).count()
    }

    /// An admin has looked at what was wrong: everybody is asked again.
    pub fn close_all(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clear();
    }
    pub fn succeeded(&self, user: UserId, space: SpaceId) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(user, space));
    }

    pub fn failed(&self, user: UserId, space: SpaceId, now: OffsetDateTime) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = all.entry((user, space)).or_insert(Failures {
            in_a_row: 0,
            open_until: now,
        });
        failures.in_a_row += 1;
        if failures.in_a_row >= OPENS_AFTER {
            let doublings = (failures.in_a_row - OPENS_AFTER).min(6);
            failures.open_until = now + (OPEN_FOR * 2_i32.pow(doublings)).min(OPEN_FOR_MAX);
        }
    }

    /// The user has changed something: whatever failed may work now.
    pub fn forget(&self, user: UserId) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(of, _), _| *of != user);
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-11-21 12:00 UTC);
    const ANNA: UserId = UserId(1);
    const SPACE: SpaceId = SpaceId(1);

    #[test]
    fn three_failures_open_it_for_one_user_and_one_is_let_through_after_the_pause() {
        let breakers = Breakers::default();
        for _ in 0..3 {
            assert!(breakers.admits(ANNA, SPACE, NOW));
            breakers.failed(ANNA, SPACE, NOW);
        }
        assert!(!breakers.admits(ANNA, SPACE, NOW));
        assert!(breakers.admits(UserId(2), SPACE, NOW));
        let later = NOW + OPEN_FOR;
        assert!(breakers.admits(ANNA, SPACE, later));
        assert!(
            !breakers.admits(ANNA, SPACE, later),
            "one looks, the others wait"
        );
        breakers.failed(ANNA, SPACE, later);
        assert!(
            !breakers.admits(ANNA, SPACE, later + OPEN_FOR),
            "it waits longer each time"
        );
        breakers.succeeded(ANNA, SPACE);
        assert!(breakers.admits(ANNA, SPACE, later));
    }

    #[test]
    fn a_change_by_the_user_closes_it() {
        let breakers = Breakers::default();
        for _ in 0..3 {
            breakers.failed(ANNA, SPACE, NOW);
        }
        breakers.forget(ANNA);
        assert!(breakers.admits(ANNA, SPACE, NOW));
    }
}
