//! The statements that read documents for an export, as the app role in a transaction that has set the user.

use sqlx::PgConnection;

use super::{DocumentLine, RevisionLine};
use crate::db::UserId;
use crate::export::lines::ExportBounds;

/// Ordered by id.
pub async fn list_documents(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<DocumentLine>, sqlx::Error> {
    sqlx::query_as!(
        DocumentLine,
        r#"SELECT d.id, coalesce(r.path, d.path) AS "path!", coalesce(r.revision, d.revision) AS "revision!", a.name AS "owner?", p.name AS "project?",
                  d.created_at, CASE WHEN $5::timestamptz IS NULL OR d.archived_at <= $5 THEN d.archived_at END AS archived_at
           FROM documents d LEFT JOIN agents a ON a.user_id = $1 AND a.id = d.owner_agent_id
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = d.project_id
           LEFT JOIN LATERAL (SELECT r.path, r.revision FROM document_revisions r
                              WHERE r.user_id = $1 AND r.document_id = d.id AND r.at <= $5 ORDER BY r.revision DESC LIMIT 1) r ON true
           WHERE d.user_id = $1 AND d.id > $2 AND d.id <= $3 AND ($5 IS NULL OR d.created_at <= $5) ORDER BY d.id LIMIT $4"#,
        user.0,
        after,
        bounds.document,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}

/// Ordered by document and number.
pub async fn list_revisions(
    conn: &mut PgConnection,
    user: UserId,
    (document, revision): (i64, i32),
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<RevisionLine>, sqlx::Error> {
    sqlx::query_as!(
        RevisionLine,
        r#"SELECT r.document_id AS document, r.revision, r.event, r.path, r.content, r.trust, a.name AS "agent?", r.at
           FROM document_revisions r LEFT JOIN agents a ON a.user_id = $1 AND a.id = r.agent_id
           WHERE r.user_id = $1 AND (r.document_id, r.revision) > ($2, $3) AND r.document_id <= $4
             AND ($6::timestamptz IS NULL OR r.at <= $6)
           ORDER BY r.document_id, r.revision LIMIT $5"#,
        user.0,
        document,
        revision,
        bounds.document,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}
