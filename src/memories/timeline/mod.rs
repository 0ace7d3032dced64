//! What changed in a memory, by day: how much was learned on each day of a year, the stream of what happened to memories
//! and entities, and the difference of two days.

pub mod store;

use std::collections::HashSet;

use time::OffsetDateTime;

use super::day::{Day, store as days};
use super::model::ItemId;
use super::period::Period;
use crate::db::{Db, UserId};

/// Of one page of the stream.
pub const EVENTS_SHOWN: usize = 50;
/// Of each list of a difference.
pub const DIFFERENCE_SHOWN: usize = 100;

/// Where the stream goes on: after what happened at this time, by its number.
pub type Before = (OffsetDateTime, i64);

/// What something happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Item(ItemId),
    Entity(i64),
    Dream(i64),
}

/// Something that happened to a memory or an entity, or a dream.
#[derive(Clone, Debug)]
pub struct Happening {
    pub id: i64,
    pub at: OffsetDateTime,
    /// As the history has it (`added`, `superseded`, …), what was decided of an entity (`merged`, `split`, …), or `dreamt`.
    pub event: String,
    /// The agent that did it, by name; `None` for the person and for jobs.
    pub agent: Option<String>,
    pub about: About,
    /// Of its text, [`CHARS_MAX`] characters; of an entity its name; of a dream the path of its document.
    pub beginning: String,
    /// How a memory is known; of others, empty.
    pub source: String,
    /// The session that a memory was read in.
    pub session: Option<i64>,
    /// What stands in its place, and how that begins; of an event that says so.
    pub instead: Option<(ItemId, String)>,
    /// Where a dream proposed it, whether it also did it.
    pub by_dream: Option<bool>,
}

pub const CHARS_MAX: i32 = 160;

/// How many memories were learned between each of these moments and the next, the last of which ends them.
///
/// # Errors
/// Only what the database says.
pub async fn counts(
    db: &Db,
    user: UserId,
    days: &[OffsetDateTime],
) -> Result<Vec<i64>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let found = store::count_by_day(&mut tx, user, days).await?;
    tx.commit().await?;
    let mut counts = vec![0; days.len().saturating_sub(1)];
    for (day, n) in found {
        if let Some(count) = usize::try_from(day - 1)
            .ok()
            .and_then(|at| counts.get_mut(at))
        {
            *count = n;
        }
    }
    Ok(counts)
}

/// What happened from the first moment on and before the second, newest first: [`EVENTS_SHOWN`] at most, and where it goes on.
///
/// # Errors
/// Only what the database says.
pub async fn stream(
    db: &Db,
    user: UserId,
    within: (OffsetDateTime, OffsetDateTime),
    before: Option<Before>,
) -> Result<(Vec<Happening>, Option<Before>), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let most = EVENTS_SHOWN as i64 + 1;
    let mut found = store::list_happenings(&mut tx, user, within, before, most).await?;
    tx.commit().await?;
    let has_more = found.len() > EVENTS_SHOWN;
    found.truncate(EVENTS_SHOWN);
    let next = found
        .last()
        .filter(|_| has_more)
        .map(|last| (last.at, last.id));
    Ok((found, next))
}

/// A memory in a difference.
#[derive(Clone, Debug)]
pub struct Differs {
    pub id: ItemId,
    pub beginning: String,
    /// What had taken its place by the later day, at the end of the chain.
    pub instead: Option<ItemId>,
}

/// What was known on the later of two days and not on the earlier, and the other way about.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    pub added: Vec<Differs>,
    pub gone: Vec<Differs>,
    /// The old, and the new that stands in its place.
    pub changed: Vec<(Differs, Differs)>,
    /// There is more than [`DIFFERENCE_SHOWN`] of one of them.
    pub is_cut: bool,
}

/// The difference of two moments, the earlier first.
///
/// # Errors
/// Only what the database says.
pub async fn difference(
    db: &Db,
    user: UserId,
    (earlier, later): (OffsetDateTime, OffsetDateTime),
) -> Result<Difference, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let mut known = Vec::with_capacity(2);
    for as_of in [earlier, later] {
        let day = Day {
            as_of: Some(as_of),
            at: None,
        };
        let ids = days::list_ids(&mut tx, user, &day, as_of, None).await?;
        known.push(ids.into_iter().collect::<HashSet<i64>>());
    }
    let newest = |one: usize, other: usize| -> Vec<i64> {
        let mut ids: Vec<i64> = known[one].difference(&known[other]).copied().collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    };
    let (mut added, mut gone) = (newest(1, 0), newest(0, 1));
    let is_cut = added.len().max(gone.len()) > DIFFERENCE_SHOWN;
    added.truncate(DIFFERENCE_SHOWN);
    gone.truncate(DIFFERENCE_SHOWN);
    let gone = store::list_differing(&mut tx, user, &gone, later).await?;
    // What took the place of something is told with it, wherever it would stand.
    let news: Vec<i64> = gone
        .iter()
        .filter_map(|old| old.instead)
        .map(|id| id.0)
        .collect();
    added.extend(
        news.iter()
            .filter(|id| !added.contains(id))
            .collect::<HashSet<_>>(),
    );
    let added = store::list_differing(&mut tx, user, &added, later).await?;
    tx.commit().await?;
    let mut told = Difference {
        is_cut,
        ..Difference::default()
    };
    for old in gone {
        let new = old
            .instead
            .and_then(|id| added.iter().find(|new| new.id == id));
        match new {
            Some(new) => told.changed.push((old, new.clone())),
            None => told.gone.push(old),
        }
    }
    told.added = added
        .into_iter()
        .filter(|new| !news.contains(&new.id.0))
        .collect();
    Ok(told)
}

/// One of the memories that a fact was told by.
#[derive(Clone, Debug)]
pub struct OfFact {
    pub id: ItemId,
    pub beginning: String,
    pub added_at: OffsetDateTime,
    /// When it was true, as far as is known; it ends where another took its place.
    pub period: Period,
}

/// How the fact of an item's key changed, newest first; nothing where it never did.
///
/// # Errors
/// Only what the database says.
pub async fn of_fact(db: &Db, user: UserId, item: ItemId) -> Result<Vec<OfFact>, sqlx::Error> {
    const SHOWN: i64 = 20;
    let mut tx = db.as_user(user).await?;
    let found = store::list_of_fact(&mut tx, user, item, SHOWN).await?;
    tx.commit().await?;
    Ok(if found.len() > 1 { found } else { Vec::new() })
}
