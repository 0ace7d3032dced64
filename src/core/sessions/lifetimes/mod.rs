//! How long the content of sessions is kept in search: episodes and turns, each for a number of days that the
//! user sets.

mod store;

use time::OffsetDateTime;

use super::turns;
use crate::db::{Db, UserId};
use crate::input::Invalid;
use crate::queue;
pub(super) use store::find as of;

pub const DAYS_MAX: i32 = 36_500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    pub episode_days: i32,
    /// `None`: as long as their sessions.
    pub turn_days: Option<i32>,
}

impl Lifetimes {
    /// Parses a form: numbers of days; `turn_days` may be empty.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse(episode_days: &str, turn_days: &str) -> Result<Self, Invalid> {
        Ok(Self {
            episode_days: days("episode_days", episode_days)?,
            turn_days: match turn_days.trim() {
                "" => None,
                text => Some(days("turn_days", text)?),
            },
        })
    }
}

fn days(field: &'static str, text: &str) -> Result<i32, Invalid> {
    let days = text.trim().parse().ok();
    days.filter(|days| (1..=DAYS_MAX).contains(days)).ok_or_else(|| {
        let sentence = format!("Give a whole number of days, 1 to {DAYS_MAX}.");
        Invalid::new(field, "invalid", sentence)
    })
}

/// Also applies to existing rows: moves the expiry of episodes, and makes turns that were too old again.
///
/// # Errors
/// Only database errors.
pub async fn set(
    db: &Db,
    user: UserId,
    chosen: Lifetimes,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let mut tx = db.as_writer(user).await?;
    let before = store::hold(&mut tx, user).await?;
    store::set(&mut tx, user, chosen, now).await?;
    let later = chosen.episode_days - before.episode_days;
    if later != 0 {
        store::move_ends(&mut tx, user, later).await?;
    }
    let is_longer = match (before.turn_days, chosen.turn_days) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(before), Some(days)) => days > before,
    };
    if is_longer {
        turns::mark_all_due(&mut tx, user).await?;
    }
    queue::push_now(&mut tx, user, queue::TURNS, now).await?;
    tx.commit().await
}
