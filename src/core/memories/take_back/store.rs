//! SQL of taking back, as the app role in a transaction bound to its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{ChangedBy, Touched};
use crate::accounts::UserId;
use crate::memories::history::{ItemEvent, ItemState};
use crate::memories::{ItemId, Period, Status, Trust};

/// The items that an author has changed, each with the first of these changes, the last changed first; without those that are
/// as they were. What time alone does to an item, and what an undo of this agent or its taking back did, is no change of
/// somebody else.
pub async fn list_touched(
    conn: &mut PgConnection,
    user: UserId,
    by: ChangedBy,
    limit: i64,
) -> Result<Vec<Touched>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"WITH own AS (
               SELECT item_id, min(id) AS first, max(id) AS last FROM memory_item_events
               WHERE user_id = $1 AND agent_id IS NOT DISTINCT FROM $2 AND at BETWEEN $3 AND $4 GROUP BY item_id
           ), moments AS (
               SELECT made_at AS at, since FROM agent_undos WHERE user_id = $1 AND agent_id = $6
               UNION ALL
               SELECT taken_back_at, NULL FROM agent_undos WHERE user_id = $1 AND agent_id = $6 AND taken_back_at IS NOT NULL
           )
           SELECT o.item_id, i.status AS "status: Status", i.locked, e.id, e.event, e.at, e.was_confidence, e.was_protected, e.was_locked, e.was_verified_at,
                  e.was_expires_at, e.was_superseded_by, e.was_tags, e.was_trust AS "was_trust: Trust", e.was_valid_from, e.was_valid_until,
                  EXISTS (SELECT FROM memory_item_events s
                          WHERE s.user_id = $1 AND s.item_id = o.item_id AND s.id > o.first
                            AND NOT (s.agent_id IS NOT DISTINCT FROM $2 AND s.at BETWEEN $3 AND $4)
                            AND NOT (s.agent_id IS NULL AND s.at IN (SELECT m.at FROM moments m))
                            AND s.event NOT IN ('expired', 'faded', 'began', 'ended')) AS "is_changed_since!"
           FROM own o
           JOIN memory_items i ON i.user_id = $1 AND i.id = o.item_id AND i.theme_id IS NOT NULL
           JOIN memory_item_events e ON e.user_id = $1 AND e.id = o.first
           WHERE NOT (e.event IN ('added', 'restored') AND i.status = 'archived')
             AND NOT coalesce((SELECT m.since <= e.at FROM memory_item_events s JOIN moments m ON m.at = s.at
                               WHERE s.user_id = $1 AND s.item_id = o.item_id AND s.agent_id IS NULL AND s.id > o.last
                               ORDER BY s.id DESC LIMIT 1), false)
           ORDER BY o.last DESC LIMIT $5"#,
        user.0,
        by.agent.map(|agent| agent.0),
        by.from,
        by.until,
        limit,
        by.undos_of.0,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| Touched {
        item: ItemId(row.item_id),
        status: row.status,
        first: ItemEvent {
            id: row.id,
            event: row.event,
            agent: None,
            at: row.at,
            was_confidence: row.was_confidence,
            was: row.was_protected.map(|protected| ItemState {
                confidence: row.was_confidence.unwrap_or_default(),
                trust: row.was_trust.unwrap_or(Trust::External),
                protected,
                // An earlier version did not tell whose confirmation it was.
                locked: row.was_locked.unwrap_or(protected && row.locked),
                last_verified_at: row.was_verified_at,
                expires_at: row.was_expires_at,
                period: Period { from: row.was_valid_from, until: row.was_valid_until },
                superseded_by: row.was_superseded_by.map(ItemId),
                tags: row.was_tags.unwrap_or_default(),
            }),
        },
        is_changed_since: row.is_changed_since,
    });
    Ok(rows.collect())
}

/// Items that gave way by themselves since then, as their time came, to these.
pub async fn list_displaced(
    conn: &mut PgConnection,
    user: UserId,
    by: &[i64],
    since: OffsetDateTime,
) -> Result<Vec<ItemId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT i.id AS "id: ItemId" FROM memory_items i
         WHERE i.user_id = $1 AND i.superseded_by = ANY ($2) AND i.status = 'archived' AND i.theme_id IS NOT NULL
           AND (SELECT e.event = 'superseded' AND e.agent_id IS NULL AND e.at >= $3 FROM memory_item_events e
                WHERE e.user_id = $1 AND e.item_id = i.id ORDER BY e.id DESC LIMIT 1)
         ORDER BY i.id DESC"#,
        user.0,
        by,
        since,
    )
    .fetch_all(conn)
    .await
}

/// Whether another active item has its key or text at a time of this period.
pub async fn is_in_way(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    period: Period,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM memory_items i
               JOIN memory_items o ON o.user_id = $1 AND o.theme_id = i.theme_id AND o.status = 'active' AND o.id <> i.id
                   AND (replace(o.key, '_', '') = replace(i.key, '_', '') OR o.content_hash = i.content_hash)
                   AND o.owner_agent_id IS NOT DISTINCT FROM i.owner_agent_id AND o.project_id IS NOT DISTINCT FROM i.project_id
               WHERE i.user_id = $1 AND i.id = $2 AND periods_meet(o.valid_from, o.valid_until, $3, $4, $5)) AS "is_there!""#,
        user.0,
        item.0,
        period.from,
        period.until,
        now,
    )
    .fetch_one(conn)
    .await
}
