//! One of two memories gives way to the other because a dream proposed it; and what that changed is taken back, also much
//! later, unless something newer stands on it.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::add::store::link;
use super::history::ItemState;
use super::manage::rivals;
use super::manage::store::change_item;
use super::model::{Item, ItemId, Status, TAGS_MAX};
use super::trust::{Newcomer, Trust, Verdict, verdict};
use super::{CHANGED, MERGED, RESTORED, SUPERSEDED, store};
use crate::accounts::{UserId, Viewer};

/// How the two stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Both say the same: the one that stays takes over the tags and the period of the other.
    Same,
    /// One holds in the other's place.
    InPlace,
}

/// Who decides that one gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    Person,
    /// The person's word, and what they confirmed, never gives way; nor does what is trusted more or was said later.
    Dream,
}

/// Two memories, of which the first gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub gone: ItemId,
    pub kept: ItemId,
}

/// What became of taking it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBack {
    Done,
    /// It was changed by hand since, and stays as it is.
    Changed,
    /// This one stands on what was changed.
    StoodOn(ItemId),
}

/// The one gives way, in a transaction of [`Db::as_writer`](crate::db::Db::as_writer). False, with nothing changed, where one
/// of them is not active any more, they belong to different agents, or the decider may not.
///
/// # Errors
/// Only what the database says.
pub async fn settle_in(
    conn: &mut PgConnection,
    user: UserId,
    pair: Pair,
    (stands, decider): (Stands, Decider),
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
        Stands::Same => MERGED,
        Stands::InPlace => SUPERSEDED,
    };
    store::archive_items(&mut *conn, user, None, &[gone.id.0], event, now).await?;
    link(&mut *conn, user, gone.id, kept.id).await?;
    if stands == Stands::Same {
        let state = with_what_it_says(&kept, &gone);
        if state != kept.state() {
            let active = Status::Active;
            change_item(conn, &viewer, &kept, active, &state, Some(CHANGED), now).await?;
        }
    }
    Ok(true)
}

/// Both, where they are active and of one owner. The lower number is read first, as everywhere.
async fn find_live(
    conn: &mut PgConnection,
    user: UserId,
    pair: Pair,
    now: OffsetDateTime,
) -> Result<Option<(Item, Item)>, sqlx::Error> {
    let (first, second) = (pair.gone.min(pair.kept), pair.gone.max(pair.kept));
    let first = store::find_item(&mut *conn, user, first).await?;
    let second = store::find_item(conn, user, second).await?;
    let Some((first, second)) = first.zip(second) else {
        return Ok(None);
    };
    let is_live = |item: &Item| item.status_at(now) == Status::Active && item.theme.is_some();
    if !is_live(&first) || !is_live(&second) || first.owner != second.owner || first.id == second.id
    {
        return Ok(None);
    }
    Ok(Some(match first.id == pair.gone {
        true => (first, second),
        false => (second, first),
    }))
}

/// Whether nobody need be asked.
pub fn may_give_way(gone: &Item, kept: &Item, stands: Stands) -> bool {
    if gone.protected || gone.trust == Trust::User {
        return false;
    }
    if stands == Stands::Same {
        return !kept.trust.is_below(gone.trust);
    }
    let newcomer = Newcomer {
        trust: kept.trust,
        said_at: Some(kept.stated_at()),
    };
    verdict(gone.as_holder(), newcomer) == Verdict::Supersedes
}

fn with_what_it_says(kept: &Item, gone: &Item) -> ItemState {
    let mut tags = kept.tags.clone();
    for tag in &gone.tags {
        if tags.len() < TAGS_MAX && !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    ItemState {
        tags,
        period: kept.period.or(gone.period),
        ..kept.state()
    }
}

/// Takes back what was settled at that moment, in such a transaction too.
///
/// # Errors
/// Only what the database says.
pub async fn take_back_in(
    conn: &mut PgConnection,
    user: UserId,
    pair: Pair,
    settled_at: OffsetDateTime,
    now: OffsetDateTime,
) -> Result<TakenBack, sqlx::Error> {
    let gone = store::find_item(&mut *conn, user, pair.gone).await?;
    let kept = store::find_item(&mut *conn, user, pair.kept).await?;
    let Some((gone, kept)) = gone.zip(kept) else {
        return Ok(TakenBack::Changed);
    };
    let latest = store::list_events(&mut *conn, user, gone.id, 1).await?;
    let settled = latest
        .first()
        .filter(|last| last.at == settled_at && [MERGED, SUPERSEDED].contains(&&*last.event));
    let Some(settled) = settled.filter(|_| gone.status == Status::Archived) else {
        return Ok(TakenBack::Changed);
    };
    if let Some(newer) = kept
        .superseded_by
        .filter(|_| kept.status == Status::Archived)
    {
        return Ok(TakenBack::StoodOn(newer));
    }
    let rivals = rivals(&mut *conn, user, gone.id, now).await?;
    if let Some(rival) = rivals.iter().find(|rival| rival.id != kept.id) {
        return Ok(TakenBack::StoodOn(rival.id));
    }
    let viewer = Viewer::person(user);
    let back = ItemState {
        confidence: settled.was_confidence.unwrap_or(gone.confidence),
        superseded_by: None,
        ..gone.state().lasting(now)
    };
    let active = Status::Active;
    change_item(
        &mut *conn,
        &viewer,
        &gone,
        active,
        &back,
        Some(RESTORED),
        now,
    )
    .await?;
    let latest = store::list_events(&mut *conn, user, kept.id, 1).await?;
    let changed = latest
        .first()
        .filter(|last| last.at == settled_at && last.event == CHANGED);
    if let Some(was) = changed.and_then(|event| event.was.as_ref()) {
        change_item(conn, &viewer, &kept, kept.status, was, Some(CHANGED), now).await?;
    }
    Ok(TakenBack::Done)
}
