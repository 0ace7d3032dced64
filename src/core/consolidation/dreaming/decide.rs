//! A person's decisions about a dream's proposals: accept, dismiss, and undo. Each is one transaction, which
//! reads both memories again.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Dream, ItemProposal, ProposalState};
use super::{ProposedChange, store};
use crate::db::{Db, UserId};
use crate::memories::ItemId;
use crate::memories::settle::{Decider, ItemPair, SettlementUndo, settle_in, take_back_in};

/// Dreams per page.
pub const DREAMS_SHOWN: i64 = 10;
const BEGINNING_CHARS_MAX: i32 = 300;

/// The newest dreams with an id below `before`, and whether there are more.
///
/// # Errors
/// Only database errors.
pub async fn list(
    db: &Db,
    user: UserId,
    before: Option<i64>,
) -> Result<(Vec<Dream>, bool), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let mut dreams = store::list_dreams(&mut tx, user, before, DREAMS_SHOWN + 1).await?;
    let has_more = dreams.len() > DREAMS_SHOWN as usize;
    dreams.truncate(DREAMS_SHOWN as usize);
    let ids: Vec<i64> = dreams.iter().map(|dream| dream.id).collect();
    let documents: Vec<i64> =
        dreams.iter().filter_map(|dream| dream.document.as_ref().map(|(id, _)| *id)).collect();
    let read = store::list_read(&mut tx, user, &documents).await?;
    let proposals = store::list_proposals(&mut tx, user, &ids, BEGINNING_CHARS_MAX).await?;
    tx.commit().await?;
    for (document, episode) in read {
        let of =
            |dream: &&mut Dream| dream.document.as_ref().is_some_and(|(id, _)| *id == document);
        if let Some(dream) = dreams.iter_mut().find(of) {
            dream.read.push(episode);
        }
    }
    for (id, proposal) in proposals {
        if let Some(dream) = dreams.iter_mut().find(|dream| dream.id == id) {
            dream.proposals.push(proposal);
        }
    }
    Ok((dreams, has_more))
}

/// Counts proposals that wait for a decision.
///
/// # Errors
/// Only database errors.
pub async fn count_open(db: &Db, user: UserId) -> Result<i64, sqlx::Error> {
    db.for_user(user, store::count_open).await
}

/// Lists the proposals about an item that were applied or undone.
///
/// # Errors
/// Only database errors.
pub async fn of_item(
    db: &Db,
    user: UserId,
    item: ItemId,
) -> Result<Vec<ItemProposal>, sqlx::Error> {
    db.for_user(user, async |conn, user| store::list_of_item(conn, user, item).await).await
}

/// Counts the sessions that wait for a dream.
///
/// # Errors
/// Only database errors.
pub async fn count_waiting(db: &Db, user: UserId, now: OffsetDateTime) -> Result<i64, sqlx::Error> {
    db.for_user(user, async |conn, user| store::count_waiting(conn, user, now).await).await
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionOutcome {
    pub applied: usize,
    /// Proposals whose memories have changed since.
    pub void: usize,
}

/// Accepts one proposal of a dream, or all except contradictions. `kept` chooses which memory of a
/// contradiction stays; otherwise the proposal decides. Idempotent.
///
/// # Errors
/// Only database errors.
pub async fn accept(
    db: &Db,
    user: UserId,
    (dream, n): (i64, Option<i16>),
    kept: Option<ItemId>,
    now: OffsetDateTime,
) -> Result<DecisionOutcome, sqlx::Error> {
    let mut tx = db.as_writer(user).await?;
    let mut decided = DecisionOutcome::default();
    for open in store::list_in_state(&mut tx, user, dream, n, ProposalState::Open).await? {
        let ItemPair { gone, kept: other } = open.pair;
        let pair = match kept {
            None if open.kind == ProposedChange::Contradiction => continue,
            Some(kept) if kept == gone => ItemPair { gone: other, kept: gone },
            Some(kept) if kept != other => continue,
            _ => open.pair,
        };
        let how = (open.kind.stands(), Decider::Person);
        let state = match settle_in(&mut tx, user, pair, how, now).await? {
            true => {
                decided.applied += 1;
                ProposalState::Applied
            }
            false => {
                decided.void += 1;
                ProposalState::Void
            }
        };
        store::set_state(&mut tx, user, (dream, open.n), pair, (state, false), now).await?;
    }
    tx.commit().await?;
    Ok(decided)
}

/// Applies the proposals that a dream may apply itself, in the dream's transaction; the rest wait for the
/// person.
pub(super) async fn apply_own_in(
    conn: &mut PgConnection,
    user: UserId,
    dream: i64,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    for open in store::list_in_state(&mut *conn, user, dream, None, ProposalState::Open).await? {
        let how = (open.kind.stands(), Decider::Dream);
        if open.kind != ProposedChange::Contradiction
            && settle_in(&mut *conn, user, open.pair, how, now).await?
        {
            let (at, state) = ((dream, open.n), (ProposalState::Applied, true));
            store::set_state(&mut *conn, user, at, open.pair, state, now).await?;
        }
    }
    Ok(())
}

/// Dismisses one open proposal of a dream, or all. Returns how many.
///
/// # Errors
/// Only database errors.
pub async fn dismiss(
    db: &Db,
    user: UserId,
    (dream, n): (i64, Option<i16>),
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let open = store::list_in_state(&mut tx, user, dream, n, ProposalState::Open).await?;
    for one in &open {
        let state = (ProposalState::Dismissed, false);
        store::set_state(&mut tx, user, (dream, one.n), one.pair, state, now).await?;
    }
    tx.commit().await?;
    Ok(open.len())
}

/// The outcome of an undo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoOutcome {
    /// How many changes were undone.
    pub done: usize,
    /// Items that were edited since; they stay as they are.
    pub changed: Vec<ItemId>,
    /// A memory that would be restored, and the newer one that depends on what replaced it.
    pub stood_on: Vec<(ItemId, ItemId)>,
}

/// Undoes what was applied of a dream, all of it or one change, the latest first. Idempotent.
///
/// # Errors
/// Only database errors.
pub async fn undo(
    db: &Db,
    user: UserId,
    (dream, n): (i64, Option<i16>),
    now: OffsetDateTime,
) -> Result<UndoOutcome, sqlx::Error> {
    let mut tx = db.as_writer(user).await?;
    let mut undone = UndoOutcome::default();
    let mut applied = store::list_in_state(&mut tx, user, dream, n, ProposalState::Applied).await?;
    applied.sort_by_key(|one| std::cmp::Reverse((one.decided_at, one.n)));
    for one in applied {
        let settled_at = one.decided_at.unwrap_or(now);
        match take_back_in(&mut tx, user, one.pair, settled_at, now).await? {
            SettlementUndo::Done => undone.done += 1,
            SettlementUndo::Changed => undone.changed.push(one.pair.gone),
            SettlementUndo::StoodOn(newer) => {
                undone.stood_on.push((one.pair.gone, newer));
                continue;
            }
        }
        let state = (ProposalState::Undone, false);
        store::set_state(&mut tx, user, (dream, one.n), one.pair, state, now).await?;
    }
    tx.commit().await?;
    Ok(undone)
}
