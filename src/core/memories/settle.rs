//! Resolves two conflicting or duplicate memories, as proposed by a dream, and undoes that, also much later, unless
//! something newer depends on it.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::add::store::link;
use super::history::ItemState;
use super::manage::rivals;
use super::manage::store::{change_item, find_changed_at};
use super::model::{ItemId, MemoryItem, Status, TAGS_MAX};
use super::period::Period;
use super::provenance::ItemSource;
use super::trust::{Newcomer, Trust, Verdict, verdict};
use super::{CHANGED, MERGED, RESTORED, SUPERSEDED, store};
use crate::accounts::{UserId, Viewer};

/// How the two memories relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Duplicates: the kept one takes over the tags and period of the other.
    Same,
    /// One supersedes the other.
    InPlace,
}

/// Who decided which one is archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    Person,
    /// May not archive what the user said or confirmed, nor what is more trusted or newer.
    Dream,
}

/// Two memories; `gone` is archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemPair {
    pub gone: ItemId,
    pub kept: ItemId,
}

/// The result of undoing a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettlementUndo {
    Done,
    /// The item was changed since; nothing was undone.
    Changed,
    /// This newer item depends on the change; nothing was undone.
    StoodOn(ItemId),
}

/// Archives `gone` in favour of `kept`. Returns false, with nothing changed, if one of them is not active any more, they
/// have different owners, or the decider is not allowed to. Needs a transaction of
/// [`Db::as_writer`](crate::db::Db::as_writer).
///
/// # Errors
/// Database errors only.
pub async fn settle_in(
    conn: &mut PgConnection,
    user: UserId,
    pair: ItemPair,
    (stands, decider): (Settlement, Decider),
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let Some((gone, kept)) = find_live(&mut *conn, user, pair, now).await? else {
        return Ok(false);
    };
    if decider == Decider::Dream && !may_give_way(&gone, &kept, stands) {
        return Ok(false);
    }
    let viewer = Viewer::person(user);
    let event = match stands {
        Settlement::Same => MERGED,
        Settlement::InPlace => SUPERSEDED,
    };
    store::archive_items(&mut *conn, user, None, &[gone.id.0], event, now).await?;
    link(&mut *conn, user, gone.id, kept.id).await?;
    // A dream changes nothing of what the person confirmed.
    if stands == Settlement::Same && !(kept.locked && decider == Decider::Dream) {
        let state = with_what_it_says(&kept, &gone);
        if state != kept.state() {
            let active = Status::Active;
            change_item(conn, &viewer, &kept, active, &state, Some(CHANGED), now).await?;
        }
    }
    Ok(true)
}

/// Both items, if they are active, have one owner and tell of one time. Always read in ascending id order.
async fn find_live(
    conn: &mut PgConnection,
    user: UserId,
    pair: ItemPair,
    now: OffsetDateTime,
) -> Result<Option<(MemoryItem, MemoryItem)>, sqlx::Error> {
    let (first, second) = (pair.gone.min(pair.kept), pair.gone.max(pair.kept));
    let first = store::find_item(&mut *conn, user, first).await?;
    let second = store::find_item(conn, user, second).await?;
    let Some((first, second)) = first.zip(second) else {
        return Ok(None);
    };
    let is_live = |item: &MemoryItem| item.status_at(now) == Status::Active && item.theme.is_some();
    let is_of_one_time = first.period.meets(second.period, now);
    if !is_live(&first)
        || !is_live(&second)
        || first.owner != second.owner
        || first.id == second.id
        || !is_of_one_time
    {
        return Ok(None);
    }
    Ok(Some(match first.id == pair.gone {
        true => (first, second),
        false => (second, first),
    }))
}

/// Whether `gone` can be archived without asking the user.
pub fn may_give_way(gone: &MemoryItem, kept: &MemoryItem, stands: Settlement) -> bool {
    let is_guess = kept.source == ItemSource::Guess.as_str() && !kept.protected;
    if gone.protected || gone.trust == Trust::User || is_guess {
        return false;
    }
    if stands == Settlement::Same {
        return !kept.trust.is_below(gone.trust);
    }
    let newcomer = Newcomer { trust: kept.trust, said_at: Some(kept.stated_at()) };
    verdict(gone.as_holder(), newcomer) == Verdict::Supersedes
}

fn with_what_it_says(kept: &MemoryItem, gone: &MemoryItem) -> ItemState {
    let mut tags = kept.tags.clone();
    for tag in &gone.tags {
        if tags.len() < TAGS_MAX && !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    ItemState { tags, period: kept.period.or(gone.period), ..kept.state() }
}

/// Undoes what was settled at `settled_at`. Needs a transaction of [`Db::as_writer`](crate::db::Db::as_writer).
///
/// # Errors
/// Database errors only.
pub async fn take_back_in(
    conn: &mut PgConnection,
    user: UserId,
    pair: ItemPair,
    settled_at: OffsetDateTime,
    now: OffsetDateTime,
) -> Result<SettlementUndo, sqlx::Error> {
    let gone = store::find_item(&mut *conn, user, pair.gone).await?;
    let kept = store::find_item(&mut *conn, user, pair.kept).await?;
    let Some((gone, kept)) = gone.zip(kept) else {
        return Ok(SettlementUndo::Changed);
    };
    let latest = store::list_events(&mut *conn, user, gone.id, 1).await?;
    let settled = latest
        .first()
        .filter(|last| last.at == settled_at && [MERGED, SUPERSEDED].contains(&&*last.event));
    let Some(settled) = settled.filter(|_| gone.status == Status::Archived) else {
        return Ok(SettlementUndo::Changed);
    };
    if let Some(newer) = kept.superseded_by.filter(|_| kept.status == Status::Archived) {
        return Ok(SettlementUndo::StoodOn(newer));
    }
    let rivals = rivals(&mut *conn, user, gone.id, now).await?;
    if let Some(rival) = rivals.iter().find(|rival| rival.id != kept.id) {
        return Ok(SettlementUndo::StoodOn(rival.id));
    }
    let viewer = Viewer::person(user);
    let back = ItemState {
        confidence: settled.was_confidence.unwrap_or(gone.confidence),
        superseded_by: None,
        ..gone.state().lasting(now)
    };
    let active = Status::Active;
    change_item(&mut *conn, &viewer, &gone, active, &back, Some(RESTORED), now).await?;
    let changed = find_changed_at(&mut *conn, user, kept.id, settled.id, settled_at).await?;
    if let Some((tags, period)) = changed {
        let state = without_what_it_said(&kept, &gone, &tags, period);
        if state != kept.state() {
            change_item(conn, &viewer, &kept, kept.status, &state, Some(CHANGED), now).await?;
        }
    }
    Ok(SettlementUndo::Done)
}

/// Removes the tags and the period that `kept` took over from `gone`; it had these before.
fn without_what_it_said(
    kept: &MemoryItem,
    gone: &MemoryItem,
    tags: &[String],
    period: Period,
) -> ItemState {
    let mut state = kept.state();
    state.tags.retain(|tag| tags.contains(tag) || !gone.tags.contains(tag));
    if state.period == period.or(gone.period) {
        state.period = period;
    }
    state
}
