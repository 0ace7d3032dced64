//! The statement that reads projects for an export, as the app role in a transaction that has set the user.

use sqlx::PgConnection;

use super::ProjectLine;
use crate::db::UserId;
use crate::export::lines::ExportBounds;

/// Ordered by id.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<ProjectLine>, sqlx::Error> {
    sqlx::query_as!(
        ProjectLine,
        r#"SELECT p.id, p.name, p.created_at,
                  ARRAY(SELECT a.alias FROM project_aliases a WHERE a.user_id = $1 AND a.project_id = p.id AND a.kind = 'repository'
                          AND ($4::timestamptz IS NULL OR a.created_at <= $4) ORDER BY a.alias) AS "repositories!",
                  ARRAY(SELECT a.alias FROM project_aliases a WHERE a.user_id = $1 AND a.project_id = p.id AND a.kind = 'folder'
                          AND ($4 IS NULL OR a.created_at <= $4) ORDER BY a.alias) AS "folders!"
           FROM projects p WHERE p.user_id = $1 AND p.id > $2 AND ($4 IS NULL OR p.created_at <= $4) ORDER BY p.id LIMIT $3"#,
        user.0,
        after,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}
