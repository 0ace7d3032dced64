//! Adds items. An exact duplicate is not stored twice. An item with a key supersedes the active item of that key, which is
//! archived and linked. All items are added here; the text of an existing item is never changed.

pub(super) mod store;
mod together;

pub use together::Adding;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::derived::store::note_repeat;
use super::history::ItemState;
use super::manage::store::change_item;
use super::model::{ItemId, ItemType, MemoryItem, NewItem, Status, TAGS_MAX};
use super::period::Period;
use super::provenance::ConflictPolicy;
use super::quota::too_many_themes;
use super::store::{archive_items, find_item};
use super::themes::store::{ThemeId, ensure_theme};
use super::trust::{Holder, Newcomer, StayReason, Trust, Verdict, verdict};
use super::write::{NewSource, write};
use super::{CHANGED, EXPIRED, MemoryError, SUPERSEDED};
use crate::accounts::Viewer;
use crate::activity;
use crate::embedding::{EmbeddingState, Embeddings};
use crate::texts::is_same;

/// The result of adding an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedItem {
    pub id: ItemId,
    /// An identical item was already active: `id` is that item.
    pub duplicate: bool,
    /// The item of its key that it superseded.
    pub superseded: Option<ItemId>,
    /// The item that it corrects.
    pub corrected: Option<ItemId>,
    /// It was archived because this active item stays ([`ConflictPolicy::PutAside`]).
    pub put_aside_for: Option<ItemId>,
    /// Of the item, which may be known by a better word than the one that was added.
    pub trust: Trust,
    /// Of a duplicate that is of another type than the one that was added: its own, which it keeps.
    pub stays: Option<ItemType>,
    pub embedding: EmbeddingState,
}

impl AddedItem {
    pub(super) fn touched(&self) -> Vec<i64> {
        std::iter::once(self.id).chain(self.archived()).map(|id| id.0).collect()
    }

    /// The items that it archived.
    pub fn archived(&self) -> impl Iterator<Item = ItemId> {
        let superseded = self.superseded.filter(|id| Some(*id) != self.corrected);
        self.corrected.into_iter().chain(superseded)
    }

    fn new(id: ItemId, trust: Trust, embedding: EmbeddingState) -> Self {
        Self {
            id,
            trust,
            duplicate: false,
            superseded: None,
            corrected: None,
            put_aside_for: None,
            stays: None,
            embedding,
        }
    }
}

/// Adds an item in the caller's transaction, which must be one of [`Db::as_writer`](crate::db::Db::as_writer). Writes no
/// activity record. An exact duplicate in the theme is not stored twice, unless both have different keys. An
/// item with a key supersedes the active one of that key and theme; an active item with its text and no key gets the key.
///
/// # Errors
/// [`MemoryError::Confirmed`] if the active item of its key stays ([`ConflictPolicy::Refused`]). The transaction is still usable
/// after this error, but after no other.
pub async fn add_in(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    viewer: &Viewer,
    item: &NewItem,
    now: OffsetDateTime,
) -> Result<AddedItem, MemoryError> {
    match insert(conn, embeddings, viewer, item, (None, None), now).await? {
        Some(added) => Ok(added),
        None => resolve_conflict(conn, embeddings, viewer, item, now).await,
    }
}

/// `None` if [`write`] skipped it. Without a theme, it goes to that of its slug. With `aside_for` it is stored archived,
/// linked to that item.
async fn insert(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    viewer: &Viewer,
    item: &NewItem,
    (theme, aside_for): (Option<ThemeId>, Option<ItemId>),
    now: OffsetDateTime,
) -> Result<Option<AddedItem>, MemoryError> {
    let user = viewer.user_id;
    let source = NewSource {
        theme_id: theme.map(|theme| theme.0),
        is_checked: theme.is_some(),
        ..NewSource::of_item(item, viewer.agent_id, aside_for, now)
    };
    let written = write(conn, user, &[source], now).await?;
    let Some(id) = written.ids.first().copied().flatten() else {
        return Ok(None);
    };
    let embedding = embeddings.see_to(conn, user, written.noted).await?;
    Ok(Some(AddedItem::new(id, item.trust(), embedding)))
}

/// Adds an item that [`write`] skipped: an active item has its text or key, or its theme does not exist yet.
async fn resolve_conflict(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    viewer: &Viewer,
    item: &NewItem,
    now: OffsetDateTime,
) -> Result<AddedItem, MemoryError> {
    let user = viewer.user_id;
    let theme = ensure_theme(conn, user, item, now).await?;
    let theme = theme.ok_or_else(too_many_themes)?;
    let met = store::list_existing(conn, user, theme, item, now).await?;
    let (met, gone): (Vec<_>, Vec<_>) =
        met.into_iter().partition(|met| Status::Active.at(met.expires_at, now) == Status::Active);
    let gone: Vec<i64> = gone.iter().map(|met| met.id.0).collect();
    archive_items(conn, user, None, &gone, EXPIRED, now).await?;
    if let Some(same) = met.iter().find(|met| met.is_same) {
        restate(conn, viewer, same.id, item, now).await?;
        return known(conn, embeddings, viewer, same.id, item).await;
    }
    let is_locked =
        |met: &&store::ExistingItem| met.standing.is_locked && viewer.agent_id.is_some();
    // What the person confirmed gets no key of an agent either.
    if let Some(nameless) = met.iter().filter(|met| !met.is_of_key).find(is_locked) {
        return known(conn, embeddings, viewer, nameless.id, item).await;
    }
    let mut superseded = None;
    if let Some(holder) = met.iter().find(|met| met.is_of_key) {
        if item.yields() == ConflictPolicy::Never && is_locked(&holder) {
            return Err(MemoryError::Confirmed { id: holder.id });
        }
        if let Verdict::Stays(because) = verdict(holder.standing, item.as_newcomer())
            && item.yields() != ConflictPolicy::Never
        {
            return match (item.yields(), because) {
                (ConflictPolicy::Refused, StayReason::Locked) => {
                    Err(MemoryError::Confirmed { id: holder.id })
                }
                _ => add_archived(conn, embeddings, viewer, theme, item, holder.id, now).await,
            };
        }
        let ids = [holder.id.0];
        archive_items(conn, user, viewer.agent_id, &ids, SUPERSEDED, now).await?;
        superseded = Some(holder.id);
    }
    let added = match met.iter().find(|met| !met.is_of_key) {
        Some(nameless) => {
            let key = item.key().map_or("", |key| key.as_str());
            store::name_item(conn, viewer, nameless.id, key, now).await?;
            restate(conn, viewer, nameless.id, item, now).await?;
            known(conn, embeddings, viewer, nameless.id, item).await?
        }
        None => {
            let made = insert(conn, embeddings, viewer, item, (Some(theme), None), now).await?;
            // The conflicting items were archived above.
            made.ok_or(sqlx::Error::RowNotFound)?
        }
    };
    if let Some(older) = superseded {
        store::link(conn, user, older, added.id).await?;
    }
    Ok(AddedItem { superseded, ..added })
}

/// An existing item is stated again. A statement below what holds it changes nothing. One of the same trust, or the person's
/// own word, verifies it, with the higher confidence; the person's word in the same text raises its trust. An agent may repeat
/// what a tool or a page said: that brings tags, expiry and period alone. Returns false if the item is not active any more.
/// Runs in the caller's transaction.
pub async fn restate(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    item: &NewItem,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let found = find_item(conn, viewer.user_id, id).await?;
    let Some(old) = found.filter(|old| old.status_at(now) == Status::Active) else {
        return Ok(false);
    };
    let provenance = item.provenance();
    if let Some(session) = provenance.session_id {
        let (user, message) = (viewer.user_id, provenance.message_id);
        note_repeat(conn, user, id, session, message).await?;
    }
    if item.trust().is_below(old.as_holder().held_by()) {
        return Ok(true);
    }
    let has_its_text = is_same(&old.content, item.content());
    let (newcomer, mut period) = (item.as_newcomer(), old.period.with(item.period()));
    if period != old.period
        && make_room(conn, viewer, &old, period, Some(newcomer), now).await?.is_some()
    {
        period = old.period;
    }
    // An agent's word again is no evidence for what a tool or a page said.
    let is_evidence = item.trust() == Trust::User || item.trust() <= old.trust;
    let renewed = ItemState {
        confidence: match is_evidence {
            true => old.confidence.max(item.confidence()),
            false => old.confidence,
        },
        trust: match item.trust() == Trust::User && has_its_text {
            true => Trust::User,
            false => old.trust,
        },
        tags: joined(&old.tags, item.tags()),
        expires_at: expiry_of_both(&old, item, now),
        period,
        last_verified_at: match is_evidence {
            true => old.last_verified_at.max(Some(item.created_at(now))),
            false => old.last_verified_at,
        },
        ..old.state()
    };
    renew(conn, viewer, &old, &renewed, now).await?;
    Ok(true)
}

/// Before an item gets another period, or begins: archives the items with its key that this period meets, and links them to
/// it; `None` as newcomer always may, but for an agent with what the person confirmed. Returns one that stays.
pub(super) async fn make_room(
    conn: &mut PgConnection,
    viewer: &Viewer,
    item: &MemoryItem,
    period: Period,
    newcomer: Option<Newcomer>,
    now: OffsetDateTime,
) -> Result<Option<ItemId>, sqlx::Error> {
    let user = viewer.user_id;
    let in_way = store::list_in_way(conn, user, item.id, period, now).await?;
    let stays = |holder: Holder| match newcomer {
        Some(new) => verdict(holder, new) != Verdict::Supersedes,
        None => holder.is_locked && viewer.agent_id.is_some(),
    };
    if let Some((id, _)) = in_way.iter().find(|(_, holder)| stays(*holder)) {
        return Ok(Some(*id));
    }
    let ids: Vec<i64> = in_way.iter().map(|(id, _)| id.0).collect();
    archive_items(conn, user, viewer.agent_id, &ids, SUPERSEDED, now).await?;
    for (older, _) in in_way {
        store::link(conn, user, older, item.id).await?;
    }
    Ok(None)
}

/// Updates an item that was stated again. Adds an event only if more than the verification time changes.
pub(super) async fn renew(
    conn: &mut PgConnection,
    viewer: &Viewer,
    item: &MemoryItem,
    renewed: &ItemState,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let only_said_again = ItemState { last_verified_at: renewed.last_verified_at, ..item.state() };
    let event = (only_said_again != *renewed).then_some(CHANGED);
    change_item(conn, viewer, item, item.status, renewed, event, now).await?;
    activity::count_uses(conn, viewer.user_id, &[(item.id.0, 1, now)]).await
}

/// Merges tags, dropping the oldest above the limit.
fn joined(old: &[String], new: &[String]) -> Vec<String> {
    let has = |tags: &[String], tag: &String| tags.iter().any(|known| is_same(known, tag));
    let kept = old.iter().filter(|tag| !has(new, tag));
    let all: Vec<String> = kept.chain(new).cloned().collect();
    let surplus = all.len().saturating_sub(TAGS_MAX);
    match new.iter().all(|tag| has(old, tag)) {
        true => old.to_vec(),
        false => all[surplus..].to_vec(),
    }
}

/// A statement from a session does not change the expiry, and an agent cannot shorten that of one that the person confirmed.
fn expiry_of_both(old: &MemoryItem, item: &NewItem, now: OffsetDateTime) -> Option<OffsetDateTime> {
    let provenance = item.provenance();
    let is_older = item.created_at(now) < old.stated_at();
    if is_older || provenance.session_id.is_some() {
        return old.expires_at;
    }
    let new = item.expires_at(now);
    match old.locked && item.trust() != Trust::User {
        // `None` is later than any expiry.
        true => old.expires_at.zip(new).map(|(old, new)| old.max(new)),
        false => new,
    }
}

async fn known(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    viewer: &Viewer,
    id: ItemId,
    new: &NewItem,
) -> Result<AddedItem, MemoryError> {
    let item = find_item(&mut *conn, viewer.user_id, id).await?;
    let item = item.ok_or(sqlx::Error::RowNotFound)?;
    let states = embeddings.states(conn, viewer.user_id, &[id.0]).await?;
    let added = AddedItem::new(id, item.trust, states[0].state);
    let stays = Some(item.item_type).filter(|stays| *stays != new.item_type());
    Ok(AddedItem { duplicate: true, stays, ..added })
}

/// Stores the item archived, linked to the active one, whatever their trust. A new one each time: an older one may say it of
/// another time.
///
/// # Errors
/// An [`Invalid`](crate::input::Invalid) if the user has no room for its theme, or a database error.
pub(super) async fn put_aside_in(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    viewer: &Viewer,
    item: &NewItem,
    holder: ItemId,
    now: OffsetDateTime,
) -> Result<AddedItem, MemoryError> {
    let theme = ensure_theme(conn, viewer.user_id, item, now).await?;
    let theme = theme.ok_or_else(too_many_themes)?;
    let made = insert(conn, embeddings, viewer, item, (Some(theme), Some(holder)), now).await?;
    // Archived items have no uniqueness conflicts.
    Ok(AddedItem { put_aside_for: Some(holder), ..made.ok_or(sqlx::Error::RowNotFound)? })
}

/// Stores the item archived, linked to the active one. Idempotent.
async fn add_archived(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    viewer: &Viewer,
    theme: ThemeId,
    item: &NewItem,
    holder: ItemId,
    now: OffsetDateTime,
) -> Result<AddedItem, MemoryError> {
    let user = viewer.user_id;
    let known_id = store::find_aside(conn, user, theme, item, holder).await?;
    let added = match known_id {
        Some(id) => known(conn, embeddings, viewer, id, item).await?,
        None => {
            let place = (Some(theme), Some(holder));
            let made = insert(conn, embeddings, viewer, item, place, now).await?;
            // Archived items have no uniqueness conflicts.
            made.ok_or(sqlx::Error::RowNotFound)?
        }
    };
    Ok(AddedItem { put_aside_for: Some(holder), ..added })
}
