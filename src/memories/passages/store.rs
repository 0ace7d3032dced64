//! SQL that rebuilds the passages of sources without current ones. Runs as the app role in a transaction bound to its user,
//! unless stated otherwise.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{PassageRebuild, PassageSource, SourcePassages};
use crate::db::UserId;

/// Runs as the system role.
pub async fn list_users_due(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    let users = sqlx::query_scalar!("SELECT user_id FROM memory_passages_due ORDER BY user_id");
    let users = users.fetch_all(conn).await?;
    Ok(users.into_iter().map(UserId).collect())
}

pub async fn find_due(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<PassageRebuild>, sqlx::Error> {
    sqlx::query_as!(
        PassageRebuild,
        "SELECT source_id AS after, sources, done FROM memory_passages_due WHERE user_id = $1",
        user.0
    )
    .fetch_optional(conn)
    .await
}

/// The next sources after this id, in id order.
pub async fn list_texts(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    limit: i64,
) -> Result<Vec<PassageSource>, sqlx::Error> {
    sqlx::query_as!(
        PassageSource,
        "SELECT id, content, key, tags, created_at FROM memory_items WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        user.0,
        after,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Replaces the sources' passages and adds missing pending embeddings. A first passage keeps its existing embedding.
/// Returns the number of characters to embed.
pub async fn replace(
    conn: &mut PgConnection,
    user: UserId,
    of: &[SourcePassages],
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    let sources: Vec<i64> = of.iter().map(|of| of.source_id).collect();
    sqlx::query!(
        "DELETE FROM memory_passages WHERE user_id = $1 AND source_id = ANY ($2)",
        user.0,
        &sources
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_scalar!(
        r#"WITH passage AS (
               INSERT INTO memory_passages (user_id, source_id, n, start, length, content_hash, terms)
               SELECT $1, f.source_id, p.n, p.start, p.length, decode(p.hash, 'base64'), decode(p.terms, 'base64')
               FROM json_to_recordset($2::text::json) AS f (source_id bigint, passages json)
               CROSS JOIN LATERAL json_to_recordset(f.passages)
                    AS p (n smallint, start integer, length integer, hash text, terms text)
               RETURNING source_id, n, length
           ), pending AS (
               INSERT INTO memory_embeddings (user_id, space_id, source_id, passage, state, is_turn, updated_at)
               SELECT $1, s.id, p.source_id, p.n, 'pending', i.is_turn, $3
               FROM passage p
               JOIN memory_items i ON i.user_id = $1 AND i.id = p.source_id
               JOIN embedding_spaces s ON s.user_id = $1 AND s.state IN ('active', 'building')
               WHERE NOT EXISTS (SELECT 1 FROM embedding_settings WHERE user_id = $1 AND NOT enabled)
               ON CONFLICT DO NOTHING
               RETURNING source_id, passage
           )
           SELECT coalesce(sum(p.length), 0)::bigint AS "chars!"
           FROM pending e JOIN passage p ON p.source_id = e.source_id AND p.n = e.passage"#,
        user.0,
        serde_json::to_string(of).map_err(|e| sqlx::Error::Encode(e.into()))?,
        now,
    )
    .fetch_one(conn)
    .await
}

/// Stores the progress; `None`: done.
pub async fn note_done(
    conn: &mut PgConnection,
    user: UserId,
    after: Option<i64>,
    sources: i64,
) -> Result<(), sqlx::Error> {
    let Some(after) = after else {
        let gone = sqlx::query!("DELETE FROM memory_passages_due WHERE user_id = $1", user.0);
        gone.execute(conn).await?;
        return Ok(());
    };
    sqlx::query!(
        "UPDATE memory_passages_due SET source_id = $2, done = done + $3 WHERE user_id = $1",
        user.0,
        after,
        sources,
    )
    .execute(conn)
    .await?;
    Ok(())
}
