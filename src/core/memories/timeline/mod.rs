//! Changes of a memory by day: how much was learned per day of a year, and a stream of events.

pub mod store;

use time::{Duration, OffsetDateTime};

use super::model::ItemId;
use super::period::Period;
use crate::db::{Db, UserId};

/// Page size of the stream.
pub const EVENTS_SHOWN: usize = 50;

/// Keyset cursor of the stream: time and id of the last event.
pub type EventCursor = (OffsetDateTime, i64);

/// The subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSubject {
    Item(ItemId),
    Entity(i64),
    Dream(i64),
}

/// An event of a memory, an entity or a dream.
#[derive(Clone, Debug)]
pub struct TimelineEvent {
    pub id: i64,
    pub at: OffsetDateTime,
    /// An item event (`added`, `superseded`, …), an entity decision (`merged`, `split`, …), or `dreamt`.
    pub event: String,
    /// Name of the agent that caused it; `None` for the user and for jobs.
    pub agent: Option<String>,
    pub about: EventSubject,
    /// The first [`CHARS_MAX`] characters of its text; an entity's name; the path of a dream's document.
    pub beginning: String,
    /// A memory's source; otherwise empty.
    pub source: String,
    /// The session that a memory was read from.
    pub session: Option<i64>,
    /// The item that replaced it and its beginning, for events that replace.
    pub instead: Option<(ItemId, String)>,
    /// Set if a dream proposed it: whether the dream also applied it.
    pub by_dream: Option<bool>,
}

pub const CHARS_MAX: i32 = 160;

/// Memories learned between consecutive points in time; the last one only ends the last interval.
///
/// # Errors
/// Database errors only.
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
        if let Some(count) = usize::try_from(day - 1).ok().and_then(|at| counts.get_mut(at)) {
            *count = n;
        }
    }
    Ok(counts)
}

/// Events from the first point in time (inclusive) to the second (exclusive), newest first: at most [`EVENTS_SHOWN`], and
/// the cursor of the next page.
///
/// # Errors
/// Database errors only.
pub async fn stream(
    db: &Db,
    user: UserId,
    within: (OffsetDateTime, OffsetDateTime),
    before: Option<EventCursor>,
) -> Result<(Vec<TimelineEvent>, Option<EventCursor>), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let most = EVENTS_SHOWN as i64 + 1;
    let mut found = store::list_events(&mut tx, user, within, before, most).await?;
    tx.commit().await?;
    let has_more = found.len() > EVENTS_SHOWN;
    found.truncate(EVENTS_SHOWN);
    let next = found.last().filter(|_| has_more).map(|last| (last.at, last.id));
    Ok((found, next))
}

/// One value in the history of a fact.
#[derive(Clone, Debug)]
pub struct FactVersion {
    pub id: ItemId,
    pub beginning: String,
    pub added_at: OffsetDateTime,
    /// When it was true, as far as known; it ends when superseded.
    pub period: Period,
}

/// The history of the fact with the item's key, newest first; empty if it never changed.
///
/// # Errors
/// Database errors only.
pub async fn of_fact(db: &Db, user: UserId, item: ItemId) -> Result<Vec<FactVersion>, sqlx::Error> {
    const SHOWN: i64 = 20;
    let mut tx = db.as_user(user).await?;
    let found = store::list_of_fact(&mut tx, user, item, SHOWN).await?;
    tx.commit().await?;
    Ok(if found.len() > 1 { found } else { Vec::new() })
}

/// Days that [`week`] looks back and ahead.
const WEEK_DAYS: i64 = 7;

/// What changed in the last seven days, and what expires in the next seven.
#[derive(Clone, Debug, Default)]
pub struct Week {
    pub learned: i64,
    /// Replaced by a newer memory.
    pub changed: i64,
    /// Expired or faded.
    pub ended: i64,
    pub lines: Vec<ReviewLine>,
}

/// A memory of the week: it has either what replaced it, when it expires, or how often it was used.
#[derive(Clone, Debug)]
pub struct ReviewLine {
    pub id: ItemId,
    /// The first [`CHARS_MAX`] characters of its text.
    pub beginning: String,
    pub instead: Option<(ItemId, String)>,
    pub expires_at: Option<OffsetDateTime>,
    pub uses: Option<i64>,
}

/// The week of a memory, with up to three lines of each kind.
///
/// # Errors
/// Database errors only.
pub async fn week(db: &Db, user: UserId, now: OffsetDateTime) -> Result<Week, sqlx::Error> {
    const SHOWN: i64 = 3;
    let (since, until) = (now - Duration::days(WEEK_DAYS), now + Duration::days(WEEK_DAYS));
    let mut tx = db.as_user(user).await?;
    let counts = store::count_week(&mut tx, user, since).await?;
    let lines = store::list_week(&mut tx, user, (since, now, until), SHOWN).await?;
    tx.commit().await?;
    Ok(Week { lines, ..counts })
}
