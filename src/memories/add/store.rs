//! The statements of adding: an item in, what it meets, and what becomes of that. Every
//! function takes a connection that knows its user, and names the user again.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::{UserId, Viewer};
use crate::memories::provenance::ItemKey;
use crate::memories::store::ThemeId;
use crate::memories::{ItemId, NewItem, words};

/// The item and its first event, in one statement. `None` when it meets an active item: of its
/// text, unless both have keys, or of its key. With `aside_for` it is kept archived, beside that one.
pub async fn insert_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    theme: ThemeId,
    item: &NewItem,
    aside_for: Option<ItemId>,
    now: OffsetDateTime,
) -> Result<Option<ItemId>, sqlx::Error> {
    let provenance = item.provenance();
    let key = item.key().map(ItemKey::as_str);
    let id = sqlx::query_scalar!(
        r#"WITH item AS (
               INSERT INTO memory_items (user_id, theme_id, agent_id, type, key, content, content_hash, tags,
                                         status, source, source_context, session_id, message_id, confidence,
                                         expires_at, superseded_by, created_at, updated_at, content_tsv)
               SELECT $1, $2, $3, $4, $5::text, $6, $7, $8, CASE WHEN $15::bigint IS NULL THEN 'active' ELSE 'archived' END,
                      $9, $10, $11, $12, $13, $14, $15, $16, $17, $18::text::tsvector
               WHERE $15 IS NOT NULL OR NOT EXISTS (
                   SELECT FROM memory_items i
                   WHERE i.user_id = $1 AND i.theme_id = $2 AND i.content_hash = $7 AND i.status = 'active'
                     AND ($5 IS NULL OR i.key IS NULL))
               ON CONFLICT DO NOTHING
               RETURNING id, status
           ), event AS (
               INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
               SELECT $1, item.id, $3, e.event, $17 FROM item
               JOIN (VALUES (1, 'added'), (2, 'superseded')) AS e (n, event) ON e.n = 1 OR item.status = 'archived'
               ORDER BY e.n
           )
           SELECT id AS "id!" FROM item"#,
        viewer.user_id.0,
        theme.0,
        viewer.agent_id.map(|a| a.0),
        item.item_type().as_str(),
        key,
        item.content(),
        &item.content_hash(),
        item.tags(),
        provenance.source.as_str(),
        provenance.context,
        provenance.session_id,
        provenance.message_id,
        item.confidence(),
        item.expires_at(now),
        aside_for.map(|id| id.0),
        item.created_at(now),
        now,
        words::of_item(item.content(), key, item.tags()),
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ItemId))
}

/// An active item that a new one meets.
pub struct Met {
    pub id: ItemId,
    /// The new one says nothing more.
    pub is_same: bool,
    /// It has the new one's key. One that is neither has its text, and no key.
    pub is_of_key: bool,
    pub is_confirmed: bool,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
}

/// Held until the transaction ends, and asked for in one order, so that two that meet the same
/// do not wait for each other.
pub async fn lock_met(
    conn: &mut PgConnection,
    user: UserId,
    theme: ThemeId,
    item: &NewItem,
) -> Result<Vec<Met>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, content_hash = $3 AND ($4::text IS NULL OR key IS NOT NULL) AS "is_same!",
                  coalesce(key = $4, false) AS "is_of_key!", protected, created_at, expires_at
           FROM memory_items
           WHERE user_id = $1 AND theme_id = $2 AND status = 'active'
             AND (key = $4 OR (content_hash = $3 AND ($4 IS NULL OR key IS NULL)))
           ORDER BY id FOR NO KEY UPDATE"#,
        user.0,
        theme.0,
        &item.content_hash(),
        item.key().map(ItemKey::as_str),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Met {
            id: ItemId(row.id),
            is_same: row.is_same,
            is_of_key: row.is_of_key,
            is_confirmed: row.protected,
            created_at: row.created_at,
            expires_at: row.expires_at,
        })
        .collect())
}

/// The same item, put aside for this one before.
pub async fn find_aside(
    conn: &mut PgConnection,
    user: UserId,
    theme: ThemeId,
    item: &NewItem,
    holder: ItemId,
) -> Result<Option<ItemId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "SELECT id FROM memory_items
         WHERE user_id = $1 AND superseded_by = $2 AND theme_id = $3 AND content_hash = $4
           AND key = $5 AND status = 'archived' ORDER BY id LIMIT 1",
        user.0,
        holder.0,
        theme.0,
        &item.content_hash(),
        item.key().map(ItemKey::as_str),
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ItemId))
}

/// Leads from an item to the one that took its place, which is confirmed where the older was.
pub async fn link(
    conn: &mut PgConnection,
    user: UserId,
    older: ItemId,
    newer: ItemId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH older AS (
             UPDATE memory_items SET superseded_by = $3
             WHERE user_id = $1 AND id = $2 AND id <> $3 RETURNING protected
         )
         UPDATE memory_items i SET protected = true FROM older
         WHERE i.user_id = $1 AND i.id = $3 AND older.protected AND NOT i.protected",
        user.0,
        older.0,
        newer.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives an item that has none its key, and the words to find it by.
pub async fn name_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    key: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH item AS (
             UPDATE memory_items SET key = $4, updated_at = $5, content_tsv = content_tsv || $6::text::tsvector
             WHERE user_id = $1 AND id = $2 AND key IS NULL RETURNING id
         )
         INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
         SELECT $1, id, $3, 'named', $5 FROM item",
        viewer.user_id.0,
        id.0,
        viewer.agent_id.map(|a| a.0),
        key,
        now,
        words::tsvector([key]),
    )
    .execute(conn)
    .await?;
    Ok(())
}
