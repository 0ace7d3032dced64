//! SQL for a user's decisions. Every function takes a connection bound to its user and still filters by user.

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::Replacement;
use crate::accounts::{UserId, Viewer};
use crate::db::note_changes;
use crate::memories::history::ItemState;
use crate::memories::model::{ItemId, MemoryItem, Status};
use crate::memories::period::Period;
use crate::memories::{CHANGED, passages};

/// Limit on the rivals shown to the user.
const RIVALS_MAX: i64 = 10;
/// Minimum time between two events of the same kind from agents that keep the state before them. A change in between,
/// with no other event since, adds an event without a state: the earlier one covers it. An expiry that moves by less than
/// this, as when the same text is added again, adds none.
const AGENTS_SAY_AGAIN_AFTER: Duration = Duration::hours(1);

/// Time of the last confirmation, with the confidence and verification time from before.
pub async fn find_confirmation(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
) -> Result<Option<(OffsetDateTime, i16, Option<OffsetDateTime>)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT at, was_confidence AS "was_confidence!", was_verified_at FROM memory_item_events
           WHERE user_id = $1 AND item_id = $2 AND event = 'confirmed' AND NOT was_protected
           ORDER BY id DESC LIMIT 1"#,
        user.0,
        item.0,
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| (row.at, row.was_confidence, row.was_verified_at)))
}

/// Writes an item's new status and state, its search terms, and the event with its old state (`None`: no event). `item` is
/// the current row, read in this transaction of [`Db::as_writer`](crate::db::Db::as_writer). An agent's event soon after
/// another of its kind keeps no state, and is left out unless the item has changed by more than a renewal.
pub async fn change_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    item: &MemoryItem,
    status: Status,
    state: &ItemState,
    event: Option<&str>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let was = item.state();
    let key = item.key.as_deref();
    let done = sqlx::query!(
        "UPDATE memory_items
         SET live_until = greatest(live_from, CASE WHEN $3 = 'active' THEN coalesce($7::timestamptz, 'infinity')
                                                   ELSE least(live_until, $9) END),
             live_from = CASE WHEN $3 = 'active' AND status <> 'active' THEN $9 ELSE live_from END,
             lived = CASE WHEN $3 = 'active' AND status <> 'active' THEN lived + tstzmultirange(tstzrange(live_from, live_until))
                          ELSE lived END,
             status = $3, confidence = $4, protected = $5, locked = $14, last_verified_at = $6, expires_at = $7, superseded_by = $8,
             trust = $11, tags = $12, valid_from = $13, valid_until = $15, turns_at = next_turn($13, $15, $9),
             updated_at = CASE WHEN $10 THEN $9 ELSE updated_at END
         WHERE user_id = $1 AND id = $2",
        viewer.user_id.0,
        item.id.0,
        status.as_str(),
        state.confidence,
        state.protected,
        state.last_verified_at,
        state.expires_at,
        state.superseded_by.map(|id| id.0),
        now,
        event.is_some(),
        state.trust.as_str(),
        &state.tags,
        state.period.from,
        state.locked,
        state.period.until,
    );
    let is_there = done.execute(&mut *conn).await?.rows_affected() == 1;
    if let Some(event) = event.filter(|_| is_there) {
        let always = event == CHANGED && !is_renewal(&was, state);
        note_event(&mut *conn, viewer, item.id, (event, always), &was, now).await?;
    }
    match was.tags == state.tags {
        true => note_changes(conn, &[item.id.0]).await,
        false => {
            let (user, content) = (viewer.user_id, &item.content);
            passages::remake(conn, user, item.id, content, key, &state.tags, now).await
        }
    }
}

/// A statement of its own: Citus does not find what a change returns where the rest asks no table. `always`: also where no state is
/// kept.
async fn note_event(
    conn: &mut PgConnection,
    viewer: &Viewer,
    item: ItemId,
    (event, always): (&str, bool),
    was: &ItemState,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at, was_confidence, was_protected, was_locked,
                                         was_verified_at, was_expires_at, was_superseded_by, was_trust, was_tags,
                                         was_valid_from, was_valid_until)
         SELECT i.user_id, i.id, $3, $4, $5, was.*
         FROM memory_items i LEFT JOIN (VALUES ($6::smallint, $7::boolean, $8::boolean, $9::timestamptz, $10::timestamptz, $11::bigint,
                                                $12::text, $13::text[], $14::timestamptz, $15::timestamptz)) was (confidence, protected, locked)
             ON $3::bigint IS NULL OR NOT coalesce((
                 SELECT e.agent_id IS NOT NULL AND e.event = $4 AND e.at > $16 AND e.was_protected IS NOT NULL
                 FROM memory_item_events e
                 WHERE e.user_id = $1 AND e.item_id = $2
                   AND (e.was_protected IS NOT NULL OR e.agent_id IS NULL OR e.event <> $4)
                 ORDER BY e.id DESC LIMIT 1), false)
         WHERE i.user_id = $1 AND i.id = $2 AND (was.protected IS NOT NULL OR $17)
         RETURNING user_id",
        viewer.user_id.0,
        item.0,
        viewer.agent_id.map(|a| a.0),
        event,
        now,
        was.confidence,
        was.protected,
        was.locked,
        was.last_verified_at,
        was.expires_at,
        was.superseded_by.map(|id| id.0),
        was.trust.as_str(),
        &was.tags,
        was.period.from,
        was.period.until,
        now - AGENTS_SAY_AGAIN_AFTER,
        always,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Whether the item is as it was, but for a somewhat later or earlier expiry.
fn is_renewal(was: &ItemState, state: &ItemState) -> bool {
    let expiries = was.expires_at.zip(state.expires_at);
    let renewed = ItemState {
        last_verified_at: state.last_verified_at,
        expires_at: state.expires_at,
        ..was.clone()
    };
    renewed == *state && expiries.is_some_and(|(a, b)| (a - b).abs() < AGENTS_SAY_AGAIN_AFTER)
}

/// Tags and period before the first change after this event that was made at this time and kept them.
pub async fn find_changed_at(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    after: i64,
    at: OffsetDateTime,
) -> Result<Option<(Vec<String>, Period)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT was_tags AS "was_tags!", was_valid_from, was_valid_until FROM memory_item_events
           WHERE user_id = $1 AND item_id = $2 AND id > $3 AND at = $4 AND event = 'changed' AND was_protected IS NOT NULL
           ORDER BY id LIMIT 1"#,
        user.0,
        item.0,
        after,
        at,
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| {
        let period = Period { from: row.was_valid_from, until: row.was_valid_until };
        (row.was_tags, period)
    }))
}

/// Active items in an archived one's place: its successor, and those of the same time with its key or, unless both have keys,
/// its text.
/// Includes expired items that are not archived yet.
pub async fn list_rivals(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    now: OffsetDateTime,
) -> Result<Vec<(Replacement, Option<OffsetDateTime>)>, sqlx::Error> {
    // UNION instead of OR: each branch uses its own index.
    let rows = sqlx::query!(
        r#"SELECT o.id, left(concat_ws(': ', o.key, o.content), $3) AS "beginning!", o.expires_at FROM memory_items o
           WHERE o.user_id = $1 AND o.status = 'active' AND o.theme_id IS NOT NULL AND o.id <> $2 AND o.id = ANY (ARRAY(
               SELECT i.superseded_by FROM memory_items i
               WHERE i.user_id = $1 AND i.id = $2 AND i.superseded_by IS NOT NULL
               UNION
               SELECT k.id FROM memory_items i
               JOIN memory_items k ON k.user_id = $1 AND k.theme_id = i.theme_id AND replace(k.key, '_', '') = replace(i.key, '_', '') AND k.status = 'active'
                                   AND k.owner_agent_id IS NOT DISTINCT FROM i.owner_agent_id
                                   AND k.project_id IS NOT DISTINCT FROM i.project_id
                                   AND periods_meet(k.valid_from, k.valid_until, i.valid_from, i.valid_until, $5)
               WHERE i.user_id = $1 AND i.id = $2
               UNION
               (SELECT c.id FROM memory_items i
                JOIN memory_items c ON c.user_id = $1 AND c.theme_id = i.theme_id AND c.content_hash = i.content_hash
                                   AND c.owner_agent_id IS NOT DISTINCT FROM i.owner_agent_id
                                   AND c.project_id IS NOT DISTINCT FROM i.project_id
                                   AND c.status = 'active' AND (c.key IS NULL OR i.key IS NULL)
                                   AND periods_meet(c.valid_from, c.valid_until, i.valid_from, i.valid_until, $5)
                WHERE i.user_id = $1 AND i.id = $2 ORDER BY c.id LIMIT $4)))
           ORDER BY o.id"#,
        user.0,
        item.0,
        Replacement::CHARS_MAX,
        RIVALS_MAX,
        now,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let rival = Replacement { id: ItemId(row.id), beginning: row.beginning };
            (rival, row.expires_at)
        })
        .collect())
}

/// Items superseded by this one at this time, with their confidence from before.
pub async fn list_replaced(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    at: OffsetDateTime,
) -> Result<Vec<(ItemId, Option<i16>)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT i.id, e.was_confidence FROM memory_items i
         JOIN memory_item_events e ON e.user_id = $1 AND e.item_id = i.id AND e.event = 'superseded' AND e.at = $3
         WHERE i.user_id = $1 AND i.superseded_by = $2 AND i.status = 'archived' ORDER BY i.id",
        user.0,
        item.0,
        at,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (ItemId(row.id), row.was_confidence)).collect())
}

/// Whether an active item with its text or key exists in the target scope: its agent's, if `alone`, or the shared one.
pub async fn meets_in(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    alone: bool,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM memory_items i JOIN memory_items o
                   ON o.user_id = $1 AND o.theme_id = i.theme_id AND o.status = 'active' AND o.id <> i.id
                  AND (replace(o.key, '_', '') = replace(i.key, '_', '') OR o.content_hash = i.content_hash)
                  AND o.project_id IS NOT DISTINCT FROM i.project_id
                  AND o.owner_agent_id IS NOT DISTINCT FROM CASE WHEN $3 THEN i.agent_id END
               WHERE i.user_id = $1 AND i.id = $2 AND i.status = 'active') AS "meets!""#,
        user.0,
        item.0,
        alone,
    )
    .fetch_one(conn)
    .await
}

/// Sets the owner by event: `owned` by the adding agent, if any, or `shared`. Returns false if it already was.
pub async fn set_owner(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    event: &str,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "WITH item AS (
             UPDATE memory_items SET owner_agent_id = CASE WHEN $3 = 'owned' THEN agent_id END, updated_at = $4
             WHERE user_id = $1 AND id = $2 AND theme_id IS NOT NULL
               AND owner_agent_id IS DISTINCT FROM CASE WHEN $3 = 'owned' THEN agent_id END
             RETURNING id
         )
         INSERT INTO memory_item_events (user_id, item_id, event, at) SELECT $1, id, $3, $4 FROM item
         RETURNING user_id",
        user.0,
        item.0,
        event,
        now,
    );
    Ok(done.fetch_all(conn).await?.len() == 1)
}

/// Deletes what was generated from the item: derived items, summaries and relations.
pub async fn delete_derived(conn: &mut PgConnection, item: ItemId) -> Result<(), sqlx::Error> {
    // The function returns void.
    sqlx::query("SELECT untell($1)").bind(item.0).execute(conn).await?;
    Ok(())
}

/// Hides memories that are to be deleted then from agents. Returns how many were not hidden.
pub async fn hide(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
    at: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE memory_items SET delete_at = $3
         WHERE user_id = $1 AND id = ANY ($2) AND (theme_id IS NOT NULL OR type = 'episode') AND delete_at IS NULL",
        user.0,
        items,
        at,
    );
    Ok(done.execute(conn).await?.rows_affected())
}

pub async fn show_again(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE memory_items SET delete_at = NULL WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        items,
    )
    .execute(conn)
    .await?;
    Ok(())
}
