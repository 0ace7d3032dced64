//! The statements of a person's decisions. Every function takes a connection that knows its user,
//! and names the user again.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::Rival;
use crate::accounts::{UserId, Viewer};
use crate::memories::model::{Item, ItemId, Status, Validity};

/// Named to the person at once.
const RIVALS_MAX: i64 = 10;

/// An event of an item's history, with what was before it.
pub struct PastEvent {
    pub id: i64,
    pub event: String,
    pub is_by_agent: bool,
    pub at: OffsetDateTime,
    /// `None` where it kept none of it, or only the confidence.
    pub was: Option<Validity>,
    pub was_confidence: Option<i16>,
}

/// The newest first.
pub async fn latest_events(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    limit: i64,
) -> Result<Vec<PastEvent>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, event, agent_id IS NOT NULL AS "is_by_agent!", at, was_confidence, was_protected, was_verified_at,
                  was_expires_at, was_superseded_by
           FROM memory_item_events WHERE user_id = $1 AND item_id = $2 ORDER BY id DESC LIMIT $3"#,
        user.0,
        item.0,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows
        .into_iter()
        .map(|row| PastEvent {
            id: row.id,
            event: row.event,
            is_by_agent: row.is_by_agent,
            at: row.at,
            was: row
                .was_confidence
                .zip(row.was_protected)
                .map(|(confidence, protected)| Validity {
                    confidence,
                    protected,
                    last_verified_at: row.was_verified_at,
                    expires_at: row.was_expires_at,
                    superseded_by: row.was_superseded_by.map(ItemId),
                }),
            was_confidence: row.was_confidence,
        })
        .collect())
}

/// When it was confirmed, and what was before that.
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

/// Writes what an item comes to, with the event that keeps what it was, and its vectors' copies of how
/// long it is live. The item is locked and as given; spaces are shared
/// ([`share_spaces`](crate::embedding::store::share_spaces)).
pub async fn change_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    item: &Item,
    status: Status,
    validity: &Validity,
    event: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let was = item.validity();
    sqlx::query!(
        "WITH item AS (
             UPDATE memory_items
             SET status = $3, confidence = $4, protected = $5, last_verified_at = $6, expires_at = $7, superseded_by = $8,
                 updated_at = $9
             WHERE user_id = $1 AND id = $2
             RETURNING id, CASE WHEN status = 'active' THEN coalesce(expires_at, 'infinity') ELSE '-infinity' END AS live_until
         ), event AS (
             INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at, was_confidence, was_protected,
                                             was_verified_at, was_expires_at, was_superseded_by)
             SELECT $1, id, $10, $11, $9, $12, $13, $14, $15, $16 FROM item
         )
         UPDATE memory_item_embeddings e SET item_live_until = item.live_until, updated_at = $9
         FROM item WHERE e.user_id = $1 AND e.item_id = item.id AND e.item_live_until <> item.live_until",
        viewer.user_id.0,
        item.id.0,
        status.as_str(),
        validity.confidence,
        validity.protected,
        validity.last_verified_at,
        validity.expires_at,
        validity.superseded_by.map(|id| id.0),
        now,
        viewer.agent_id.map(|a| a.0),
        event,
        was.confidence,
        was.protected,
        was.last_verified_at,
        was.expires_at,
        was.superseded_by.map(|id| id.0),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Active items that stand in an archived one's place: what took it, what has its key, and what has its
/// text, unless both have keys. Held until the transaction ends, in one order. Those that have expired
/// and are not archived yet are among them.
pub async fn lock_rivals(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
) -> Result<Vec<(Rival, Option<OffsetDateTime>)>, sqlx::Error> {
    // Each is one look-up in an index.
    let rows = sqlx::query!(
        r#"SELECT o.id, left(o.content, $3) AS "beginning!", o.expires_at FROM memory_items o
           WHERE o.user_id = $1 AND o.status = 'active' AND NOT o.is_turn AND o.id <> $2 AND o.id = ANY (ARRAY(
               SELECT i.superseded_by FROM memory_items i
               WHERE i.user_id = $1 AND i.id = $2 AND i.superseded_by IS NOT NULL
               UNION
               SELECT k.id FROM memory_items i
               JOIN memory_items k ON k.user_id = $1 AND k.theme_id = i.theme_id AND k.key = i.key AND k.status = 'active'
               WHERE i.user_id = $1 AND i.id = $2
               UNION
               (SELECT c.id FROM memory_items i
                JOIN memory_items c ON c.user_id = $1 AND c.theme_id = i.theme_id AND c.content_hash = i.content_hash
                                   AND c.status = 'active' AND (c.key IS NULL OR i.key IS NULL)
                WHERE i.user_id = $1 AND i.id = $2 ORDER BY c.id LIMIT $4)))
           ORDER BY o.id FOR NO KEY UPDATE"#,
        user.0,
        item.0,
        Rival::CHARS_MAX,
        RIVALS_MAX,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let rival = Rival {
                id: ItemId(row.id),
                beginning: row.beginning,
            };
            (rival, row.expires_at)
        })
        .collect())
}

/// What gave its place to the item at this moment, with the confidence that it had.
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
    Ok(rows
        .into_iter()
        .map(|row| (ItemId(row.id), row.was_confidence))
        .collect())
}

/// False where there is no such item, or that was asked for before.
pub async fn set_delete_at(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    at: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE memory_items SET delete_at = $3
         WHERE user_id = $1 AND id = $2 AND NOT is_turn AND delete_at IS NULL",
        user.0,
        item.0,
        at,
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

pub async fn clear_delete_at(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
) -> Result<(), sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE memory_items SET delete_at = NULL WHERE user_id = $1 AND id = $2",
        user.0,
        item.0,
    );
    done.execute(conn).await?;
    Ok(())
}

/// Whether it is to be deleted by now; held until the transaction ends.
pub async fn lock_due(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "SELECT id FROM memory_items WHERE user_id = $1 AND id = $2 AND delete_at <= $3 FOR UPDATE",
        user.0,
        item.0,
        now,
    );
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// Items that are to be deleted, and when; the first first.
pub async fn list_deletions(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<(ItemId, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, delete_at AS "delete_at!" FROM memory_items
           WHERE user_id = $1 AND delete_at IS NOT NULL ORDER BY delete_at, id LIMIT $2"#,
        user.0,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows
        .into_iter()
        .map(|row| (ItemId(row.id), row.delete_at))
        .collect())
}

/// As the system role: whose items are to be deleted, and from when on. What is being erased goes whole.
pub async fn list_users_with_deletions(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<(UserId, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.user_id, min(i.delete_at) AS "delete_at!" FROM memory_items i
           JOIN users u ON u.id = i.user_id AND u.erasing_at IS NULL
           WHERE i.delete_at IS NOT NULL GROUP BY i.user_id ORDER BY 2, 1 LIMIT $1"#,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows
        .into_iter()
        .map(|row| (UserId(row.user_id), row.delete_at))
        .collect())
}
