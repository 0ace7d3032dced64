//! The state of items on a day. Runs under row security: an item that the viewer cannot see now is not in the past either.

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, PgConnection};
use time::OffsetDateTime;

use super::{Day, PastState};
use crate::db::UserId;
use crate::memories::history::ItemState;
use crate::memories::model::ItemId;
use crate::memories::period::Period;
use crate::memories::trust::Trust;

/// Ids of the items (or of `among`) known and true on that day; reads all of the user's items, without turns.
/// Known: from creation until archived. True: from `valid_from`, or when it superseded another, else always; until
/// `valid_until` or its successor's start. An item archived for any other reason was never true.
pub async fn list_ids(
    conn: &mut PgConnection,
    user: UserId,
    day: &Day,
    now: OffsetDateTime,
    among: Option<&[i64]>,
) -> Result<Vec<i64>, sqlx::Error> {
    let among_these = match among {
        Some(_) => "i.id = ANY ($5)",
        // A turn is known from its own date on, which searches filter by.
        None => "NOT i.is_turn AND $5::bigint[] IS NULL",
    };
    let query = format!(
        "WITH replacing AS MATERIALIZED (
             -- What took the place of an earlier one, also of one that was restored since.
             SELECT ARRAY(
                 SELECT n.id FROM memory_items o
                 JOIN memory_item_events e ON e.user_id = $1 AND e.item_id = o.id AND e.at <= $2
                 JOIN memory_items n ON n.user_id = $1 AND n.created_at >= o.created_at
                      AND n.id = CASE e.event WHEN 'superseded' THEN o.superseded_by WHEN 'restored' THEN e.was_superseded_by END
                 WHERE o.user_id = $1 AND $4::timestamptz IS NOT NULL) AS ids)
         SELECT i.id
         FROM replacing CROSS JOIN (SELECT *, lived @> $2::timestamptz OR live_from <= $2 AND $2 < live_until AS lives
               FROM memory_items WHERE user_id = $1 AND created_at <= $2) i
         LEFT JOIN LATERAL (
             SELECT e.event, e.at FROM memory_item_events e
             WHERE e.user_id = $1 AND e.item_id = i.id AND e.at <= $2
               AND e.event IN ('archived', 'superseded', 'put_aside', 'merged', 'expired', 'faded', 'read_again', 'restored')
             ORDER BY e.id DESC LIMIT 1) left_by ON $4::timestamptz IS NOT NULL AND NOT i.lives
         LEFT JOIN memory_items s ON s.user_id = $1 AND s.id = i.superseded_by AND left_by.event = 'superseded'
         -- The first change since keeps what was before.
         LEFT JOIN LATERAL (
             SELECT e.id, e.was_valid_from, e.was_valid_until FROM memory_item_events e
             WHERE e.user_id = $1 AND e.item_id = i.id AND e.at > $2 AND e.was_protected IS NOT NULL
             ORDER BY e.id LIMIT 1) w ON $3 AND $4 IS NOT NULL
         CROSS JOIN LATERAL (
             SELECT CASE WHEN w.id IS NULL THEN i.valid_from ELSE w.was_valid_from END AS valid_from,
                    CASE WHEN w.id IS NULL THEN i.valid_until ELSE w.was_valid_until END AS valid_until) was
         WHERE CASE WHEN $4 IS NULL THEN i.lives
                    ELSE i.theme_id IS NOT NULL AND (i.lives OR left_by.event = 'superseded')
                     AND $4 < coalesce(least(was.valid_until, CASE WHEN left_by.event = 'superseded' THEN
                             coalesce(s.valid_from, CASE WHEN s.created_at > i.created_at THEN least(s.created_at, left_by.at) ELSE left_by.at END)
                         END), 'infinity')
                     AND $4 >= coalesce(was.valid_from, CASE WHEN i.id = ANY (replacing.ids) THEN i.created_at END, '-infinity') END
           AND {among_these}",
    );
    let query = sqlx::query_scalar(AssertSqlSafe(query))
        .bind(user.0)
        .bind(day.as_of.unwrap_or(now))
        .bind(day.as_of.is_some())
        .bind(day.at)
        .bind(among);
    query.fetch_all(conn).await
}

/// The state at `as_of`, as far as the events kept it.
pub async fn list_states_at(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    as_of: OffsetDateTime,
) -> Result<HashMap<i64, PastState>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, (i.is_turn OR i.lived @> $3::timestamptz OR i.live_from <= $3 AND $3 < i.live_until) AS "is_live!",
                  NOT EXISTS (SELECT FROM memory_item_events e
                              WHERE e.user_id = $1 AND e.item_id = i.id AND e.event = 'named' AND e.at > $3) AS "has_key!",
                  coalesce((SELECT max(e.at) FROM memory_item_events e WHERE e.user_id = $1 AND e.item_id = i.id AND e.at <= $3),
                           i.created_at) AS "updated_at!",
                  coalesce(c.was_confidence, i.confidence) AS "confidence!",
                  w.id IS NOT NULL AS "has_changed!", w.was_trust AS "was_trust?: Trust", w.was_protected AS "was_protected?", w.was_locked, w.was_verified_at,
                  w.was_expires_at, w.was_superseded_by, w.was_tags AS "was_tags?", w.was_valid_from, w.was_valid_until,
                  i.trust AS "trust: Trust", i.protected, i.locked, i.last_verified_at, i.expires_at, i.superseded_by, i.tags, i.valid_from, i.valid_until,
                  n.id AS "successor?"
           FROM unnest($2::bigint[]) AS f (id)
           JOIN memory_items i ON i.user_id = $1 AND i.id = f.id
           LEFT JOIN LATERAL (
               SELECT e.* FROM memory_item_events e
               WHERE e.user_id = $1 AND e.item_id = i.id AND e.at > $3 AND e.was_protected IS NOT NULL
               ORDER BY e.id LIMIT 1) w ON true
           LEFT JOIN LATERAL (
               SELECT e.was_confidence FROM memory_item_events e
               WHERE e.user_id = $1 AND e.item_id = i.id AND e.at > $3 AND e.was_confidence IS NOT NULL
               ORDER BY e.id LIMIT 1) c ON true
           LEFT JOIN memory_items n
               ON n.user_id = $1 AND n.id = CASE WHEN w.id IS NULL THEN i.superseded_by ELSE w.was_superseded_by END"#,
        user.0,
        ids,
        as_of,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| {
        let now = ItemState {
            confidence: row.confidence,
            trust: row.trust,
            protected: row.protected,
            locked: row.locked,
            last_verified_at: row.last_verified_at,
            expires_at: row.expires_at,
            period: Period { from: row.valid_from, until: row.valid_until },
            superseded_by: row.superseded_by.map(ItemId),
            tags: row.tags,
        };
        let was = match row.has_changed {
            false => now,
            true => ItemState {
                confidence: row.confidence,
                trust: row.was_trust.unwrap_or(Trust::External),
                protected: row.was_protected.unwrap_or_default(),
                locked: row
                    .was_locked
                    .unwrap_or(row.was_protected.unwrap_or_default() && row.locked),
                last_verified_at: row.was_verified_at,
                expires_at: row.was_expires_at,
                period: Period { from: row.was_valid_from, until: row.was_valid_until },
                superseded_by: row.was_superseded_by.map(ItemId),
                tags: row.was_tags.unwrap_or_default(),
            },
        };
        let then = PastState {
            is_live: row.is_live,
            has_key: row.has_key,
            updated_at: row.updated_at,
            successor: row.successor.map(ItemId).filter(|_| !row.is_live),
            state: ItemState { superseded_by: was.superseded_by.filter(|_| !row.is_live), ..was },
        };
        (row.id, then)
    });
    Ok(read.collect())
}
