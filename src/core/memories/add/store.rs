//! SQL for adding items: finding conflicting items and linking them. Every function takes a connection bound to its user
//! and still filters by user. Writes need a transaction of [`Db::as_writer`](crate::db::Db::as_writer).

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::{UserId, Viewer};
use crate::memories::provenance::ItemKey;
use crate::memories::themes::store::ThemeId;
use crate::memories::trust::{Holder, Trust};
use crate::memories::{ItemId, NewItem, Period, passages};

/// An active item with the new item's key or text, of the same time.
pub struct ExistingItem {
    pub id: ItemId,
    /// An exact duplicate: the new item adds nothing.
    pub is_same: bool,
    /// It has the new item's key. If neither flag is set, it has the same text and no key.
    pub is_of_key: bool,
    pub standing: Holder,
    pub expires_at: Option<OffsetDateTime>,
    pub period: Period,
    pub created_at: OffsetDateTime,
    has_its_text: bool,
}

impl ExistingItem {
    /// Whether both tell of the same time; if not, they stand beside each other.
    fn is_met_by(&self, item: &NewItem, now: OffsetDateTime) -> bool {
        match self.has_its_text {
            true => self.period.is_continued_by(self.created_at, item.period(), now),
            false => self.period.meets(item.period(), now),
        }
    }
}

pub async fn list_existing(
    conn: &mut PgConnection,
    user: UserId,
    theme: ThemeId,
    item: &NewItem,
    now: OffsetDateTime,
) -> Result<Vec<ExistingItem>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, content_hash = $3 AS "has_its_text!", content_hash = $3 AND ($4::text IS NULL OR key IS NOT NULL) AS "is_same!",
                  coalesce(replace(key, '_', '') = replace($4, '_', ''), false) AS "is_of_key!", trust AS "trust: Trust", locked,
                  greatest(created_at, last_verified_at) AS "stated_at!", expires_at, valid_from, valid_until, created_at
           FROM memory_items
           WHERE user_id = $1 AND theme_id = $2 AND status = 'active' AND owner_agent_id IS NOT DISTINCT FROM new_owner()
             AND project_id IS NOT DISTINCT FROM $5 AND (replace(key, '_', '') = replace($4, '_', '') OR (content_hash = $3 AND ($4 IS NULL OR key IS NULL)))
           ORDER BY id"#,
        user.0,
        theme.0,
        &item.content_hash(),
        item.key().map(ItemKey::as_str),
        item.project().map(|project| project.0),
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().map(|row| ExistingItem {
        id: ItemId(row.id),
        is_same: row.is_same,
        is_of_key: row.is_of_key,
        standing: Holder { trust: row.trust, is_locked: row.locked, stated_at: row.stated_at },
        expires_at: row.expires_at,
        period: Period { from: row.valid_from, until: row.valid_until },
        created_at: row.created_at,
        has_its_text: row.has_its_text,
    });
    Ok(found.filter(|found| found.is_met_by(item, now)).collect())
}

/// The other active items with this one's key that this period meets.
pub async fn list_in_way(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    period: Period,
    now: OffsetDateTime,
) -> Result<Vec<(ItemId, Holder)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT o.id, o.trust AS "trust: Trust", o.locked, greatest(o.created_at, o.last_verified_at) AS "stated_at!"
           FROM memory_items i
           JOIN memory_items o ON o.user_id = $1 AND o.theme_id = i.theme_id AND replace(o.key, '_', '') = replace(i.key, '_', '') AND o.status = 'active'
                AND o.owner_agent_id IS NOT DISTINCT FROM i.owner_agent_id AND o.project_id IS NOT DISTINCT FROM i.project_id
                AND o.id <> i.id
           WHERE i.user_id = $1 AND i.id = $2 AND periods_meet(o.valid_from, o.valid_until, $3, $4, $5)
           ORDER BY o.id"#,
        user.0,
        item.0,
        period.from,
        period.until,
        now,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let standing = Holder { trust: row.trust, is_locked: row.locked, stated_at: row.stated_at };
        (ItemId(row.id), standing)
    });
    Ok(rows.collect())
}

/// The identical item that was already put aside for this one.
pub async fn find_aside(
    conn: &mut PgConnection,
    user: UserId,
    theme: ThemeId,
    item: &NewItem,
    holder: ItemId,
) -> Result<Option<ItemId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT id AS "id: ItemId" FROM memory_items
         WHERE user_id = $1 AND superseded_by = $2 AND theme_id = $3 AND content_hash = $4
           AND key = $5 AND status = 'archived' AND valid_from IS NOT DISTINCT FROM $6 AND valid_until IS NOT DISTINCT FROM $7
           AND project_id IS NOT DISTINCT FROM $8
         ORDER BY id LIMIT 1"#,
        user.0,
        holder.0,
        theme.0,
        &item.content_hash(),
        item.key().map(ItemKey::as_str),
        item.period().from,
        item.period().until,
        item.project().map(|project| project.0),
    )
    .fetch_optional(conn)
    .await
}

/// Links an item to the one that superseded it.
pub async fn link(
    conn: &mut PgConnection,
    user: UserId,
    older: ItemId,
    newer: ItemId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE memory_items SET superseded_by = $3 WHERE user_id = $1 AND id = $2 AND id <> $3",
        user.0,
        older.0,
        newer.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives a key to an item without one, to be found and embedded with it.
pub async fn name_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    key: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let named = sqlx::query!(
        "WITH item AS (
             UPDATE memory_items SET key = $4, updated_at = $5
             WHERE user_id = $1 AND id = $2 AND key IS NULL RETURNING id, content, tags
         ), event AS (
             INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
             SELECT $1, id, $3, 'named', $5 FROM item
             RETURNING user_id
         )
         SELECT content, tags FROM item",
        viewer.user_id.0,
        id.0,
        viewer.agent_id.map(|a| a.0),
        key,
        now,
    )
    .fetch_optional(&mut *conn)
    .await?;
    if let Some(item) = named {
        let (user, content) = (viewer.user_id, &item.content);
        passages::remake(conn, user, id, content, Some(key), &item.tags, now).await?;
    }
    Ok(())
}
