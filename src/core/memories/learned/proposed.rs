//! Accepting what agents proposed.

use super::super::change::{confirm_in, restore_in};
use super::super::manage::{RestoreOutcome, find};
use super::super::model::Status;
use super::super::proposals::store::{decide, list_undecided};
use super::super::store::archive_items;
use super::super::{ARCHIVED, MemoryError};
use crate::activity::RunningCall;
use crate::clock::SharedClock;
use crate::db::Db;

/// What became of proposals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProposalOutcome {
    pub applied: usize,
    /// Their memories have changed since, or another one is active in their place.
    pub void: usize,
}

/// Makes the proposed changes. A text that the person accepts is confirmed by them. Idempotent.
///
/// # Errors
/// A database error; then nothing was changed.
pub async fn accept(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    proposals: &[i64],
) -> Result<ProposalOutcome, MemoryError> {
    let (viewer, now) = (&call.viewer, clock.now());
    let user = viewer.user_id;
    let mut tx = db.as_writer(user).await?;
    let (mut outcome, mut touched) = (ProposalOutcome::default(), Vec::new());
    for one in list_undecided(&mut tx, user, proposals).await? {
        let item = find(&mut tx, user, one.item).await?;
        let is_active = item.status_at(now) == Status::Active;
        let is_applied = match one.instead {
            _ if !is_active => false,
            None => {
                archive_items(&mut tx, user, None, &[one.item.0], ARCHIVED, now).await?;
                true
            }
            Some(instead) => {
                let restored = restore_in(&mut tx, viewer, instead, &[one.item], now).await?;
                if restored.0 == RestoreOutcome::Done {
                    let new = find(&mut tx, user, instead).await?;
                    confirm_in(&mut tx, viewer, &new, now).await?;
                }
                touched.extend(restored.1);
                restored.0 == RestoreOutcome::Done
            }
        };
        touched.push(one.item.0);
        let state = match is_applied {
            true => "applied",
            false => "void",
        };
        outcome.applied += usize::from(is_applied);
        outcome.void += usize::from(!is_applied);
        decide(&mut tx, user, &[one.id], state, now).await?;
    }
    call.write(&mut tx, touched).await?;
    tx.commit().await?;
    Ok(outcome)
}
