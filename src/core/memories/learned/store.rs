//! SQL of the review. Runs as the app role in a transaction bound to its user.

use std::ops::RangeInclusive;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Guess, LearnedItem, ReviewList, UnwantedExample};
use crate::db::{UserId, draw_id};
use crate::memories::{ItemId, ItemType, Trust};

const BEGINNING_CHARS: i32 = 400;
/// Limit on the newest items that are scanned, so that a large import cannot make this slow.
const LOOKED_THROUGH_MAX: i64 = 1_000;
/// Limit on the guesses of a stretch, of which a reading makes at most 40.
const GUESSES_MAX: i64 = 1_000;

struct LearnedRecord {
    id: i64,
    item_type: ItemType,
    slug: String,
    display_name: String,
    beginning: String,
    is_cut: bool,
    source: String,
    trust: Trust,
    source_context: Option<String>,
    session_id: Option<i64>,
    message_id: Option<i64>,
    agent: Option<String>,
    created_at: OffsetDateTime,
}

impl From<LearnedRecord> for LearnedItem {
    fn from(row: LearnedRecord) -> Self {
        let position = row.message_id.and_then(|id| i32::try_from(id).ok());
        Self {
            id: ItemId(row.id),
            theme: (row.slug, row.display_name),
            item_type: row.item_type,
            beginning: match row.is_cut {
                true => format!("{}…", row.beginning.trim_end()),
                false => row.beginning,
            },
            source: row.source,
            trust: row.trust,
            quote: row.source_context,
            said_in: row.session_id.map(|session| (session, position)),
            agent: row.agent,
            created_at: row.created_at,
        }
    }
}

/// Newest first: active, not confirmed by the person, and not reviewed yet.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    list: ReviewList,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<LearnedItem>, sqlx::Error> {
    let (is_new, is_imported) = (list == ReviewList::New, list == ReviewList::Imported);
    let rows = sqlx::query_as!(
        LearnedRecord,
        r#"SELECT i.id, i.type AS "item_type: ItemType", t.slug, t.display_name, left(concat_ws(': ', i.key, i.content), $4) AS "beginning!",
                  length(concat_ws(': ', i.key, i.content)) > $4 AS "is_cut!", i.source, i.trust AS "trust: Trust", i.source_context, i.session_id, i.message_id,
                  a.name AS "agent?", i.created_at
           FROM ((SELECT id FROM memory_items
                  WHERE $7 AND user_id = $1 AND status = 'active' AND theme_id IS NOT NULL
                    AND id > coalesce((SELECT seen_id FROM learned_seen WHERE user_id = $1), 0)
                  ORDER BY id DESC LIMIT $5)
                 UNION ALL
                 (SELECT id FROM memory_items c
                  WHERE NOT $6 AND NOT $7 AND user_id = $1 AND status = 'active' AND theme_id IS NOT NULL
                    AND id <= coalesce((SELECT claims_until FROM learned_seen WHERE user_id = $1), 0)
                    AND trust = 'user' AND agent_id IS NOT NULL AND source = 'user_explicit' AND session_id IS NULL
                    AND NOT EXISTS (SELECT FROM learned_kept k WHERE k.user_id = $1 AND k.item_id = c.id)
                  ORDER BY id DESC LIMIT $5)
                 UNION ALL
                 (SELECT DISTINCT e.item_id FROM memory_item_events e
                  JOIN memory_items m ON m.user_id = $1 AND m.id = e.item_id AND m.theme_id IS NOT NULL
                                     AND is_live(m.status, m.live_until, $2) AND NOT m.locked
                  WHERE $6 AND e.user_id = $1 AND e.event = 'imported'
                    AND e.item_id > coalesce((SELECT imported_id FROM learned_seen WHERE user_id = $1), 0)
                    AND NOT EXISTS (SELECT FROM learned_kept k WHERE k.user_id = $1 AND k.item_id = e.item_id)
                  ORDER BY e.item_id DESC LIMIT $5)) f
           JOIN memory_items i ON i.user_id = $1 AND i.id = f.id AND i.theme_id IS NOT NULL
           JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = i.user_id AND a.id = i.agent_id
           WHERE is_live(i.status, i.live_until, $2) AND NOT i.locked
             AND (NOT $7 OR i.agent_id IS NOT NULL OR i.source = 'derived')
             AND NOT EXISTS (SELECT FROM learned_kept k WHERE k.user_id = $1 AND k.item_id = i.id)
             AND (NOT $7 OR NOT EXISTS (SELECT FROM memory_item_events e
                                        WHERE e.user_id = $1 AND e.item_id = i.id AND e.event = 'imported'))
           ORDER BY i.id DESC LIMIT $3"#,
        user.0,
        now,
        limit,
        BEGINNING_CHARS,
        LOOKED_THROUGH_MAX,
        is_imported,
        is_new,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(LearnedItem::from).collect())
}

/// How many memories of imports nobody has reviewed, up to `limit`.
pub async fn count_imported(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    limit: i64,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM (
               SELECT DISTINCT e.item_id FROM memory_item_events e
               JOIN memory_items i ON i.user_id = $1 AND i.id = e.item_id AND i.theme_id IS NOT NULL
                                  AND is_live(i.status, i.live_until, $2) AND NOT i.locked
               WHERE e.user_id = $1 AND e.event = 'imported'
                 AND e.item_id > coalesce((SELECT imported_id FROM learned_seen WHERE user_id = $1), 0)
                 AND NOT EXISTS (SELECT FROM learned_kept k WHERE k.user_id = $1 AND k.item_id = e.item_id)
               ORDER BY e.item_id DESC LIMIT $3) f"#,
        user.0,
        now,
        limit,
    )
    .fetch_one(conn)
    .await
}

/// Everything imported up to this item is reviewed.
pub async fn note_imported_seen(
    conn: &mut PgConnection,
    user: UserId,
    upto: ItemId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO learned_seen AS s (user_id, seen_id, imported_id) VALUES ($1, 0, $2)
         ON CONFLICT (user_id) DO UPDATE SET imported_id = greatest(s.imported_id, excluded.imported_id)",
        user.0,
        upto.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Oldest first. What a model has found has a key.
pub async fn list_guesses(
    conn: &mut PgConnection,
    user: UserId,
    session_id: i64,
    positions: &RangeInclusive<i32>,
) -> Result<Vec<Guess>, sqlx::Error> {
    sqlx::query_as!(
        Guess,
        r#"SELECT i.id AS "id: ItemId", i.content, i.trust AS "trust: Trust", i.source = 'user_explicit' AS "is_asked!",
                  i.status = 'active' AND i.key IS NULL AND NOT i.protected
                  AND i.id > coalesce((SELECT seen_id FROM learned_seen WHERE user_id = $1), 0)
                  AND NOT EXISTS (SELECT FROM learned_kept k WHERE k.user_id = $1 AND k.item_id = i.id)
                  AND NOT EXISTS (SELECT FROM memory_item_events e
                                  WHERE e.user_id = $1 AND e.item_id = i.id AND e.event <> 'added') AS "is_open!"
           FROM memory_items i
           WHERE i.user_id = $1 AND i.session_id = $2 AND i.message_id BETWEEN $3 AND $4 AND i.theme_id IS NOT NULL
             AND (i.source = 'guess' OR i.source = 'user_explicit' AND i.content = i.source_context)
           ORDER BY i.id LIMIT $5"#,
        user.0,
        session_id,
        i64::from(*positions.start()),
        i64::from(*positions.end()),
        GUESSES_MAX,
    )
    .fetch_all(conn)
    .await
}

/// Marks an item as reviewed. Returns false if it is not an item of the user.
pub async fn keep(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
) -> Result<bool, sqlx::Error> {
    let kept = sqlx::query_scalar!(
        r#"WITH item AS (SELECT id FROM memory_items WHERE user_id = $1 AND id = $2 AND theme_id IS NOT NULL FOR KEY SHARE),
                kept AS (INSERT INTO learned_kept (user_id, item_id) SELECT $1, id FROM item ON CONFLICT DO NOTHING)
           SELECT EXISTS (SELECT 1 FROM item) AS "is_there!""#,
        user.0,
        item.0,
    );
    kept.fetch_one(conn).await
}

/// Marks these items as reviewed.
pub async fn keep_these(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO learned_kept (user_id, item_id)
         SELECT user_id, id FROM memory_items WHERE user_id = $1 AND id = ANY ($2) ON CONFLICT DO NOTHING",
        user.0,
        items,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Everything up to this item is reviewed.
pub async fn note_seen(
    conn: &mut PgConnection,
    user: UserId,
    upto: ItemId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO learned_seen AS s (user_id, seen_id) VALUES ($1, $2)
         ON CONFLICT (user_id) DO UPDATE SET seen_id = greatest(s.seen_id, excluded.seen_id)",
        user.0,
        upto.0,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "DELETE FROM learned_kept k WHERE k.user_id = $1 AND k.item_id <= (SELECT seen_id FROM learned_seen WHERE user_id = $1)
           AND k.item_id > (SELECT claims_until FROM learned_seen WHERE user_id = $1)
           AND NOT EXISTS (SELECT FROM memory_item_events e WHERE e.user_id = $1 AND e.item_id = k.item_id AND e.event = 'imported')",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Latest first: lines written by the user, and those of memories that the viewer can see.
pub async fn list_unwanted(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<UnwantedExample>, sqlx::Error> {
    sqlx::query_as!(
        UnwantedExample,
        r#"SELECT u.id, u.text, i.id AS "item?: ItemId" FROM unwanted u
           LEFT JOIN memory_items i ON i.user_id = u.user_id AND i.id = u.item_id
           WHERE u.user_id = $1 AND (u.item_id IS NULL) = (i.id IS NULL) ORDER BY u.id DESC LIMIT $2"#,
        user.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Adds a line written by the user, or the beginning of a memory; deletes the oldest beyond `most`.
pub async fn add_unwanted(
    conn: &mut PgConnection,
    user: UserId,
    item: Option<ItemId>,
    text: &str,
    most: i64,
) -> Result<(), sqlx::Error> {
    let drawn = draw_id(&mut *conn, "unwanted_id_seq").await?;
    sqlx::query!(
        "INSERT INTO unwanted (user_id, id, item_id, text) OVERRIDING SYSTEM VALUE
         SELECT $1, $4, $2, $3
         WHERE NOT EXISTS (SELECT 1 FROM unwanted WHERE user_id = $1 AND text = $3 AND item_id IS NOT DISTINCT FROM $2)
         ON CONFLICT (user_id, item_id) DO NOTHING",
        user.0,
        item.map(|item| item.0),
        text,
        drawn,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "DELETE FROM unwanted WHERE user_id = $1
           AND id <= (SELECT id FROM unwanted WHERE user_id = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)",
        user.0,
        most,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn remove_unwanted(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
) -> Result<bool, sqlx::Error> {
    let removed = sqlx::query!("DELETE FROM unwanted WHERE user_id = $1 AND id = $2", user.0, id);
    Ok(removed.execute(conn).await?.rows_affected() == 1)
}
