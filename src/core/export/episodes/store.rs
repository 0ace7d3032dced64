//! The statement that reads episodes for an export, as the app role in a transaction that has set the user.

use sqlx::PgConnection;

use super::EpisodeLine;
use crate::db::UserId;
use crate::export::lines::ExportBounds;

/// Ordered by id.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<EpisodeLine>, sqlx::Error> {
    sqlx::query_as!(
        EpisodeLine,
        r#"SELECT e.source_id AS id, e.session_id AS session, a.name AS "agent?", o.name AS "owner?", p.name AS "project?", i.content AS summary, e.abstract AS short,
                  i.tags AS topics, e.made_by, i.trust, e.began_at, e.ended_at, i.expires_at, e.promoted_at
           FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = i.agent_id
           LEFT JOIN agents o ON o.user_id = $1 AND o.id = i.owner_agent_id
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = i.project_id
           WHERE e.user_id = $1 AND e.source_id > $2 AND e.source_id <= $3 AND ($5::timestamptz IS NULL OR i.created_at <= $5)
           ORDER BY e.source_id LIMIT $4"#,
        user.0,
        after,
        bounds.item,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}
