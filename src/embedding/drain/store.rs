//! The statements of the drain: who has a space, what waits in it, what is
//! written into it, and what stands in the way.

use pgvector::{Bit, HalfVector};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::embedding::SpaceId;
use crate::embedding::model::{Row, Written};

/// Of a user who is shut out nothing is sent to anybody.
pub async fn is_disabled(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM users WHERE id = $1 AND disabled_at IS NOT NULL) AS "is_disabled!""#,
        user.0,
    )
    .fetch_one(conn)
    .await
}

/// The next pending items after `after`, with their texts, turns last; none once the user is disabled.
pub async fn list_pending(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    after: (bool, i64),
    limit: i64,
) -> Result<Vec<Row>, sqlx::Error> {
    sqlx::query_as!(
        Row,
        "SELECT e.item_id, e.is_turn, e.content_hash, i.content
         FROM (SELECT item_id, is_turn, content_hash FROM memory_item_embeddings
               WHERE user_id = $1 AND space_id = $2 AND state = 'pending' AND (is_turn, item_id) > ($3, $4)
                 AND NOT EXISTS (SELECT FROM users WHERE id = $1 AND disabled_at IS NOT NULL)
               ORDER BY is_turn, item_id LIMIT $5) e
         -- OFFSET 0: each by its key, whatever the statistics say of a table that was empty just now.
         CROSS JOIN LATERAL (
             SELECT i.content FROM memory_items i WHERE i.user_id = $1 AND i.id = e.item_id OFFSET 0
         ) i
         ORDER BY e.is_turn, e.item_id",
        user.0,
        space.0,
        after.0,
        after.1,
        limit,
    )
    .fetch_all(conn)
    .await
}

pub async fn has_pending(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM memory_item_embeddings
                          WHERE user_id = $1 AND space_id = $2 AND state = 'pending') AS "has!""#,
        user.0,
        space.0
    )
    .fetch_one(conn)
    .await
}

/// How long the pending texts are, in bytes, of the first 1,000.
pub async fn list_pending_lengths(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
) -> Result<Vec<usize>, sqlx::Error> {
    let lengths = sqlx::query_scalar!(
        r#"SELECT octet_length(i.content) AS "bytes!"
           FROM (SELECT item_id FROM memory_item_embeddings
                 WHERE user_id = $1 AND space_id = $2 AND state = 'pending'
                 ORDER BY is_turn, item_id LIMIT 1000) e
           -- OFFSET 0: each by its key, as in `list_pending`.
           CROSS JOIN LATERAL (
               SELECT i.content FROM memory_items i WHERE i.user_id = $1 AND i.id = e.item_id OFFSET 0
           ) i"#,
        user.0,
        space.0
    );
    let lengths = lengths.fetch_all(conn).await?;
    let as_usize = |bytes| usize::try_from(bytes).unwrap_or_default();
    Ok(lengths.into_iter().map(as_usize).collect())
}

/// Nothing is sent for this space before then.
pub async fn set_pause(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    until: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET retry_at = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        space.0,
        until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps the width that the provider answered first. False when it answers another now.
pub async fn keep_dimensions(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    dimensions: i32,
) -> Result<bool, sqlx::Error> {
    let kept = sqlx::query_scalar!(
        r#"WITH first AS (
               UPDATE embedding_spaces SET dimensions = $3
               WHERE user_id = $1 AND id = $2 AND dimensions IS NULL RETURNING dimensions
           )
           SELECT coalesce((SELECT dimensions FROM first),
                           (SELECT dimensions FROM embedding_spaces WHERE user_id = $1 AND id = $2)) AS "kept?""#,
        user.0,
        space.0,
        dimensions,
    )
    .fetch_one(conn)
    .await?;
    // A space that is gone keeps nothing; nothing will be written into it either.
    Ok(kept.is_none_or(|kept| kept == dimensions))
}

/// Writes what came back for items that still wait for it with the same text, in
/// a space that is still in use: a late answer of an old model changes nothing.
pub async fn write_answers(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    answers: &[Written],
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let mut items = Vec::with_capacity(answers.len());
    let mut hashes = Vec::with_capacity(answers.len());
    let mut errors = Vec::with_capacity(answers.len());
    let mut truncated = Vec::with_capacity(answers.len());
    let mut bits: Vec<Option<Bit>> = Vec::with_capacity(answers.len());
    let mut halves: Vec<Option<HalfVector>> = Vec::with_capacity(answers.len());
    for answer in answers {
        items.push(answer.item_id);
        hashes.push(answer.content_hash.clone());
        truncated.push(answer.truncated);
        match &answer.outcome {
            Ok(vector) => {
                bits.push(Some(vector.bits()));
                halves.push(Some(vector.half()));
                errors.push(None);
            }
            Err(sentence) => {
                bits.push(None);
                halves.push(None);
                errors.push(Some(sentence.clone()));
            }
        }
    }
    let done = sqlx::query(
        "UPDATE memory_item_embeddings e
         SET state = CASE WHEN v.error IS NULL THEN 'ready' ELSE 'error' END, error = v.error,
             truncated = v.truncated, bits = v.bits, embedding = v.embedding,
             attempts = e.attempts + 1, updated_at = $9
         FROM unnest($3::bigint[], $4::bytea[], $5::text[], $6::boolean[], $7::bit(1024)[], $8::halfvec[])
              AS v (item_id, content_hash, error, truncated, bits, embedding)
         -- ANY and || '': by their keys; where statistics are old, all that waits would be read for them.
         WHERE e.user_id = $1 AND e.space_id = $2 AND e.item_id = ANY ($3) AND e.item_id = v.item_id
           AND e.state || '' = 'pending' AND e.content_hash = v.content_hash
           AND EXISTS (SELECT FROM embedding_spaces s
                       WHERE s.user_id = $1 AND s.id = $2 AND s.state <> 'retired')",
    )
    .bind(user.0)
    .bind(space.0)
    .bind(items)
    .bind(hashes)
    .bind(errors)
    .bind(truncated)
    .bind(bits)
    .bind(halves)
    .bind(now)
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Whether more than `limit` items of the space wait.
pub async fn set_full(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    limit: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces s SET is_full = f.is_full
         FROM (SELECT EXISTS (SELECT FROM memory_item_embeddings
                              WHERE user_id = $1 AND space_id = $2 AND state = 'pending'
                              OFFSET $3 LIMIT 1) AS is_full) f
         WHERE s.user_id = $1 AND s.id = $2 AND s.is_full <> f.is_full",
        user.0,
        space.0,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What stands in the way of the whole space, and when to try again.
pub async fn set_problem(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    problem: &str,
    retry_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET problem = $3, failures = failures + 1, retry_at = $4
         WHERE user_id = $1 AND id = $2",
        user.0,
        space.0,
        problem,
        retry_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn count_failures(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
) -> Result<i32, sqlx::Error> {
    let failures = sqlx::query_scalar!(
        "SELECT failures FROM embedding_spaces WHERE user_id = $1 AND id = $2",
        user.0,
        space.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(failures.unwrap_or(0))
}
