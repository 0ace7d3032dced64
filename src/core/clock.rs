//! Time as a dependency: code reads the time from a [`Clock`], so that tests can control it. Local times: `schedule.rs`.

mod schedule;

pub use schedule::{Rounds, Schedule, Zone};

use std::sync::{Arc, Mutex, PoisonError};

use time::{Duration, OffsetDateTime};

pub trait Clock: Send + Sync {
    fn now(&self) -> OffsetDateTime;
}

pub type SharedClock = Arc<dyn Clock>;

/// The system clock, truncated to microseconds as PostgreSQL stores them.
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> OffsetDateTime {
        to_micros(OffsetDateTime::now_utc())
    }
}

/// A clock for tests, which set and advance it.
pub struct MovableClock(Mutex<OffsetDateTime>);

impl MovableClock {
    pub fn at(now: OffsetDateTime) -> Arc<Self> {
        Arc::new(Self(Mutex::new(to_micros(now))))
    }

    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for MovableClock {
    fn now(&self) -> OffsetDateTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_micros(at: OffsetDateTime) -> OffsetDateTime {
    at.replace_microsecond(at.microsecond()).unwrap_or(at)
}
