//! How much one user may keep (DESIGN §11). Items are counted now and then, since a count takes
//! longer the more there are: after each count an eighth of what is left may be added before the
//! next, so that a few servers together do not pass the limit.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use sqlx::PgConnection;

use super::store;
use crate::db::UserId;
use crate::input::Invalid;

/// Of a user, archived ones included and turns not.
pub const ITEMS_MAX: i64 = 1_000_000;
pub const THEMES_MAX: i64 = 10_000;
const SHARE_ADDED_BETWEEN_COUNTS: i64 = 8;
const USERS_REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");

pub struct ItemQuota {
    items_max: i64,
    /// Items that each user may add before the next count.
    left: Mutex<LruCache<UserId, i64>>,
}

impl Default for ItemQuota {
    fn default() -> Self {
        Self::of(ITEMS_MAX)
    }
}

impl ItemQuota {
    pub fn of(items_max: i64) -> Self {
        Self {
            items_max,
            left: Mutex::new(LruCache::new(USERS_REMEMBERED)),
        }
    }

    /// Takes room for so many items; false where they have to be counted first.
    pub fn take(&self, user: UserId, items: i64) -> bool {
        match self.left().get_mut(&user) {
            Some(left) if *left >= items => {
                *left -= items;
                true
            }
            _ => false,
        }
    }

    /// Counts the user's items, and takes room for so many.
    pub async fn count_and_take(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        items: i64,
    ) -> Result<Result<(), Invalid>, sqlx::Error> {
        let count = store::count_items_up_to(conn, user, self.items_max).await?;
        let room = self.items_max - count;
        if room < items {
            return Ok(Err(self.full()));
        }
        let left = (room - items) / SHARE_ADDED_BETWEEN_COUNTS;
        self.left().put(user, left);
        Ok(Ok(()))
    }

    fn full(&self) -> Invalid {
        let sentence = format!(
            "A memory holds at most {} items, and this one is full; nothing was added: erase some that are no longer needed, archived ones too.",
            self.items_max
        );
        Invalid::new("", "too_many_items", sentence)
    }

    fn left(&self) -> MutexGuard<'_, LruCache<UserId, i64>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn too_many_themes() -> Invalid {
    Invalid::new(
        "theme",
        "too_many_themes",
        format!(
            "A memory has at most {THEMES_MAX} themes; nothing was added: give one that is there (memory_list_themes lists them)."
        ),
    )
}
