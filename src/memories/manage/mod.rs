//! What a person decides about one memory in the browser, and takes back within [`UNDO_FOR`]: an undo
//! is an event of its own, and puts back what the event before it kept. A permanent deletion waits for
//! as long in the item's row, and a job does it. An admin may leave everybody the list alone.

pub mod store;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use self::store::{change_item, list_replaced, list_rivals};
use super::history::{ItemEvent, ItemState};
use super::model::{Item, ItemId, Status};
use super::store::{archive_items, find_item, find_to_read, list_events};
use super::{ARCHIVED, CONFIRMED, EXPIRED, MemoryError, OWNED, RESTORED, SHARED, UNCONFIRMED};
use crate::accounts::UserId;
use crate::accounts::people::{self, About, Act, By};
use crate::activity::Call;
use crate::clock::SharedClock;
use crate::db::{Db, note_changes};
use crate::input::Invalid;
use crate::providers::settings::store as settings;
use crate::queue;

/// Undo is offered for as long.
pub const UNDO_FOR: Duration = Duration::seconds(10);
/// What was pressed in time may arrive later.
const ON_ITS_WAY_FOR: Duration = Duration::seconds(2);
/// Users whose items are to be deleted, found at once.
const USERS_MAX: i64 = 10_000;

/// An active item that stands in the place of an archived one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    pub id: ItemId,
    /// Its first [`Rival::CHARS_MAX`] characters.
    pub beginning: String,
}

impl Rival {
    pub const CHARS_MAX: i32 = 120;
}

/// What became of a decision to have an item active again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    Done,
    /// Nothing was changed: these are active in its place.
    Replaced(Vec<Rival>),
}

/// An item, which may be changed.
pub(super) async fn find(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<Item, MemoryError> {
    let found = find_item(conn, user, id).await?;
    found.ok_or(MemoryError::NotFound(id))
}

/// An item or an episode.
async fn find_deletable(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<Option<Item>, sqlx::Error> {
    let found = find_to_read(conn, user, id).await?;
    Ok(found.filter(|item| item.theme.is_some() || item.span.is_some()))
}

/// Those in the item's place; what has expired gives way by itself.
pub(super) async fn rivals(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
    now: OffsetDateTime,
) -> Result<Vec<Rival>, sqlx::Error> {
    let (mut live, mut expired) = (Vec::new(), Vec::new());
    for (rival, expires_at) in list_rivals(conn, user, id).await? {
        match Status::Active.at(expires_at, now) {
            Status::Active => live.push(rival),
            Status::Archived => expired.push(rival.id.0),
        }
    }
    if !expired.is_empty() {
        archive_items(conn, user, None, &expired, EXPIRED, now).await?;
    }
    Ok(live)
}

fn reverse_of(event: &str) -> Option<&'static str> {
    match event {
        ARCHIVED => Some(RESTORED),
        RESTORED => Some(ARCHIVED),
        CONFIRMED => Some(UNCONFIRMED),
        UNCONFIRMED => Some(CONFIRMED),
        _ => None,
    }
}

/// The last thing that happened to an item, where the person did it and may still undo it. `history`:
/// the newest last.
pub fn undoable(history: &[ItemEvent], now: OffsetDateTime) -> Option<&ItemEvent> {
    let last = history.last().filter(|last| last.agent.is_none())?;
    (reverse_of(&last.event).is_some() && now - last.at < UNDO_FOR).then_some(last)
}

/// Takes back the last thing that happened to an item, which the person has done. Doing so twice
/// changes nothing.
pub async fn undo(
    db: &Db,
    clock: &SharedClock,
    call: &Call,
    id: ItemId,
    event: i64,
) -> Result<Restored, MemoryError> {
    let (viewer, now) = (&call.viewer, clock.now());
    let user = viewer.user_id;
    let mut tx = db.as_writer(user).await?;
    let item = find(&mut tx, user, id).await?;
    let latest = list_events(&mut tx, user, id, 2).await?;
    let Some(undone) = latest.first().filter(|last| last.id == event) else {
        return match is_undone(&latest, event) {
            true => Ok(Restored::Done),
            false => Err(MemoryError::ChangedSince),
        };
    };
    let reverse = reverse_of(&undone.event).filter(|_| undone.agent.is_none());
    let reverse = reverse.ok_or(MemoryError::ChangedSince)?;
    if now - undone.at > UNDO_FOR + ON_ITS_WAY_FOR {
        return Err(MemoryError::TooLate);
    }
    let was = undone.was.clone().unwrap_or_else(|| item.state());
    let mut touched = vec![id.0];
    if reverse == RESTORED {
        let rivals = rivals(&mut tx, user, id, now).await?;
        if !rivals.is_empty() {
            return Ok(Restored::Replaced(rivals));
        }
        let (active, lasting) = (Status::Active, was.lasting(now));
        change_item(&mut tx, viewer, &item, active, &lasting, Some(reverse), now).await?;
    } else if reverse == ARCHIVED {
        let archived = Status::Archived;
        change_item(&mut tx, viewer, &item, archived, &was, Some(reverse), now).await?;
        for (replaced, confidence) in list_replaced(&mut tx, user, id, undone.at).await? {
            let older = find(&mut tx, user, replaced).await?;
            if !rivals(&mut tx, user, replaced, now).await?.is_empty() {
                return Err(MemoryError::ChangedSince);
            }
            let back = ItemState {
                confidence: confidence.unwrap_or(older.confidence),
                superseded_by: None,
                ..older.state().lasting(now)
            };
            let (active, event) = (Status::Active, Some(RESTORED));
            change_item(&mut tx, viewer, &older, active, &back, event, now).await?;
            touched.push(replaced.0);
        }
    } else {
        let status = item.status;
        change_item(&mut tx, viewer, &item, status, &was, Some(reverse), now).await?;
    }
    call.write(&mut tx, touched).await?;
    tx.commit().await?;
    Ok(Restored::Done)
}

/// Who sees it: all agents, or the one alone that added it. Doing so again changes nothing.
///
/// # Errors
/// [`Invalid`] where one of its text or key is there already.
pub async fn set_owner(
    db: &Db,
    clock: &SharedClock,
    call: &Call,
    id: ItemId,
    alone: bool,
) -> Result<(), MemoryError> {
    let user = call.viewer.user_id;
    let mut tx = db.as_writer(user).await?;
    find(&mut tx, user, id).await?;
    if store::meets_in(&mut tx, user, id, alone).await? {
        return Err(Invalid::new(
            "action",
            "exists",
            "A memory of the same text or key is there already; archive that one first.",
        )
        .into());
    }
    let event = if alone { OWNED } else { SHARED };
    if store::set_owner(&mut tx, user, id, event, clock.now()).await? {
        store::untell(&mut tx, id).await?;
        note_changes(&mut tx, &[id.0]).await?;
    }
    call.write(&mut tx, vec![id.0]).await?;
    tx.commit().await?;
    Ok(())
}

/// Whether the last event, the person's, took back this one.
fn is_undone(latest: &[ItemEvent], event: i64) -> bool {
    match latest {
        [last, before] => {
            before.id == event
                && last.agent.is_none()
                && reverse_of(&before.event) == Some(last.event.as_str())
        }
        _ => false,
    }
}

/// The item is deleted permanently in [`UNDO_FOR`]. Asking again changes nothing.
pub async fn delete_soon(
    db: &Db,
    clock: &SharedClock,
    user: UserId,
    id: ItemId,
) -> Result<(), MemoryError> {
    let at = clock.now() + UNDO_FOR;
    let mut tx = db.as_writer(user).await?;
    if store::set_delete_at(&mut tx, user, id, at).await? {
        queue::push(&mut tx, user, queue::DELETE, 1, at).await?;
    } else if find_deletable(&mut tx, user, id).await?.is_none() {
        return Err(MemoryError::NotFound(id));
    }
    tx.commit().await?;
    Ok(())
}

/// Takes that back. Doing so again changes nothing.
pub async fn keep(
    db: &Db,
    clock: &SharedClock,
    user: UserId,
    id: ItemId,
) -> Result<(), MemoryError> {
    let mut tx = db.as_writer(user).await?;
    let item = find_deletable(&mut tx, user, id).await?;
    let item = item.ok_or(MemoryError::NotFound(id))?;
    // Read after the wait for whoever was at it.
    let now = clock.now();
    match item.delete_at {
        Some(at) if now > at + ON_ITS_WAY_FOR => return Err(MemoryError::TooLate),
        Some(_) => store::clear_delete_at(&mut tx, user, id).await?,
        None => {}
    }
    tx.commit().await?;
    Ok(())
}

/// Whose items are to be deleted, and from when on.
pub async fn users_with_deletions(db: &Db) -> Result<Vec<(UserId, OffsetDateTime)>, sqlx::Error> {
    let mut conn = db.system_connection().await?;
    store::list_users_with_deletions(&mut conn, USERS_MAX).await
}

/// Whether everybody's pages show memories and change none.
pub async fn is_browser_read_only(db: &Db) -> Result<bool, sqlx::Error> {
    settings::is_browser_read_only(&mut *db.system_connection().await?).await
}

/// Recorded where it changes anything.
pub async fn set_browser_read_only(
    db: &Db,
    clock: &SharedClock,
    read_only: bool,
) -> Result<(), sqlx::Error> {
    let now = clock.now();
    let mut tx = db.as_system().await?;
    if settings::set_browser_read_only(&mut tx, read_only, now).await? {
        let act = match read_only {
            true => Act::CloseBrowser,
            false => Act::OpenBrowser,
        };
        people::record(&mut tx, By::current(), act, About::Nobody, now).await?;
    }
    tx.commit().await
}
