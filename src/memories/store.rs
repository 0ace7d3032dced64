//! Items and themes in PostgreSQL. Every function takes a connection that knows
//! its user, and names the user again: row security stands behind, not instead.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Item, ItemEvent, ItemId, ItemType, NewItem, Status, Theme, ThemeCount};
use super::words;
use crate::accounts::{UserId, Viewer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThemeId(pub i64);

/// The item's theme, made when it is missing. Looks first: an upsert would
/// write, and so lock, the theme at every add.
pub async fn ensure_theme(
    conn: &mut PgConnection,
    user: UserId,
    item: &NewItem,
    now: OffsetDateTime,
) -> Result<ThemeId, sqlx::Error> {
    loop {
        let found = sqlx::query_scalar!(
            "SELECT id FROM memory_themes WHERE user_id = $1 AND slug = $2",
            user.0,
            item.theme().as_str(),
        )
        .fetch_optional(&mut *conn)
        .await?;
        if let Some(id) = found {
            return Ok(ThemeId(id));
        }
        let made = sqlx::query_scalar!(
            "INSERT INTO memory_themes (user_id, slug, display_name, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $4)
             ON CONFLICT ON CONSTRAINT memory_themes_slug_key DO NOTHING
             RETURNING id",
            user.0,
            item.theme().as_str(),
            item.theme_display_name(),
            now,
        )
        .fetch_optional(&mut *conn)
        .await?;
        if let Some(id) = made {
            return Ok(ThemeId(id));
        }
    }
}

/// The item and its first event, in one statement. `None` when its text is
/// active in its theme already.
pub async fn insert_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    theme: ThemeId,
    item: &NewItem,
    now: OffsetDateTime,
) -> Result<Option<ItemId>, sqlx::Error> {
    let texts = std::iter::once(item.content()).chain(item.tags().iter().map(String::as_str));
    let id = sqlx::query_scalar!(
        r#"WITH item AS (
               INSERT INTO memory_items (user_id, theme_id, agent_id, type, content, content_hash,
                                         tags, source, created_at, updated_at, content_tsv)
               VALUES ($1, $2, $3, $4, $5, $6, $7, 'agent', $8, $8, $9::text::tsvector)
               ON CONFLICT (user_id, theme_id, content_hash) WHERE status = 'active' DO NOTHING
               RETURNING id
           ), event AS (
               INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
               SELECT $1, id, $3, 'added', $8 FROM item
           )
           SELECT id AS "id!" FROM item"#,
        viewer.user_id.0,
        theme.0,
        viewer.agent_id.map(|a| a.0),
        item.item_type().as_str(),
        item.content(),
        &item.content_hash(),
        item.tags(),
        now,
        words::tsvector(texts),
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ItemId))
}

/// The active item of the same theme and text.
pub async fn find_active_twin(
    conn: &mut PgConnection,
    user: UserId,
    theme: ThemeId,
    item: &NewItem,
) -> Result<Option<ItemId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "SELECT id FROM memory_items
         WHERE user_id = $1 AND theme_id = $2 AND content_hash = $3 AND status = 'active'",
        user.0,
        theme.0,
        &item.content_hash(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ItemId))
}

pub async fn find_item(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<Option<Item>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT i.id, t.slug, t.display_name, i.type AS item_type, i.key, i.content, i.tags,
                  i.status, i.source, i.source_context, a.name AS "agent?", i.confidence,
                  i.protected, i.expires_at, i.superseded_by, i.created_at, i.updated_at
           FROM memory_items i
           JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = i.user_id AND a.id = i.agent_id
           WHERE i.user_id = $1 AND i.id = $2"#,
        user.0,
        id.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Item {
        id: ItemId(row.id),
        theme: row.slug,
        theme_display_name: row.display_name,
        item_type: ItemType::from_column(&row.item_type),
        key: row.key,
        content: row.content,
        tags: row.tags,
        status: Status::from_column(&row.status),
        source: row.source,
        source_context: row.source_context,
        agent: row.agent,
        confidence: row.confidence,
        protected: row.protected,
        expires_at: row.expires_at,
        superseded_by: row.superseded_by.map(ItemId),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }))
}

pub async fn list_events(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<Vec<ItemEvent>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.event, a.name AS "agent?", e.at
           FROM memory_item_events e
           LEFT JOIN agents a ON a.user_id = e.user_id AND a.id = e.agent_id
           WHERE e.user_id = $1 AND e.item_id = $2 ORDER BY e.id"#,
        user.0,
        id.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| ItemEvent {
            event: row.event,
            agent: row.agent,
            at: row.at,
        })
        .collect())
}

/// False when there is no active item of this id. Its vectors' copies of its
/// status, by which searches filter, change with it.
pub async fn archive_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let archived = sqlx::query_scalar!(
        r#"WITH item AS (
               UPDATE memory_items SET status = 'archived', updated_at = $4
               WHERE user_id = $1 AND id = $2 AND status = 'active'
               RETURNING id
           ), event AS (
               INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
               SELECT $1, id, $3, 'archived', $4 FROM item
           ), embeddings AS (
               UPDATE memory_item_embeddings e SET item_status = 'archived', updated_at = $4
               FROM item WHERE e.user_id = $1 AND e.item_id = item.id
           )
           SELECT id AS "id!" FROM item"#,
        viewer.user_id.0,
        id.0,
        viewer.agent_id.map(|a| a.0),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(archived.is_some())
}

pub async fn list_themes(conn: &mut PgConnection, user: UserId) -> Result<Vec<Theme>, sqlx::Error> {
    sqlx::query_as!(
        Theme,
        r#"SELECT t.slug, t.display_name, coalesce(n.active_count, 0) AS "active_count!"
           FROM memory_themes t
           LEFT JOIN (SELECT theme_id, count(*) AS active_count FROM memory_items
                      WHERE user_id = $1 AND status = 'active' GROUP BY theme_id) n
                  ON n.theme_id = t.id
           WHERE t.user_id = $1
           ORDER BY "active_count!" DESC, t.slug"#,
        user.0,
    )
    .fetch_all(conn)
    .await
}

/// Counted off the index of active texts, which is in the order of themes; of the
/// themes only those in the answer are read. Of two as full the older comes first.
/// The limit stands in the statement, where the plan can reckon with it.
pub async fn fullest_themes(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<ThemeCount>, sqlx::Error> {
    sqlx::query_as!(
        ThemeCount,
        r#"SELECT t.slug, n.active_count AS "active_count!"
           FROM (SELECT theme_id, count(*) AS active_count FROM memory_items
                 WHERE user_id = $1 AND status = 'active'
                 GROUP BY theme_id ORDER BY active_count DESC, theme_id LIMIT 11) n
           JOIN memory_themes t ON t.user_id = $1 AND t.id = n.theme_id
           ORDER BY n.active_count DESC, t.id"#,
        user.0,
    )
    .fetch_all(conn)
    .await
}

/// All items of the user, active and archived.
pub async fn count_items(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM memory_items WHERE user_id = $1"#,
        user.0
    )
    .fetch_one(conn)
    .await
}
