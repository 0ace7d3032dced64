//! Relations of merged entities: one gets those of the other, and the undo gives them back.

pub mod store;

use std::collections::HashMap;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::store as relations;
use super::{RelationTarget, StoragePlan, apply, find_same, plan, restate};
use crate::db::UserId;
use crate::entities::model::EntityId;
use store::RelationRow;

/// Moves one entity's relations to another. Those not retired are checked for conflicts as if stated now; one that the other
/// has too is retired and keeps its sources, which the other gets as well. Returns the rows of these copies.
pub(in crate::entities) async fn carry_over(
    conn: &mut PgConnection,
    user: UserId,
    from: EntityId,
    into: EntityId,
    now: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    let rows = store::list_rows(conn, user, &[from.0]).await?;
    let held: Vec<i64> =
        rows.iter().filter(|row| row.retired_at.is_none()).map(|row| row.id).collect();
    relations::retire(conn, user, &held, now).await?;
    store::move_ends(conn, user, from, into).await?;
    let mut copied = Vec::new();
    for id in held {
        let Some((owner, stated)) = store::find_stated(conn, user, id).await? else {
            continue;
        };
        let (subject, predicate) = (stated.subject, stated.predicate);
        // A relation between the two merged entities would point to itself.
        if stated.object == RelationTarget::Entity(subject) {
            continue;
        }
        let met = relations::list_standing(conn, user, owner, subject, predicate).await?;
        if let Some(same) = find_same(&met, &stated) {
            restate(conn, user, same, &met, &stated).await?;
            copied.extend(store::copy_evidence(conn, user, id, same.id).await?);
            relations::link_retired(conn, user, &[id], same.id).await?;
            continue;
        }
        let plan = match predicate.is_single() {
            true => plan(&stated, &met),
            false => StoragePlan::of(&stated, &met),
        };
        if let Some(aside_for) = plan.aside_for {
            relations::link_retired(conn, user, &[id], aside_for).await?;
            continue;
        }
        apply(conn, user, &plan, Some(id), now).await?;
        store::restore_relation(conn, user, id, plan.period).await?;
    }
    Ok(copied)
}

impl RelationRow {
    /// What a merge gives it.
    fn placed(&self) -> ([Option<i64>; 3], [Option<OffsetDateTime>; 3]) {
        (
            [Some(self.subject_id), self.object_id, self.retired_for],
            [self.valid_from, self.valid_until, self.retired_at],
        )
    }

    /// What another statement raises.
    fn told(&self) -> (Option<i16>, Option<&str>, Option<OffsetDateTime>) {
        (self.confidence, self.trust.as_deref(), self.stated_at)
    }
}

/// Restores relations of this entity, except those that have changed since a merge gave them these values (`None`: an older
/// version did not note them), and those in whose place another stands now. Retires all first, because intermediate states
/// could violate constraints.
pub(in crate::entities) async fn put_back(
    conn: &mut PgConnection,
    user: UserId,
    of: EntityId,
    (rows, given): (Vec<RelationRow>, Option<Vec<RelationRow>>),
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let by_id = |rows: Vec<RelationRow>| -> HashMap<i64, RelationRow> {
        rows.into_iter().map(|row| (row.id, row)).collect()
    };
    let current = by_id(store::list_rows(conn, user, &[of.0]).await?);
    let given = given.map(by_id);
    let restored = rows.into_iter().filter_map(|mut row| {
        let is = current.get(&row.id)?;
        let was_given = match &given {
            Some(given) => given.get(&row.id)?,
            None => is,
        };
        // Another statement has raised it since.
        if is.told() != was_given.told() || row.trust.is_none() {
            (row.confidence, row.trust, row.stated_at) =
                (is.confidence, is.trust.clone(), is.stated_at);
        }
        (is.placed() == was_given.placed()).then_some(row)
    });
    let mut restored: Vec<RelationRow> = restored.collect();
    let meeting = store::list_meeting(conn, user, &restored).await?;
    restored.retain(|row| !meeting.contains(&row.id));
    let ids: Vec<i64> = restored.iter().map(|row| row.id).collect();
    relations::retire(conn, user, &ids, now).await?;
    for row in restored {
        store::set_row(conn, user, &row).await?;
    }
    Ok(())
}
