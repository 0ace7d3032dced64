//! What time changes of an item: its period begins or ends, and it expires.

use time::OffsetDateTime;

use super::add::make_room;
use super::add::store::link;
use super::manage::store::change_item;
use super::model::Status;
use super::period::PeriodPhase;
use super::trust::Newcomer;
use super::{BEGAN, ENDED, EXPIRED, PUT_ASIDE, store};
use crate::accounts::{UserId, Viewer};
use crate::db::{Db, raise_revision};

/// Limit on the users returned by one look-up.
const EXPIRED_USERS_MAX: i64 = 10_000;
/// Limit on the items archived in one transaction.
const EXPIRED_AT_ONCE: i64 = 500;

/// Users with items that have expired, or that began or ended to hold since, longest due first.
pub async fn users_with_expired(db: &Db, now: OffsetDateTime) -> Result<Vec<UserId>, sqlx::Error> {
    let mut conn = db.system_connection().await?;
    store::list_users_with_expired(&mut conn, now, EXPIRED_USERS_MAX).await
}

/// A batch of a user's items that began or ended to hold. One that begins takes the place of what held until then, if
/// [`verdict`] lets it; if not, it is put aside. Returns how many; 0 means none are left.
pub async fn turn(db: &Db, user: UserId, now: OffsetDateTime) -> Result<usize, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    if store::list_turned(&mut tx, user, now, 1).await?.is_empty() {
        return Ok(0);
    }
    raise_revision(&mut tx, user).await?;
    let viewer = Viewer::person(user);
    let turned = store::list_turned(&mut tx, user, now, EXPIRED_AT_ONCE).await?;
    for id in &turned {
        // An earlier one of this batch may have taken its place.
        let found = store::find_item(&mut tx, user, *id).await?;
        let Some(item) = found.filter(|item| item.status == Status::Active) else {
            continue;
        };
        let newcomer = Newcomer { trust: item.trust, said_at: item.period.from };
        let stays = match item.key.is_some() && item.period.holds(now) {
            true => make_room(&mut tx, &viewer, &item, item.period, Some(newcomer), now).await?,
            false => None,
        };
        let event = match item.period.phase(now) {
            PeriodPhase::Over => ENDED,
            _ => BEGAN,
        };
        let (status, state) = (item.status, item.state());
        change_item(&mut tx, &viewer, &item, status, &state, Some(event), now).await?;
        if let Some(holder) = stays {
            store::archive_items(&mut tx, user, None, &[id.0], PUT_ASIDE, now).await?;
            link(&mut tx, user, *id, holder).await?;
        }
    }
    tx.commit().await?;
    Ok(turned.len())
}

/// Archives a batch of a user's expired items and adds the event. Searches exclude them from the expiry on anyway. Safe to
/// run on two servers at once. Returns how many; 0 means none are left.
pub async fn archive_expired(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    if store::list_expired(&mut tx, user, now, 1).await?.is_empty() {
        return Ok(0);
    }
    raise_revision(&mut tx, user).await?;
    // Again, now that no one else writes: a person may have restored one, or set a later date.
    let expired = store::list_expired(&mut tx, user, now, EXPIRED_AT_ONCE).await?;
    let archived = store::archive_items(&mut tx, user, None, &expired, EXPIRED, now).await?;
    tx.commit().await?;
    Ok(archived.len())
}
