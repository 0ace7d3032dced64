//! Who works on a space: one worker at a time, by a lease in the space's row that
//! runs out by itself. A lease whose worker ended without giving it back (the
//! database went away, the job was dropped) is remembered here, so that this
//! process takes the space again at once; one that is alive is never taken.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;

use super::model::SpaceId;
use crate::db::UserId;

/// The leases of this process that were dropped before they were given back, by
/// the time they run until.
#[derive(Default)]
pub(super) struct Leases(Mutex<HashMap<(UserId, SpaceId), OffsetDateTime>>);

impl Leases {
    pub fn abandoned(&self, user: UserId, space: SpaceId) -> Option<OffsetDateTime> {
        self.lock().get(&(user, space)).copied()
    }

    /// The row holds it no more; one that was abandoned since is kept.
    pub fn forget(&self, user: UserId, space: SpaceId, until: OffsetDateTime) {
        let mut abandoned = self.lock();
        if abandoned.get(&(user, space)) == Some(&until) {
            abandoned.remove(&(user, space));
        }
    }

    pub fn hold(&self, user: UserId, space: SpaceId, until: OffsetDateTime) -> Held<'_> {
        Held {
            leases: self,
            user,
            space,
            until,
            is_given_back: false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(UserId, SpaceId), OffsetDateTime>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lease that a worker of this process has.
pub(super) struct Held<'a> {
    leases: &'a Leases,
    user: UserId,
    space: SpaceId,
    /// As it stands in the space's row.
    pub until: OffsetDateTime,
    is_given_back: bool,
}

impl Held<'_> {
    pub fn given_back(mut self) {
        self.is_given_back = true;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.is_given_back {
            let key = (self.user, self.space);
            self.leases.lock().insert(key, self.until);
        }
    }
}
