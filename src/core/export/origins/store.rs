//! The statements that export and import origins, as the app role in a transaction that has set the user.

use sqlx::PgConnection;

use super::OriginsLine;
use crate::db::UserId;
use crate::export::lines::ExportBounds;

/// Ordered by item.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<OriginsLine>, sqlx::Error> {
    sqlx::query_as!(
        OriginsLine,
        r#"SELECT item_id AS item, array_agg(source_id ORDER BY source_id) AS "sources!" FROM memory_origins
           WHERE user_id = $1 AND item_id > $2 AND item_id <= $3
             AND ($5::timestamptz IS NULL
                  OR EXISTS (SELECT FROM memory_items i WHERE i.user_id = $1 AND i.id = item_id AND i.created_at <= $5))
           GROUP BY item_id ORDER BY item_id LIMIT $4"#,
        user.0,
        after,
        bounds.item,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}

/// For a derived memory or a dream's document; skips sources that do not exist.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    item: i64,
    sources: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO memory_origins (user_id, item_id, source_id, session_id)
         SELECT $1, d.id, s.id, e.session_id
         FROM (SELECT id FROM memory_items WHERE user_id = $1 AND id = $2 AND type = 'reflection'
               UNION ALL SELECT id FROM documents WHERE user_id = $1 AND id = $2 AND starts_with(path, '_system/dreaming/')) d
         JOIN memory_items s ON s.user_id = $1 AND s.id = ANY ($3) AND s.type NOT IN ('reflection', 'turn', 'document')
         LEFT JOIN episodes e ON e.user_id = $1 AND e.source_id = s.id
         ON CONFLICT DO NOTHING",
        user.0,
        item,
        sources,
    )
    .execute(conn)
    .await?;
    Ok(())
}
