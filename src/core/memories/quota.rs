//! Limits on one user's items (of bytes: src/core/quota). Counting gets slower with size, so items are counted only now and then: after
//! a count, an eighth of the remaining room may be added without another count. So a few servers together stay in the limit.

use sqlx::PgConnection;

use super::store;
use crate::db::UserId;
use crate::input::Invalid;
use crate::quota::{RoomLeft, SHARE_ADDED_BETWEEN_LOOKS};

/// Per user, archived items included, turns excluded.
pub const ITEMS_MAX: i64 = 1_000_000;
pub const THEMES_MAX: i64 = 10_000;

pub struct ItemQuota {
    items_max: i64,
    /// Items each user may still add before the next count.
    left: RoomLeft,
}

impl Default for ItemQuota {
    fn default() -> Self {
        Self::of(ITEMS_MAX)
    }
}

impl ItemQuota {
    pub fn of(items_max: i64) -> Self {
        Self { items_max, left: RoomLeft::default() }
    }

    /// Reserves room for this many items. Returns false if they must be counted first.
    pub fn take(&self, user: UserId, items: i64) -> bool {
        self.left.take(user, items)
    }

    /// Counts the user's items and reserves room for this many.
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
        self.left.put(user, (room - items) / SHARE_ADDED_BETWEEN_LOOKS);
        Ok(Ok(()))
    }

    fn full(&self) -> Invalid {
        let sentence = format!(
            "A memory holds at most {} items, and this one is full; nothing was added: erase some that are no longer needed, archived ones too.",
            self.items_max
        );
        Invalid::new("", "too_many_items", sentence)
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
