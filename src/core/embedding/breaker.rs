//! Circuit breaker: stops calling a dead endpoint for a while, so that searches do not wait for it. In memory, per server;
//! background work is delayed by the space's `retry_at` instead, which survives a restart.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use time::{Duration, OffsetDateTime};

use super::SpaceId;
use crate::db::UserId;

/// Consecutive failures that open it.
const OPENS_AFTER: u32 = 3;
const OPEN_FOR: Duration = Duration::seconds(10);
const OPEN_FOR_MAX: Duration = Duration::seconds(60);

/// One breaker per space, so that one user's wrong key affects nobody else.
#[derive(Default)]
pub(super) struct Breakers(Mutex<HashMap<(UserId, SpaceId), Failures>>);

#[derive(Clone, Copy)]
struct Failures {
    in_a_row: u32,
    open_until: OffsetDateTime,
}

impl Breakers {
    /// Whether a call may be made. When the pause is over, one call is let through as a probe.
    pub fn admits(&self, user: UserId, space: SpaceId, now: OffsetDateTime) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(&(user, space)) {
            Some(f) if f.in_a_row >= OPENS_AFTER && now < f.open_until => false,
            Some(f) if f.in_a_row >= OPENS_AFTER => {
                // Other calls wait for the probe's result.
                f.open_until = now + OPEN_FOR;
                true
            }
            _ => true,
        }
    }

    /// Number of spaces whose breaker is open.
    pub fn count_open(&self, now: OffsetDateTime) -> usize {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |f: &&Failures| f.in_a_row >= OPENS_AFTER && now < f.open_until;
        all.values().filter(is_open).count()
    }

    /// Closes all breakers, for an admin.
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
        let failures =
            all.entry((user, space)).or_insert(Failures { in_a_row: 0, open_until: now });
        failures.in_a_row += 1;
        if failures.in_a_row >= OPENS_AFTER {
            let doublings = (failures.in_a_row - OPENS_AFTER).min(6);
            failures.open_until = now + (OPEN_FOR * 2_i32.pow(doublings)).min(OPEN_FOR_MAX);
        }
    }

    /// Closes a user's breakers, after their settings changed.
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
        assert!(!breakers.admits(ANNA, SPACE, later), "one looks, the others wait");
        breakers.failed(ANNA, SPACE, later);
        assert!(!breakers.admits(ANNA, SPACE, later + OPEN_FOR), "it waits longer each time");
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
