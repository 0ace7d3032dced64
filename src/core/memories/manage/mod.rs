//! A user's decisions about one memory in the browser, each undoable within [`UNDO_FOR`]. An undo is an event of its own and
//! restores the state kept by the event before it. An admin can make the browser read-only.

pub mod store;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use self::store::{change_item, list_replaced, list_rivals};
use super::history::{ItemEvent, ItemState};
use super::model::{ItemId, MemoryItem, Status};
use super::store::{archive_items, find_item, find_to_read, list_events};
use super::{ARCHIVED, CONFIRMED, EXPIRED, MemoryError, OWNED, RESTORED, SHARED, UNCONFIRMED};
use crate::accounts::UserId;
use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::activity::RunningCall;
use crate::clock::SharedClock;
use crate::db::{Db, citus, note_changes};
use crate::input::Invalid;
use crate::providers::settings::store as settings;

/// How long an undo is offered.
pub const UNDO_FOR: Duration = Duration::seconds(10);
/// Grace period for a request sent in time.
pub const ON_ITS_WAY_FOR: Duration = Duration::seconds(2);

/// An active item that takes the place of an archived one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub id: ItemId,
    /// Its first [`Replacement::CHARS_MAX`] characters.
    pub beginning: String,
}

impl Replacement {
    pub const CHARS_MAX: i32 = 120;
}

/// The result of restoring an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreOutcome {
    Done,
    /// Nothing changed: these items are active in its place.
    Replaced(Vec<Replacement>),
}

/// An item; other sources cannot be changed.
pub(super) async fn find(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<MemoryItem, MemoryError> {
    let found = find_item(conn, user, id).await?;
    found.ok_or(MemoryError::NotFound(id))
}

/// An item or an episode.
pub async fn find_deletable(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<Option<MemoryItem>, sqlx::Error> {
    let found = find_to_read(conn, user, id).await?;
    Ok(found.filter(|item| item.theme.is_some() || item.span.is_some()))
}

/// The active items in this item's place; expired ones among them are archived.
pub(super) async fn rivals(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
    now: OffsetDateTime,
) -> Result<Vec<Replacement>, sqlx::Error> {
    let (mut live, mut expired) = (Vec::new(), Vec::new());
    for (rival, expires_at) in list_rivals(conn, user, id, now).await? {
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

/// The last event of an item, if the user caused it and can still undo it. `history` is oldest first.
pub fn undoable(history: &[ItemEvent], now: OffsetDateTime) -> Option<&ItemEvent> {
    let last = history.last().filter(|last| last.agent.is_none())?;
    (reverse_of(&last.event).is_some() && now - last.at < UNDO_FOR).then_some(last)
}

/// Undoes the last event of an item, caused by the user. Idempotent.
pub async fn undo(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
    event: i64,
) -> Result<RestoreOutcome, MemoryError> {
    let (viewer, now) = (&call.viewer, clock.now());
    let user = viewer.user_id;
    let mut tx = db.as_writer(user).await?;
    let item = find(&mut tx, user, id).await?;
    let latest = list_events(&mut tx, user, id, 2).await?;
    let Some(undone) = latest.first().filter(|last| last.id == event) else {
        return match is_undone(&latest, event) {
            true => Ok(RestoreOutcome::Done),
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
            return Ok(RestoreOutcome::Replaced(rivals));
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
    Ok(RestoreOutcome::Done)
}

/// Makes an item visible to all agents, or only to the one that added it. Idempotent.
///
/// # Errors
/// [`Invalid`] if an active item there has its text or key.
pub async fn set_owner(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
    alone: bool,
) -> Result<(), MemoryError> {
    let user = call.viewer.user_id;
    let mut tx = db.as_writer(user).await?;
    find(&mut tx, user, id).await?;
    if alone {
        let what = "Agents have no memory of their own";
        citus::require_one_server(&mut tx, "action", what).await??;
    }
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
        store::delete_derived(&mut tx, id).await?;
        note_changes(&mut tx, &[id.0]).await?;
    }
    call.write(&mut tx, vec![id.0]).await?;
    tx.commit().await?;
    Ok(())
}

/// Whether the last event is the user's undo of this one.
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

/// Whether the browser is read-only for all users.
pub async fn is_browser_read_only(db: &Db) -> Result<bool, sqlx::Error> {
    settings::is_browser_read_only(&mut *db.system_connection().await?).await
}

/// Records an audit entry if the setting changes.
pub async fn set_browser_read_only(
    db: &Db,
    clock: &SharedClock,
    read_only: bool,
) -> Result<(), sqlx::Error> {
    let now = clock.now();
    let mut tx = db.as_system().await?;
    if settings::set_browser_read_only(&mut tx, read_only, now).await? {
        let action = match read_only {
            true => AdminAction::CloseBrowser,
            false => AdminAction::OpenBrowser,
        };
        let (by, subject) = (AdminActor::current(), AdminSubject::Nobody);
        admin_events::record(&mut tx, by, action, subject, now).await?;
    }
    tx.commit().await
}
