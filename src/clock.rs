//! Time as a parameter. Everything that asks what time it is asks a [`Clock`],
//! so that tests can move it. What time it is somewhere: `schedule.rs`.

mod schedule;

pub use schedule::{Rounds, Schedule, Zone};

use std::sync::{Arc, Mutex, PoisonError};

use time::{Duration, OffsetDateTime};

pub trait Clock: Send + Sync {
    fn now(&self) -> OffsetDateTime;
}

pub type SharedClock = Arc<dyn Clock>;

/// The clock on the wall, in whole microseconds as PostgreSQL keeps them.
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> OffsetDateTime {
        to_micros(OffsetDateTime::now_utc())
    }
}

/// A clock that tests set and move.
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
