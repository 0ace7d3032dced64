//! The one stream of what happened in a user's memory, in the order in which it was committed: `GET /api/v1/changes` reads
//! it, and webhooks are told from it. It holds ids, kinds and dates, never content: a text that was deleted stands in no
//! copy of the stream.
//!
//! Events of items are those that [`write`](super::write) and its neighbours keep anyway. Ids of all events are drawn while
//! the user's revision is locked, so who has read up to an id has missed nothing before it.

mod cursor;
pub mod store;

pub use cursor::{CursorError, FeedCursor};

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::ItemId;
use super::item_type::ItemType;
use super::model::Status;
use super::projects::ProjectId;
use crate::db::{Db, UserId, labels};
use crate::json::json_labels;

/// Events scanned by one read, whether they are wanted or not.
const SCANNED_MAX: i64 = 1_000;
/// A cursor may be this old. Events that are no items' are kept a day longer.
pub const CURSOR_LIFETIME: Duration = Duration::days(30);
const KEPT: Duration = Duration::days(31);

labels! {
    /// What happened. The names are part of the API.
    pub enum FeedEventType {
        Stored = "memory.stored",
        Changed = "memory.changed",
        Superseded = "memory.superseded",
        Faded = "memory.faded",
        Archived = "memory.archived",
        Restored = "memory.restored",
        Erased = "memory.erased",
        DreamProposed = "dream.proposed",
        JobFailed = "job.failed",
    }
}

json_labels!(FeedEventType: FeedEventType::ALL);

impl FeedEventType {
    /// Of a column, whose CHECK allows known values only.
    fn of_row(event: &str) -> Self {
        match event {
            super::ADDED | "imported" => Self::Stored,
            super::SUPERSEDED | super::PUT_ASIDE | super::MERGED => Self::Superseded,
            super::FADED => Self::Faded,
            super::ARCHIVED | super::EXPIRED | super::READ_AGAIN => Self::Archived,
            super::RESTORED => Self::Restored,
            "erased" => Self::Erased,
            "dream_proposed" => Self::DreamProposed,
            "job_failed" => Self::JobFailed,
            _ => Self::Changed,
        }
    }
}

/// A memory as it is when the event is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    pub item_type: ItemType,
    pub status: Status,
    /// Its theme's slug.
    pub theme: Option<String>,
    pub project_id: Option<ProjectId>,
    /// Name of its project.
    pub project: Option<String>,
    pub superseded_by: Option<ItemId>,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedSubject {
    Item(ItemId, FeedItem),
    ErasedItem(ItemId),
    Dream(i64),
    /// By its name.
    Job(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEvent {
    /// Increases in the order of commits.
    pub id: i64,
    pub event_type: FeedEventType,
    pub at: OffsetDateTime,
    pub subject: FeedSubject,
}

/// Some of the stream, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPage {
    pub events: Vec<FeedEvent>,
    /// Up to which id it was read.
    pub position: i64,
    /// There may be more after that; a page can be empty before it.
    pub has_more: bool,
}

/// The events after `position` that are of these types, at most `limit`. Leaves out what the transaction's agent does not
/// see. Costs at most a scan of [`SCANNED_MAX`] events.
pub async fn read_in(
    conn: &mut PgConnection,
    user: UserId,
    position: i64,
    wanted: &[FeedEventType],
    limit: usize,
    now: OffsetDateTime,
) -> Result<FeedPage, sqlx::Error> {
    let rows = store::list_after(conn, user, position, SCANNED_MAX, now).await?;
    let is_cut = rows.len() as i64 >= SCANNED_MAX;
    let mut page = FeedPage { events: Vec::new(), position, has_more: is_cut };
    for row in rows {
        if page.events.len() == limit {
            page.has_more = true;
            return Ok(page);
        }
        page.position = row.id;
        let event = row.event();
        page.events.extend(event.filter(|event| wanted.contains(&event.event_type)));
    }
    Ok(page)
}

/// [`read_in`] a transaction of its own.
pub async fn read(
    db: &Db,
    user: UserId,
    position: i64,
    wanted: &[FeedEventType],
    limit: usize,
    now: OffsetDateTime,
) -> Result<FeedPage, sqlx::Error> {
    db.for_user(user, async |conn, user| read_in(conn, user, position, wanted, limit, now).await)
        .await
}

/// Up to where the stream goes now.
pub async fn position_now(db: &Db, user: UserId) -> Result<i64, sqlx::Error> {
    db.for_user(user, store::find_newest).await
}

/// Deletes old events that are no items'. Returns how many.
pub async fn prune(db: &Db, now: OffsetDateTime) -> Result<u64, sqlx::Error> {
    let mut conn = db.system_connection().await?;
    store::prune(&mut conn, now - KEPT).await
}
