//! Takes back all that one author (an agent, or the person) has changed within a time: added items are archived, archived and
//! replaced ones restored, changed ones set back. An item that somebody else has changed since stays as it is. Taking back is
//! itself a change of the person, at one moment, and can be taken back.

mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::history::{ItemEvent, ItemState};
use super::manage::rivals;
use super::manage::store::change_item;
use super::model::{ItemId, Status};
use super::store::{archive_items, find_item};
use super::{ADDED, ARCHIVED, CHANGED, MERGED, PUT_ASIDE, RESTORED, SUPERSEDED};
use crate::accounts::{AgentId, UserId, Viewer};

/// Limit on the items taken back at once.
pub const ITEMS_MAX: i64 = 10_000;

/// Whose changes, and from when until when, both inclusive.
#[derive(Clone, Copy, Debug)]
pub struct ChangedBy {
    /// `None`: the person.
    pub agent: Option<AgentId>,
    /// The agent whose undos, and what took them back, are no changes of somebody else.
    pub undos_of: AgentId,
    pub from: OffsetDateTime,
    pub until: OffsetDateTime,
}

/// The items that an author has changed, by what taking back means for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemsChangedBy {
    /// To archive.
    pub added: Vec<i64>,
    /// To restore.
    pub gone: Vec<i64>,
    /// To set back.
    pub changed: Vec<i64>,
    /// How many somebody else has changed since.
    pub stay: usize,
    /// There are more than [`ITEMS_MAX`].
    pub are_too_many: bool,
}

/// How many items were taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    pub archived: usize,
    pub restored: usize,
    pub set_back: usize,
    /// Changed by somebody else since, or another one is active in their place.
    pub stay: usize,
}

/// The state of an item before its first change by an author.
struct Touched {
    item: ItemId,
    status: Status,
    first: ItemEvent,
    is_changed_since: bool,
}

enum Before {
    /// It did not exist, or was archived.
    Archived,
    /// It was active, and is archived.
    Active,
    /// It had another state.
    Changed,
    /// It is as it was.
    Same,
    /// Somebody else has changed it since, or it is not known: an agent's second change within an hour keeps no state, or it got
    /// its key or another owner.
    Unknown,
}

impl Touched {
    fn before(&self) -> Before {
        let event = self.first.event.as_str();
        let was_there = ![ADDED, RESTORED].contains(&event);
        let has_left = [ARCHIVED, SUPERSEDED, PUT_ASIDE, MERGED].contains(&event);
        match (was_there, self.status) {
            _ if self.is_changed_since => Before::Unknown,
            (false, Status::Active) => Before::Archived,
            (false, Status::Archived) => Before::Same,
            (true, Status::Archived) if has_left || self.first.was.is_some() => Before::Active,
            (true, Status::Active) if has_left => Before::Same,
            (true, Status::Active) if self.first.was.is_some() => Before::Changed,
            _ => Before::Unknown,
        }
    }
}

/// # Errors
/// Database errors only.
pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    by: ChangedBy,
) -> Result<ItemsChangedBy, sqlx::Error> {
    let touched = store::list_touched(conn, user, by, ITEMS_MAX + 1).await?;
    let mut found = ItemsChangedBy {
        are_too_many: touched.len() > ITEMS_MAX as usize,
        ..ItemsChangedBy::default()
    };
    for one in touched {
        let id = one.item.0;
        match one.before() {
            Before::Same => {}
            Before::Unknown => found.stay += 1,
            Before::Archived => found.added.push(id),
            Before::Active => found.gone.push(id),
            Before::Changed => found.changed.push(id),
        }
    }
    Ok(found)
}

/// Takes back what [`find`] finds, all at `now`. Needs a transaction of [`Db::as_writer`](crate::db::Db::as_writer).
///
/// # Errors
/// Database errors only.
pub async fn take_back_in(
    conn: &mut PgConnection,
    user: UserId,
    by: ChangedBy,
    now: OffsetDateTime,
) -> Result<TakenBack, sqlx::Error> {
    let viewer = Viewer::person(user);
    let mut taken = TakenBack::default();
    let touched = store::list_touched(conn, user, by, ITEMS_MAX).await?;
    taken.stay = touched.iter().filter(|one| matches!(one.before(), Before::Unknown)).count();
    // First what makes room: an added item may have the key of a restored one.
    let mut added = Vec::new();
    for one in touched.iter().filter(|one| matches!(one.before(), Before::Archived)) {
        match &one.first.was {
            // It was archived before; its link to what replaced it comes back.
            Some(was) => {
                let Some(item) = find_item(conn, user, one.item).await? else {
                    continue;
                };
                let event = if was.superseded_by.is_some() { SUPERSEDED } else { ARCHIVED };
                change_item(conn, &viewer, &item, Status::Archived, was, Some(event), now).await?;
                taken.archived += 1;
            }
            None => added.push(one.item.0),
        }
    }
    taken.archived += archive_items(conn, user, None, &added, ARCHIVED, now).await?.len();
    for one in &touched {
        let was = one.first.was.clone();
        let is_done = match one.before() {
            Before::Active => {
                let confidence = one.first.was_confidence;
                restore(conn, &viewer, one.item, (was, confidence), now).await?
            }
            Before::Changed => match was {
                Some(was) => set_back(conn, &viewer, one.item, &was, now).await?,
                None => false,
            },
            _ => continue,
        };
        match (is_done, one.before()) {
            (false, _) => taken.stay += 1,
            (true, Before::Changed) => taken.set_back += 1,
            (true, _) => taken.restored += 1,
        }
    }
    // What held until an item of this author began, also gave way to it.
    for id in store::list_displaced(conn, user, &added, by.from).await? {
        taken.restored += usize::from(restore(conn, &viewer, id, (None, None), now).await?);
    }
    Ok(taken)
}

/// Makes an archived item active again, as it was. False if another one is active in its place.
async fn restore(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    (was, confidence): (Option<ItemState>, Option<i16>),
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let Some(item) = find_item(conn, viewer.user_id, id).await? else {
        return Ok(false);
    };
    if !rivals(conn, viewer.user_id, id, now).await?.is_empty() {
        return Ok(false);
    }
    let was = was.unwrap_or_else(|| ItemState {
        confidence: confidence.unwrap_or(item.confidence),
        superseded_by: None,
        ..item.state()
    });
    let (active, was) = (Status::Active, was.lasting(now));
    change_item(conn, viewer, &item, active, &was, Some(RESTORED), now).await?;
    Ok(true)
}

/// False if another active item has its key or text at the time it was of.
async fn set_back(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    was: &ItemState,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let Some(item) = find_item(conn, viewer.user_id, id).await? else {
        return Ok(false);
    };
    let is_moved = item.period != was.period;
    if is_moved && store::is_in_way(conn, viewer.user_id, id, was.period, now).await? {
        return Ok(false);
    }
    change_item(conn, viewer, &item, item.status, was, Some(CHANGED), now).await?;
    Ok(true)
}
