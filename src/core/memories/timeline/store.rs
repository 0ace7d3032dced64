//! SQL of the timeline. Runs under row security, each in one bounded statement.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{
    CHARS_MAX, ChangedItem, EventCursor, EventSubject, FactVersion, ReviewLine, TimelineEvent, Week,
};
use crate::db::UserId;
use crate::memories::model::ItemId;
use crate::memories::period::Period;

/// Items added per interval between two of these points in time, numbered from 1; empty intervals are omitted.
pub async fn count_by_day(
    conn: &mut PgConnection,
    user: UserId,
    days: &[OffsetDateTime],
) -> Result<Vec<(i32, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT width_bucket(created_at, $2::timestamptz[]) AS "day!", count(*) AS "n!" FROM memory_items
           WHERE user_id = $1 AND theme_id IS NOT NULL AND created_at >= ($2::timestamptz[])[1] GROUP BY 1"#,
        user.0,
        days,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.day, row.n)).collect())
}

/// Newest first; for equal time and id, memories before entities.
pub async fn list_events(
    conn: &mut PgConnection,
    user: UserId,
    (from, until): (OffsetDateTime, OffsetDateTime),
    before: Option<EventCursor>,
    limit: i64,
) -> Result<Vec<TimelineEvent>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"WITH of_items AS (
               SELECT e.id, e.at, e.event, e.agent_id, e.item_id FROM memory_item_events e
               WHERE e.user_id = $1 AND e.at >= $2 AND e.at < $3 AND ($4::timestamptz IS NULL OR (e.at, e.id) < ($4, $5))
                 AND e.event <> 'imported'
                 AND EXISTS (SELECT FROM memory_items i WHERE i.user_id = $1 AND i.id = e.item_id AND i.theme_id IS NOT NULL)
               ORDER BY e.at DESC, e.id DESC LIMIT $6
           ), of_entities AS (
               SELECT e.id, e.at, e.event, e.entity_id FROM entity_events e
               WHERE e.user_id = $1 AND e.at >= $2 AND e.at < $3 AND ($4::timestamptz IS NULL OR (e.at, e.id) < ($4, $5))
                 AND e.undone_at IS NULL AND e.event IN ('merged', 'split', 'renamed')
                 AND EXISTS (SELECT FROM entities n WHERE n.user_id = $1 AND n.id = e.entity_id)
               ORDER BY e.at DESC, e.id DESC LIMIT $6
           ), of_dreams AS (
               SELECT d.id, d.dreamt_at AS at, d.document_id FROM dreams d
               WHERE d.user_id = $1 AND d.dreamt_at >= $2 AND d.dreamt_at < $3
                 AND ($4::timestamptz IS NULL OR (d.dreamt_at, d.id) < ($4, $5))
               ORDER BY d.dreamt_at DESC, d.id DESC LIMIT $6
           )
           SELECT e.id AS "id!", e.at AS "at!", e.event AS "event!", a.name AS "agent?", e.item_id AS "item_id?", NULL::bigint AS "entity_id?", NULL::bigint AS "dream_id?",
                  left(concat_ws(': ', i.key, i.content), $7) AS "beginning!", i.source AS "source!", i.session_id AS "session_id?",
                  CASE WHEN e.event IN ('superseded', 'put_aside', 'merged') THEN s.id END AS "instead?", left(concat_ws(': ', s.key, s.content), $7) AS "instead_beginning?",
                  (SELECT p.by_dream FROM dream_proposals p
                   WHERE p.user_id = $1 AND (p.gone_id = e.item_id OR p.kept_id = e.item_id) AND p.decided_at = e.at
                     AND p.state IN ('applied', 'undone') LIMIT 1) AS "by_dream?"
           FROM of_items e JOIN memory_items i ON i.user_id = $1 AND i.id = e.item_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = e.agent_id
           LEFT JOIN memory_items s ON s.user_id = $1 AND s.id = i.superseded_by
           UNION ALL
           SELECT e.id, e.at, e.event, NULL, NULL, e.entity_id, NULL,
                  CASE WHEN (SELECT sees_all_names()) THEN n.name ELSE seen_name(n.id, n.name) END, '', NULL, NULL, NULL, NULL
           FROM of_entities e JOIN entities n ON n.user_id = $1 AND n.id = e.entity_id
           UNION ALL
           SELECT e.id, e.at, 'dreamt', NULL, NULL, NULL, e.id, coalesce(o.path, 'nothing that lasts'), '', NULL, NULL, NULL, NULL
           FROM of_dreams e LEFT JOIN documents o ON o.user_id = $1 AND o.id = e.document_id
           ORDER BY 2 DESC, 1 DESC LIMIT $6"#,
        user.0,
        from,
        until,
        before.map(|(at, _)| at),
        before.map(|(_, id)| id),
        limit,
        CHARS_MAX,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| TimelineEvent {
        id: row.id,
        at: row.at,
        event: row.event,
        agent: row.agent,
        about: match (row.item_id, row.entity_id) {
            (Some(item), _) => EventSubject::Item(ItemId(item)),
            (None, Some(entity)) => EventSubject::Entity(entity),
            (None, None) => EventSubject::Dream(row.dream_id.unwrap_or_default()),
        },
        beginning: row.beginning,
        source: row.source,
        session: row.session_id,
        instead: row.instead.map(ItemId).zip(row.instead_beginning),
        by_dream: row.by_dream,
    });
    Ok(read.collect())
}

/// These items, newest first, each with the end of the chain of items that had superseded it by then.
pub async fn list_differing(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    by: OffsetDateTime,
) -> Result<Vec<ChangedItem>, sqlx::Error> {
    sqlx::query_as!(
        ChangedItem,
        r#"WITH RECURSIVE chain AS (
               SELECT i.id, i.superseded_by AS next, 1 AS step FROM memory_items i
               WHERE i.user_id = $1 AND i.id = ANY ($2) AND i.live_until <= $4
               UNION ALL
               SELECT c.id, s.superseded_by, c.step + 1 FROM chain c
               JOIN memory_items s ON s.user_id = $1 AND s.id = c.next AND s.live_until <= $4 AND s.superseded_by IS NOT NULL
               WHERE c.step < 50
           )
           SELECT i.id AS "id: ItemId", left(concat_ws(': ', i.key, i.content), $3) AS "beginning!",
                  (SELECT s.id FROM chain c JOIN memory_items s ON s.user_id = $1 AND s.id = c.next AND s.created_at <= $4
                   WHERE c.id = i.id ORDER BY c.step DESC LIMIT 1) AS "instead: ItemId"
           FROM memory_items i WHERE i.user_id = $1 AND i.id = ANY ($2) AND i.theme_id IS NOT NULL
           ORDER BY i.id DESC"#,
        user.0,
        ids,
        CHARS_MAX,
        by,
    )
    .fetch_all(conn)
    .await
}

/// Values of the fact with the item's key and when each was true, newest first; empty without a key. Items that were put
/// aside are excluded: they were never true.
pub async fn list_of_fact(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    limit: i64,
) -> Result<Vec<FactVersion>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, left(i.content, $3) AS "beginning!", i.created_at, i.valid_from,
                  least(i.valid_until, CASE WHEN i.status = 'archived' THEN coalesce(greatest(s.valid_from, i.valid_from), i.live_until) END) AS until
           FROM memory_items me
           JOIN memory_items i ON i.user_id = $1 AND i.theme_id = me.theme_id AND replace(i.key, '_', '') = replace(me.key, '_', '')
                              AND i.owner_agent_id IS NOT DISTINCT FROM me.owner_agent_id AND i.project_id IS NOT DISTINCT FROM me.project_id
           LEFT JOIN memory_items s ON s.user_id = $1 AND s.id = i.superseded_by
           WHERE me.user_id = $1 AND me.id = $2 AND i.live_until > i.created_at
           ORDER BY coalesce(i.valid_from, i.created_at) DESC, i.id DESC LIMIT $4"#,
        user.0,
        item.0,
        CHARS_MAX,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| FactVersion {
        id: ItemId(row.id),
        beginning: row.beginning,
        added_at: row.created_at,
        period: Period { from: row.valid_from, until: row.until },
    });
    Ok(read.collect())
}

/// Counts since a point in time: memories added, replaced, and expired or faded.
pub async fn count_week(
    conn: &mut PgConnection,
    user: UserId,
    since: OffsetDateTime,
) -> Result<Week, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT (SELECT count(*) FROM memory_items
                   WHERE user_id = $1 AND NOT is_turn AND created_at >= $2 AND theme_id IS NOT NULL) AS "learned!",
                  count(*) FILTER (WHERE event = 'superseded') AS "changed!",
                  count(*) FILTER (WHERE event IN ('expired', 'faded')) AS "ended!"
           FROM memory_item_events WHERE user_id = $1 AND at >= $2"#,
        user.0,
        since,
    )
    .fetch_one(conn)
    .await?;
    Ok(Week { learned: row.learned, changed: row.changed, ended: row.ended, ..Week::default() })
}

/// The items last replaced since then, those that expire before `until`, and the most used; `limit` of each.
pub async fn list_week(
    conn: &mut PgConnection,
    user: UserId,
    (since, now, until): (OffsetDateTime, OffsetDateTime, OffsetDateTime),
    limit: i64,
) -> Result<Vec<ReviewLine>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"(SELECT o.id AS "id!", left(concat_ws(': ', o.key, o.content), $5) AS "beginning!", n.id AS "instead?", left(concat_ws(': ', n.key, n.content), $5) AS "instead_beginning?",
                   NULL::timestamptz AS "expires_at?", NULL::bigint AS "uses?"
            FROM memory_item_events e
            JOIN memory_items o ON o.user_id = $1 AND o.id = e.item_id
            JOIN memory_items n ON n.user_id = $1 AND n.id = o.superseded_by
            WHERE e.user_id = $1 AND e.at >= $2 AND e.event = 'superseded' ORDER BY e.at DESC, e.id DESC LIMIT $6)
           UNION ALL
           (SELECT id, left(concat_ws(': ', key, content), $5), NULL, NULL, expires_at, NULL FROM memory_items
            WHERE user_id = $1 AND status = 'active' AND expires_at > $3 AND expires_at <= $4 AND theme_id IS NOT NULL
            ORDER BY expires_at LIMIT $6)
           UNION ALL
           (SELECT i.id, left(concat_ws(': ', i.key, i.content), $5), NULL, NULL, NULL, u.access_count
            FROM memory_uses u JOIN memory_items i ON i.user_id = $1 AND i.id = u.item_id
            WHERE u.user_id = $1 AND u.last_accessed >= $2 AND i.status = 'active' AND i.theme_id IS NOT NULL
            ORDER BY u.access_count DESC, i.id LIMIT $6)"#,
        user.0,
        since,
        now,
        until,
        CHARS_MAX,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| ReviewLine {
        id: ItemId(row.id),
        beginning: row.beginning,
        instead: row.instead.map(ItemId).zip(row.instead_beginning),
        expires_at: row.expires_at,
        uses: row.uses,
    });
    Ok(read.collect())
}
