//! Changes to an existing item: archive, restore, correct, confirm, unconfirm and forget by key.
//! Each is one transaction bound to one user. A text is never changed and no row is deleted: a correction adds a new item.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::add::store::link;
use super::add::{AddedItem, add_in, make_room, renew};
use super::history::ItemState;
use super::manage::store::{change_item, find_confirmation};
use super::manage::{RestoreOutcome, find, rivals};
use super::model::{ItemId, ItemType, MemoryItem, NewItem, Status, ThemeSlug};
use super::period::Period;
use super::projects::{self, ProjectRef};
use super::proposals::{self, ProposalReason, propose_in};
use super::provenance::{CONFIRMED_CONFIDENCE, ConflictPolicy, Expiry, ItemKey, Provenance};
use super::store::ItemOfKey;
use super::trust::{Newcomer, Trust, Verdict, verdict};
use super::{
    ARCHIVED, CHANGED, CONFIRMED, MemoryError, PUT_ASIDE, RESTORED, SUPERSEDED, UNCONFIRMED, store,
};
use crate::accounts::{UserId, Viewer};
use crate::activity::{self, RunningCall};
use crate::clock::SharedClock;
use crate::db::{Db, write_as};
use crate::embedding::Embeddings;
use crate::input::Invalid;
use crate::texts::is_same;

/// Archives an item. Idempotent (Nova §3.2.4). The call's activity record is committed in the same transaction.
///
/// # Errors
/// [`MemoryError::Proposed`] if the agent may only propose it.
pub async fn archive(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
) -> Result<(), MemoryError> {
    let viewer = &call.viewer;
    let (user, agent) = (viewer.user_id, viewer.agent_id);
    let mut tx = db.as_writer(user).await?;
    let (item, now) = (find(&mut tx, user, id).await?, clock.now());
    if item.status_at(now) == Status::Active
        && let Some(reason) = proposals::reason(&mut tx, viewer, item.locked, now).await?
    {
        let proposed = propose_in(&mut tx, None, viewer, (&item, None), reason, now).await?;
        tx.commit().await?;
        return Err(proposed);
    }
    store::archive_items(&mut tx, user, agent, &[id.0], ARCHIVED, now).await?;
    call.write(&mut tx, vec![id.0]).await?;
    tx.commit().await?;
    Ok(())
}

/// Archives the older of two contradicting active items if [`verdict`] says so; else, with [`ConflictPolicy::PutAside`], the
/// newer. Their keys do not matter. Returns true if the older one was archived, false if the newer one was or nothing changed.
/// Needs a transaction of [`Db::as_writer`].
pub async fn supersede_in(
    conn: &mut PgConnection,
    viewer: &Viewer,
    older: ItemId,
    newer: ItemId,
    policy: ConflictPolicy,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let user = viewer.user_id;
    let mut found = Vec::with_capacity(2);
    for id in [older.min(newer), older.max(newer)] {
        let item = store::find_item(conn, user, id).await?;
        found.extend(item.filter(|item| item.status_at(now) == Status::Active));
    }
    let of = |id| found.iter().find(|item| item.id == id);
    let (Some(old), Some(new)) = (of(older), of(newer)) else {
        return Ok(false);
    };
    // An agent's private item and a shared one never supersede each other, nor do those of two projects or times.
    if old.owner != new.owner || old.project != new.project || !old.period.meets(new.period, now) {
        return Ok(false);
    }
    let newcomer = Newcomer { trust: new.trust, said_at: Some(new.stated_at()) };
    let supersedes = verdict(old.as_holder(), newcomer) == Verdict::Supersedes;
    if !supersedes && (new.locked || policy != ConflictPolicy::PutAside) {
        return Ok(false);
    }
    let (gone, instead, event) = match supersedes {
        true => (older, newer, SUPERSEDED),
        false => (newer, older, PUT_ASIDE),
    };
    store::archive_items(conn, user, viewer.agent_id, &[gone.0], event, now).await?;
    link(conn, user, gone, instead).await?;
    Ok(supersedes)
}

/// Supersedes items by a newer one of the same origin, regardless of trust. Needs a transaction of [`Db::as_writer`].
pub async fn replace_in(
    conn: &mut PgConnection,
    user: UserId,
    older: &[i64],
    newer: ItemId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::archive_items(conn, user, None, older, SUPERSEDED, now).await?;
    for id in older {
        link(conn, user, ItemId(*id), newer).await?;
    }
    Ok(())
}

/// The item to correct.
#[derive(Clone, Debug)]
pub enum CorrectionTarget {
    Item(ItemId),
    /// The active item with this key that holds; theme and project are needed only if several have one.
    Key(ItemKey, Option<ThemeSlug>, Option<ProjectRef>),
}

/// New values for an item; `None` keeps the old value.
#[derive(Clone, Debug)]
pub struct Correction {
    pub content: String,
    pub item_type: Option<ItemType>,
    pub theme: Option<String>,
    pub key: Option<ItemKey>,
    pub tags: Option<Vec<String>>,
    /// Of a new text only what is given; of the same text `None` keeps the old expiry, and `Some(None)` removes it.
    pub expiry: Option<Option<Expiry>>,
    /// Likewise; start and end are independent.
    pub valid_from: Option<Option<OffsetDateTime>>,
    pub valid_until: Option<Option<OffsetDateTime>>,
    pub provenance: Provenance,
}

impl Correction {
    fn of(&self, old: &MemoryItem) -> Result<NewItem, Invalid> {
        let old_key = old.key.as_deref().map(ItemKey::parse).transpose()?;
        let item_type = self.item_type.unwrap_or(old.item_type);
        let item = NewItem::parse(
            item_type,
            &self.content,
            self.theme.as_deref().or(old.theme.as_deref()),
            self.tags.as_deref().unwrap_or(&old.tags),
        )?;
        // What was true of the old text, and until when it was of use, says nothing of another text.
        let was = match is_same(item.content(), &old.content) {
            true => (old.period, old.expires_at.map(Expiry::At)),
            false => Default::default(),
        };
        let period = Period::new(
            self.valid_from.unwrap_or(was.0.from),
            self.valid_until.unwrap_or(was.0.until),
        )?;
        Ok(item
            .with_period(period)
            .in_project(old.project_id())
            .with_key(self.key.clone().or(old_key.flatten()))
            .with_expiry(self.expiry.unwrap_or(was.1))
            .with_provenance(match item_type {
                // See `tools::values::check_said`; the type may be the old one's.
                ItemType::Instruction => Provenance { trust: None, ..self.provenance.clone() },
                _ => self.provenance.clone(),
            })
            .yielding(ConflictPolicy::Never))
    }
}

/// Supersedes a wrong or outdated item by a new one; the old one is archived and linked.
/// If text, type, key and theme stay the same, the item is updated instead: tags, expiry, period, confidence and trust.
///
/// # Errors
/// [`MemoryError::Proposed`] if the agent may only propose it; that it is as it is may always be said again.
pub async fn correct(
    db: &Db,
    clock: &SharedClock,
    embeddings: &Embeddings,
    call: &RunningCall,
    target: &CorrectionTarget,
    correction: &Correction,
) -> Result<AddedItem, MemoryError> {
    let viewer = &call.viewer;
    let user = viewer.user_id;
    let now = clock.now();
    let mut tx = db.as_writer(user).await?;
    let id = match target {
        CorrectionTarget::Item(id) => *id,
        CorrectionTarget::Key(key, theme, project) => {
            let whose = (theme.as_ref(), project.as_ref());
            let mut found = of_key(&mut tx, user, key, whose, now).await?;
            // What is over or has not begun is meant only where nothing of the key holds.
            if found.iter().any(|one| one.holds) {
                found.retain(|one| one.holds);
            }
            match found.as_slice() {
                [] => return Err(MemoryError::NoSuchKey),
                [one] => ItemId(one.id),
                many => return Err(MemoryError::KeyInThemes { count: many.len() }),
            }
        }
    };
    let found = store::find_item(&mut tx, user, id).await?;
    let old = found.ok_or(MemoryError::NotFound(id))?;
    check_active(&old, now)?;
    let new = correction.of(&old)?;
    let is_same = is_same(new.content(), &old.content)
        && Some(new.theme().as_str()) == old.theme.as_deref()
        && new.key().map(ItemKey::as_str) == old.key.as_deref()
        && new.item_type() == old.item_type;
    let said = correction.provenance.confidence;
    let renewed = ItemState {
        confidence: said.unwrap_or(old.confidence.max(new.confidence())),
        // An agent may repeat what it was told.
        trust: match new.trust() {
            Trust::User => Trust::User,
            _ => old.trust,
        },
        tags: new.tags().to_vec(),
        expires_at: new.expires_at(now),
        period: new.period(),
        last_verified_at: old.last_verified_at.max(Some(now)),
        ..old.state()
    };
    let as_it_is = ItemState {
        last_verified_at: renewed.last_verified_at,
        trust: renewed.trust,
        ..old.state()
    };
    if !(is_same && renewed == as_it_is)
        && let Some(reason) = proposals::reason(&mut tx, viewer, old.locked, now).await?
    {
        let change = (&old, Some(&new));
        let proposed = propose_in(&mut tx, Some(embeddings), viewer, change, reason, now).await?;
        tx.commit().await?;
        return Err(proposed);
    }
    let added = if is_same {
        if let Some(id) = make_room(&mut tx, viewer, &old, new.period(), None, now).await? {
            return Err(MemoryError::Confirmed { id });
        }
        renew(&mut tx, viewer, &old, &renewed, now).await?;
        let states = embeddings.states(&mut tx, user, &[id.0]).await?;
        AddedItem {
            id,
            duplicate: true,
            superseded: None,
            corrected: None,
            put_aside_for: None,
            stays: None,
            trust: renewed.trust,
            embedding: states[0].state,
        }
    } else {
        let ids = [id.0];
        store::archive_items(&mut tx, user, viewer.agent_id, &ids, SUPERSEDED, now).await?;
        let owner = old.owner.as_ref().map(|(id, _)| *id);
        write_as(&mut tx, owner).await?;
        let added = add_in(&mut tx, embeddings, viewer, &new, now).await?;
        link(&mut tx, user, id, added.id).await?;
        AddedItem { corrected: Some(id), ..added }
    };
    call.write(&mut tx, added.touched()).await?;
    tx.commit().await?;
    Ok(added)
}

fn check_active(item: &MemoryItem, now: OffsetDateTime) -> Result<(), MemoryError> {
    match item.status_at(now) {
        Status::Active => Ok(()),
        Status::Archived => {
            Err(MemoryError::NotActive { id: item.id, superseded_by: item.successor })
        }
    }
}

/// How to treat a confirmation of an item that is already confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfirmation {
    /// The user states again that it is true.
    Renews,
    /// The same button was pressed twice.
    ChangesNothing,
}

/// Confirms that an item is true: it does not fade any more. If the person does, only their own statement supersedes it, and
/// agents change it by proposal; an agent's confirmation is no lock.
pub async fn confirm(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
    again: Reconfirmation,
) -> Result<(), MemoryError> {
    let now = clock.now();
    decide(db, call, id, now, async |_, item| {
        check_active(item, now)?;
        let confirmed = confirmed(item, &call.viewer, now);
        let changes =
            confirmed.locked != item.locked || !item.protected || again == Reconfirmation::Renews;
        Ok(changes.then_some((item.status, confirmed, CONFIRMED)))
    })
    .await
}

fn confirmed(item: &MemoryItem, viewer: &Viewer, now: OffsetDateTime) -> ItemState {
    ItemState {
        confidence: CONFIRMED_CONFIDENCE,
        protected: true,
        locked: item.locked || viewer.agent_id.is_none(),
        last_verified_at: Some(now),
        ..item.state()
    }
}

/// As [`confirm`], in the caller's transaction.
pub(super) async fn confirm_in(
    conn: &mut PgConnection,
    viewer: &Viewer,
    item: &MemoryItem,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let state = confirmed(item, viewer, now);
    change_item(conn, viewer, item, item.status, &state, Some(CONFIRMED), now).await
}

/// Undoes a confirmation: restores the confidence and verification time from before, unless they have changed since.
/// Idempotent.
pub async fn unconfirm(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
) -> Result<(), MemoryError> {
    let now = clock.now();
    decide(db, call, id, now, async |conn, item| {
        check_active(item, now)?;
        if !item.protected {
            return Ok(None);
        }
        let mut state = ItemState { protected: false, locked: false, ..item.state() };
        let confirmed = find_confirmation(conn, call.viewer.user_id, id).await?;
        if let Some((at, confidence, verified_at)) = confirmed {
            if item.confidence == CONFIRMED_CONFIDENCE {
                state.confidence = confidence;
            }
            if item.last_verified_at == Some(at) {
                state.last_verified_at = verified_at;
            }
        }
        Ok(Some((item.status, state, UNCONFIRMED)))
    })
    .await
}

/// The person says that an item is not their word: it is its agent's from then on. Idempotent.
pub async fn disown(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
) -> Result<(), MemoryError> {
    decide(db, call, id, clock.now(), async |_, item| {
        let state = ItemState { trust: Trust::Agent, ..item.state() };
        Ok((item.trust == Trust::User).then_some((item.status, state, CHANGED)))
    })
    .await
}

/// The item's new status and state, and the event to record.
type StatusChange = (Status, ItemState, &'static str);

/// Loads the item, applies the decision (`None`: no change) and records the call, in one transaction.
async fn decide(
    db: &Db,
    call: &RunningCall,
    id: ItemId,
    now: OffsetDateTime,
    decision: impl AsyncFnOnce(
        &mut PgConnection,
        &MemoryItem,
    ) -> Result<Option<StatusChange>, MemoryError>,
) -> Result<(), MemoryError> {
    let viewer = &call.viewer;
    let mut tx = db.as_writer(viewer.user_id).await?;
    let item = find(&mut tx, viewer.user_id, id).await?;
    if let Some((status, state, event)) = decision(&mut tx, &item).await? {
        change_item(&mut tx, viewer, &item, status, &state, Some(event), now).await?;
        if event == CONFIRMED {
            activity::count_uses(&mut tx, viewer.user_id, &[(id.0, 1, now)]).await?;
        }
    }
    call.write(&mut tx, vec![id.0]).await?;
    tx.commit().await?;
    Ok(())
}

/// Makes an archived or expired item active again, without a past expiry and with its confidence from before it was
/// superseded. If other items replace it, nothing changes unless all of them are in `instead_of`: those are then archived
/// and linked to it. Idempotent.
pub async fn restore(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    id: ItemId,
    instead_of: &[ItemId],
) -> Result<RestoreOutcome, MemoryError> {
    let viewer = &call.viewer;
    let mut tx = db.as_writer(viewer.user_id).await?;
    let (outcome, touched) = restore_in(&mut tx, viewer, id, instead_of, clock.now()).await?;
    if outcome == RestoreOutcome::Done {
        call.write(&mut tx, touched).await?;
        tx.commit().await?;
    }
    Ok(outcome)
}

/// As [`restore`], in the caller's transaction. Also returns the items it concerned.
pub(super) async fn restore_in(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    instead_of: &[ItemId],
    now: OffsetDateTime,
) -> Result<(RestoreOutcome, Vec<i64>), MemoryError> {
    let user = viewer.user_id;
    let item = find(&mut *conn, user, id).await?;
    let mut touched = vec![id.0];
    if item.status_at(now) == Status::Archived {
        let rivals = rivals(&mut *conn, user, id, now).await?;
        if !rivals.iter().all(|rival| instead_of.contains(&rival.id)) {
            return Ok((RestoreOutcome::Replaced(rivals), touched));
        }
        let ids: Vec<i64> = rivals.iter().map(|rival| rival.id.0).collect();
        store::archive_items(&mut *conn, user, viewer.agent_id, &ids, SUPERSEDED, now).await?;
        let latest = store::list_events(&mut *conn, user, id, 1).await?;
        let superseded = latest.first().filter(|last| last.event == SUPERSEDED);
        let restored = ItemState {
            confidence: superseded
                .and_then(|event| event.was_confidence)
                .unwrap_or(item.confidence),
            last_verified_at: Some(now),
            superseded_by: None,
            ..item.state().lasting(now)
        };
        let (active, event) = (Status::Active, Some(RESTORED));
        change_item(&mut *conn, viewer, &item, active, &restored, event, now).await?;
        for rival in &rivals {
            link(&mut *conn, user, rival.id, id).await?;
        }
        touched.extend(ids);
    }
    Ok((RestoreOutcome::Done, touched))
}

/// Archives every active item with this key, in one theme or in all. Returns their ids, possibly none.
///
/// # Errors
/// [`MemoryError::Proposed`] if the agent may only propose it for one of them; then for all, and nothing is archived.
pub async fn forget(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    key: &ItemKey,
    whose: (Option<&ThemeSlug>, Option<&ProjectRef>),
) -> Result<Vec<ItemId>, MemoryError> {
    let (user, now) = (call.viewer.user_id, clock.now());
    let mut tx = db.as_writer(user).await?;
    let found = of_key(&mut tx, user, key, whose, now).await?;
    let is_locked = found.iter().any(|one| one.locked);
    let found: Vec<i64> = found.into_iter().map(|one| one.id).collect();
    let (viewer, agent) = (&call.viewer, call.viewer.agent_id);
    if let Some(reason) = proposals::reason(&mut tx, viewer, is_locked, now).await? {
        let mut proposed = None;
        for id in &found {
            let item = find(&mut tx, user, ItemId(*id)).await?;
            let reason = match (reason, item.locked) {
                (ProposalReason::Locked, false) => ProposalReason::Together,
                _ => reason,
            };
            let one = propose_in(&mut tx, None, viewer, (&item, None), reason, now).await?;
            // The one that is confirmed is told of.
            if proposed.is_none() || item.locked {
                proposed = Some(one);
            }
        }
        if let Some(proposed) = proposed {
            tx.commit().await?;
            return Err(proposed);
        }
    }
    let forgotten = store::archive_items(&mut tx, user, agent, &found, ARCHIVED, now).await?;
    call.write(&mut tx, forgotten.clone()).await?;
    tx.commit().await?;
    Ok(forgotten.into_iter().map(ItemId).collect())
}

/// The active items with a key in this theme, or in all, and in this project. Without a project: those of none or, if there
/// are none, those of the only project that has some.
async fn of_key(
    conn: &mut PgConnection,
    user: UserId,
    key: &ItemKey,
    (theme, project): (Option<&ThemeSlug>, Option<&ProjectRef>),
    now: OffsetDateTime,
) -> Result<Vec<ItemOfKey>, MemoryError> {
    let mut found = store::list_of_key(&mut *conn, user, key, theme, now).await?;
    let whose = match project {
        Some(project) => {
            let known = projects::find(conn, user, project).await?;
            known.map_or(Some(projects::UNKNOWN.0), |project| Some(project.id.0))
        }
        None if found.iter().any(|one| one.project_id.is_none()) => None,
        None => {
            let first = found.first().and_then(|one| one.project_id);
            if found.iter().any(|one| one.project_id != first) {
                return Err(MemoryError::KeyInThemes { count: found.len() });
            }
            first
        }
    };
    found.retain(|one| one.project_id == whose);
    Ok(found)
}
