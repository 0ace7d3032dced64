//! SQL that rebuilds the passages of sources without current ones. Runs as the app role in a transaction bound to its user,
//! unless stated otherwise.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{PassageRebuild, PassageSource, SourcePassages};
use crate::db::UserId;

/// Runs as the system role.
pub async fn list_users_due(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id: UserId" FROM memory_passages_due ORDER BY user_id"#
    )
    .fetch_all(conn)
    .await
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

/// Replaces the sources' passages and adds missing pending embeddings. A text that is as it was keeps its embedding. One with
/// another key than before is embedded again: at once if `is_sent`, or by the builtin model; otherwise its embedding serves on
/// and is marked as made without the key. Returns the number of characters to embed.
pub async fn replace(
    conn: &mut PgConnection,
    user: UserId,
    of: &[SourcePassages],
    is_sent: bool,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    let sources: Vec<i64> = of.iter().map(|of| of.source_id).collect();
    let of = serde_json::to_string(of).map_err(|e| sqlx::Error::Encode(e.into()))?;
    let again = sqlx::query_scalar!(
        r#"WITH changed AS (
               UPDATE memory_embeddings e
               SET state = CASE WHEN c.is_sent THEN 'pending' ELSE e.state END, without_key = NOT c.is_sent,
                   updated_at = CASE WHEN c.is_sent THEN $5 ELSE e.updated_at END
               FROM (SELECT f.source_id, p.n, p.length, s.id AS space_id,
                            s.state <> 'retired' AND ($4 OR s.provider_type = 'builtin') AS is_sent
                     FROM json_to_recordset($3::text::json) AS f (source_id bigint, passages json)
                     CROSS JOIN LATERAL json_to_recordset(f.passages)
                          AS p (n smallint, length integer, key_chars integer, hash text)
                     JOIN embedding_spaces s ON s.user_id = $1
                     LEFT JOIN memory_passages o ON o.user_id = $1 AND o.source_id = f.source_id AND o.n = p.n
                     WHERE p.key_chars IS NOT NULL AND o.content_hash IS DISTINCT FROM decode(p.hash, 'base64')) c
               -- ANY: by their keys, as in `embedding/drain/store.rs`.
               WHERE e.user_id = $1 AND e.source_id = ANY ($2) AND e.source_id = c.source_id AND e.passage = c.n
                 AND e.space_id = c.space_id AND e.state || '' = 'ready'
               RETURNING c.is_sent, c.length
           )
           SELECT coalesce(sum(length) FILTER (WHERE is_sent), 0)::bigint AS "chars!" FROM changed"#,
        user.0,
        &sources,
        of.as_str(),
        is_sent,
        now,
    )
    .fetch_one(&mut *conn)
    .await?;
    sqlx::query!(
        "DELETE FROM memory_passages WHERE user_id = $1 AND source_id = ANY ($2)",
        user.0,
        &sources
    )
    .execute(&mut *conn)
    .await?;
    let missing = sqlx::query_scalar!(
        r#"WITH passage AS (
               INSERT INTO memory_passages (user_id, source_id, n, start, length, key_chars, content_hash, terms)
               SELECT $1, f.source_id, p.n, p.start, p.length, p.key_chars, decode(p.hash, 'base64'), decode(p.terms, 'base64')
               FROM json_to_recordset($2::text::json) AS f (source_id bigint, passages json)
               CROSS JOIN LATERAL json_to_recordset(f.passages)
                    AS p (n smallint, start integer, length integer, key_chars integer, hash text, terms text)
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
        of.as_str(),
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(again + missing)
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
