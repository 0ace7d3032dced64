//! The statements that read documents for an export, as the app role in a transaction that knows its user.

use sqlx::PgConnection;

use super::{DocumentLine, RevisionLine};
use crate::db::UserId;

/// In the order of their numbers.
pub async fn list_documents(
    conn: &mut PgConnection,
    user: UserId,
    (after, last): (i64, i64),
    limit: i64,
) -> Result<Vec<DocumentLine>, sqlx::Error> {
    sqlx::query_as!(
        DocumentLine,
        r#"SELECT d.id, d.path, d.revision, a.name AS "owner?", d.created_at, d.archived_at
           FROM documents d LEFT JOIN agents a ON a.user_id = $1 AND a.id = d.owner_agent_id
           WHERE d.user_id = $1 AND d.id > $2 AND d.id <= $3 ORDER BY d.id LIMIT $4"#,
        user.0,
        after,
        last,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// In the order of their documents and numbers.
pub async fn list_revisions(
    conn: &mut PgConnection,
    user: UserId,
    (document, revision): (i64, i32),
    last: i64,
    limit: i64,
) -> Result<Vec<RevisionLine>, sqlx::Error> {
    sqlx::query_as!(
        RevisionLine,
        r#"SELECT r.document_id AS document, r.revision, r.event, r.path, r.content, r.trust, a.name AS "agent?", r.at
           FROM document_revisions r LEFT JOIN agents a ON a.user_id = $1 AND a.id = r.agent_id
           WHERE r.user_id = $1 AND (r.document_id, r.revision) > ($2, $3) AND r.document_id <= $4
           ORDER BY r.document_id, r.revision LIMIT $5"#,
        user.0,
        document,
        revision,
        last,
        limit,
    )
    .fetch_all(conn)
    .await
}
