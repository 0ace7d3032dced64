//! SQL of the embedding job: pending passages, results and problems of a space.

use pgvector::HalfVector;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::embedding::model::{EmbeddedPassage, PendingPassage, TokenSigns};
use crate::embedding::{SpaceId, Vector};

/// Limit of a text that is sent before its passages are made.
const UNCUT_CHARS_MAX: i32 = 1_000;
/// Limit on the passages with the same text that are checked for an embedding.
const SAME_TEXTS_MAX: i64 = 8;

/// No texts of a disabled user are sent.
pub async fn is_disabled(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM users WHERE id = $1 AND disabled_at IS NOT NULL) AS "is_disabled!""#,
        user.0,
    )
    .fetch_one(conn)
    .await
}

/// The next pending passages with their texts, keys before them, turns last; none if the user is disabled. Each with the
/// location of an existing embedding of the same text in one of the spaces `known`, of which the first is the one to fill. That
/// must have token signs if the passage gets some: with `with_signs`, see [`PendingPassage::gets_signs`].
pub async fn list_pending(
    conn: &mut PgConnection,
    user: UserId,
    known: &[i64],
    with_signs: bool,
    after: (bool, i64, i16),
    limit: i64,
) -> Result<Vec<PendingPassage>, sqlx::Error> {
    sqlx::query_as!(
        PendingPassage,
        r#"SELECT e.source_id, e.passage, e.is_turn, t.content_hash AS "content_hash?", t.content AS "content!", t.gets_signs AS "gets_signs!",
                  k.source_id AS "known_source?", k.passage AS "known_passage?", k.space_id AS "known_space?"
         FROM (SELECT source_id, passage, is_turn FROM memory_embeddings
               WHERE user_id = $1 AND space_id = ($2::bigint[])[1] AND state = 'pending' AND (is_turn, source_id, passage) > ($3, $4, $5)
                 AND NOT EXISTS (SELECT FROM users WHERE id = $1 AND disabled_at IS NOT NULL)
               ORDER BY is_turn, source_id, passage LIMIT $6) e
         -- OFFSET 0: each by its key, whatever the statistics say of a table that was empty just now.
         CROSS JOIN LATERAL (
             SELECT p.content_hash, concat(left(i.key, p.key_chars) || ': ',
                                           substr(i.content, coalesce(p.start, 0) + 1, coalesce(p.length, $7))) AS content,
                    $9 AND e.passage = 0 AND NOT EXISTS (SELECT FROM memory_passages o
                        WHERE o.user_id = $1 AND o.source_id = e.source_id AND o.n = 1 OFFSET 0) AS gets_signs
             FROM memory_items i LEFT JOIN memory_passages p ON p.user_id = $1 AND p.source_id = i.id AND p.n = e.passage
             WHERE i.user_id = $1 AND i.id = e.source_id OFFSET 0
         ) t
         LEFT JOIN LATERAL (
             SELECT v.source_id, v.passage, v.space_id
             FROM (SELECT e.source_id, e.passage
                   UNION ALL
                   (SELECT p.source_id, p.n FROM memory_passages p
                    WHERE p.user_id = $1 AND p.content_hash = t.content_hash LIMIT $8)) c
             CROSS JOIN LATERAL (
                 SELECT v.source_id, v.passage, v.space_id FROM memory_embeddings v
                 WHERE v.user_id = $1 AND v.source_id = c.source_id AND v.passage = c.passage AND v.space_id = ANY ($2)
                   AND v.state || '' = 'ready' AND NOT v.without_key AND (NOT t.gets_signs OR v.token_signs IS NOT NULL) OFFSET 0
             ) v
             LIMIT 1
         ) k ON t.content_hash IS NOT NULL
         ORDER BY e.is_turn, e.source_id, e.passage"#,
        user.0,
        known,
        after.0,
        after.1,
        after.2,
        limit,
        UNCUT_CHARS_MAX,
        SAME_TEXTS_MAX,
        with_signs,
    )
    .fetch_all(conn)
    .await
}

/// Copies the known embeddings to the pending passages of `rows`. Returns which were filled.
pub async fn copy_known(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    rows: &[PendingPassage],
    now: OffsetDateTime,
) -> Result<Vec<(i64, i16)>, sqlx::Error> {
    let known = || rows.iter().filter(|row| row.known_space.is_some());
    let sources: Vec<i64> = known().map(|row| row.source_id).collect();
    let passages: Vec<i16> = known().map(|row| row.passage).collect();
    let from_sources: Vec<i64> = known().filter_map(|row| row.known_source).collect();
    let from_passages: Vec<i16> = known().filter_map(|row| row.known_passage).collect();
    let from_spaces: Vec<i64> = known().filter_map(|row| row.known_space).collect();
    let hashes: Vec<Vec<u8>> = known().filter_map(|row| row.content_hash.clone()).collect();
    let get_signs: Vec<bool> = known().map(|row| row.gets_signs).collect();
    let copied = sqlx::query!(
        "UPDATE memory_embeddings e
         SET state = 'ready', error = NULL, embedding = k.embedding, updated_at = $8,
             token_signs = CASE WHEN t.gets_signs THEN k.token_signs END
         FROM unnest($3::bigint[], $4::smallint[], $5::bigint[], $6::smallint[], $7::bigint[], $9::bytea[], $10::boolean[])
              AS t (source_id, passage, from_source, from_passage, from_space, content_hash, gets_signs)
         -- OFFSET 0, ANY and || '': by their keys, as in `write_answers`.
         CROSS JOIN LATERAL (
             SELECT v.embedding, v.token_signs FROM memory_embeddings v
             WHERE v.user_id = $1 AND v.source_id = t.from_source AND v.passage = t.from_passage
               AND v.space_id = t.from_space AND v.state || '' = 'ready' OFFSET 0
         ) k
         WHERE e.user_id = $1 AND e.space_id = $2 AND e.source_id = ANY ($3) AND e.source_id = t.source_id
           AND e.passage = t.passage AND e.state || '' = 'pending'
           AND (SELECT p.content_hash FROM memory_passages p
                WHERE p.user_id = $1 AND p.source_id = t.source_id AND p.n = t.passage) = t.content_hash
           AND EXISTS (SELECT FROM embedding_spaces s
                       WHERE s.user_id = $1 AND s.id = $2 AND s.state <> 'retired')
         RETURNING e.source_id, e.passage",
        user.0,
        space.0,
        &sources,
        &passages,
        &from_sources,
        &from_passages,
        &from_spaces,
        now,
        &hashes,
        &get_signs,
    )
    .fetch_all(conn)
    .await?;
    Ok(copied.into_iter().map(|row| (row.source_id, row.passage)).collect())
}

pub async fn has_pending(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM memory_embeddings
                          WHERE user_id = $1 AND space_id = $2 AND state = 'pending') AS "has!""#,
        user.0,
        space.0
    )
    .fetch_one(conn)
    .await
}

/// Text lengths in bytes of the first 1,000 passages that are pending, or that lack the token signs that they get.
pub async fn list_lengths_to_send(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    signs: bool,
) -> Result<Vec<usize>, sqlx::Error> {
    let lengths = sqlx::query_scalar!(
        r#"SELECT t.bytes AS "bytes!"
           FROM ((SELECT source_id, passage FROM memory_embeddings
                  WHERE NOT $3 AND user_id = $1 AND space_id = $2 AND state = 'pending'
                  ORDER BY is_turn, source_id, passage LIMIT 1000)
                 UNION ALL
                 (SELECT source_id, passage FROM memory_embeddings m
                  WHERE $3 AND user_id = $1 AND passage = 0 AND space_id = $2 AND state || '' = 'ready' AND token_signs IS NULL
                    AND NOT EXISTS (SELECT FROM memory_passages o
                                    WHERE o.user_id = $1 AND o.source_id = m.source_id AND o.n = 1 OFFSET 0)
                  LIMIT 1000)) e
           -- OFFSET 0: each by its key, as in `list_pending`.
           CROSS JOIN LATERAL (
               SELECT least(octet_length(i.content), 4 * p.length) AS bytes
               FROM memory_items i LEFT JOIN memory_passages p ON p.user_id = $1 AND p.source_id = i.id AND p.n = e.passage
               WHERE i.user_id = $1 AND i.id = e.source_id OFFSET 0
           ) t"#,
        user.0,
        space.0,
        signs,
    );
    let lengths = lengths.fetch_all(conn).await?;
    let as_usize = |bytes| usize::try_from(bytes).unwrap_or_default();
    Ok(lengths.into_iter().map(as_usize).collect())
}

/// Delays all calls for this space until then.
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

/// Stores the dimensions of the first answer. Returns false if they differ from the stored ones.
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
    // `None`: the space was deleted, and nothing will be written to it.
    Ok(kept.is_none_or(|kept| kept == dimensions))
}

/// Writes results for passages that are still pending with the same text, in a space that is not retired: a late answer of an
/// old model is ignored. Returns the sources that changed.
pub async fn write_answers(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    answers: &[EmbeddedPassage],
    now: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    let each_source: Vec<i64> = answers.iter().map(|a| a.source_id).collect();
    let passages: Vec<i16> = answers.iter().map(|a| a.passage).collect();
    let hashes: Vec<Option<Vec<u8>>> = answers.iter().map(|a| a.content_hash.clone()).collect();
    let vectors = answers.iter().map(|a| a.outcome.as_ref().ok());
    let halves: Vec<Option<HalfVector>> = vectors.map(|v| v.map(Vector::half)).collect();
    let signs: Vec<Option<&[u8]>> = answers.iter().map(|a| a.token_signs.as_deref()).collect();
    let errors: Vec<Option<String>> =
        answers.iter().map(|a| a.outcome.as_ref().err().cloned()).collect();
    sqlx::query_scalar(
        "UPDATE memory_embeddings e
         SET state = CASE WHEN v.error IS NULL THEN 'ready' ELSE 'error' END, error = v.error,
             embedding = v.embedding, token_signs = v.token_signs, attempts = e.attempts + 1, updated_at = $8
         FROM unnest($3::bigint[], $4::smallint[], $5::bytea[], $6::text[], $7::halfvec[], $9::bytea[])
              AS v (source_id, passage, content_hash, error, embedding, token_signs)
         -- ANY and || '': by their keys; where statistics are old, all that waits would be read for them.
         WHERE e.user_id = $1 AND e.space_id = $2 AND e.source_id = ANY ($3) AND e.source_id = v.source_id
           AND e.passage = v.passage AND e.state || '' = 'pending'
           AND (SELECT p.content_hash FROM memory_passages p
                WHERE p.user_id = $1 AND p.source_id = v.source_id AND p.n = v.passage) IS NOT DISTINCT FROM v.content_hash
           AND EXISTS (SELECT FROM embedding_spaces s
                       WHERE s.user_id = $1 AND s.id = $2 AND s.state <> 'retired')
         RETURNING e.source_id",
    )
    .bind(user.0)
    .bind(space.0)
    .bind(each_source)
    .bind(passages)
    .bind(hashes)
    .bind(errors)
    .bind(halves)
    .bind(now)
    .bind(signs)
    .fetch_all(conn)
    .await
}

/// Updates whether more than `limit` passages of the space are pending.
pub async fn set_full(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    limit: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces s SET is_full = f.is_full
         FROM (SELECT EXISTS (SELECT FROM memory_embeddings
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

/// Stores a problem of the whole space and the time of the next attempt.
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

/// The next passages that have an embedding but not the token signs that they get, like [`list_pending`]; none if the user is
/// disabled.
pub async fn list_without_signs(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    after: i64,
    limit: i64,
) -> Result<Vec<PendingPassage>, sqlx::Error> {
    sqlx::query_as!(
        PendingPassage,
        r#"SELECT e.source_id, e.passage, e.is_turn, p.content_hash AS "content_hash?",
                  concat(left(i.key, p.key_chars) || ': ', substr(i.content, coalesce(p.start, 0) + 1, coalesce(p.length, $5))) AS "content!",
                  true AS "gets_signs!", NULL::bigint AS known_source, NULL::smallint AS known_passage, NULL::bigint AS known_space
           FROM memory_embeddings e
           JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
           LEFT JOIN memory_passages p ON p.user_id = $1 AND p.source_id = e.source_id AND p.n = 0
           WHERE e.user_id = $1 AND e.source_id > $3 AND e.passage = 0 AND e.space_id = $2
             AND e.state || '' = 'ready' AND e.token_signs IS NULL
             AND NOT EXISTS (SELECT FROM memory_passages o
                             WHERE o.user_id = $1 AND o.source_id = e.source_id AND o.n = 1 OFFSET 0)
             AND NOT EXISTS (SELECT FROM users WHERE id = $1 AND disabled_at IS NOT NULL)
           ORDER BY e.source_id LIMIT $4"#,
        user.0,
        space.0,
        after,
        limit,
        UNCUT_CHARS_MAX,
    )
    .fetch_all(conn)
    .await
}

/// Writes token signs, for texts that have not changed meanwhile.
pub async fn write_signs(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    answers: &[EmbeddedPassage],
) -> Result<(), sqlx::Error> {
    let sources: Vec<i64> = answers.iter().map(|a| a.source_id).collect();
    let hashes: Vec<Option<Vec<u8>>> = answers.iter().map(|a| a.content_hash.clone()).collect();
    let signs = answers.iter().map(|a| a.token_signs.as_deref());
    // An empty value marks a text that the model cannot read, so that it is not sent again.
    let signs: Vec<&[u8]> = signs.map(Option::unwrap_or_default).collect();
    sqlx::query(
        "UPDATE memory_embeddings e SET token_signs = v.token_signs
         FROM unnest($3::bigint[], $4::bytea[], $5::bytea[]) AS v (source_id, content_hash, token_signs)
         WHERE e.user_id = $1 AND e.space_id = $2 AND e.source_id = ANY ($3) AND e.source_id = v.source_id
           AND e.passage = 0 AND e.state || '' = 'ready'
           AND (SELECT p.content_hash FROM memory_passages p
                WHERE p.user_id = $1 AND p.source_id = v.source_id AND p.n = 0) IS NOT DISTINCT FROM v.content_hash",
    )
    .bind(user.0)
    .bind(space.0)
    .bind(sources)
    .bind(hashes)
    .bind(signs)
    .execute(conn)
    .await?;
    Ok(())
}

/// Removes the token signs of the next sources, at most `limit`. Returns the last id; `None` at the end.
pub async fn remove_signs(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    after: i64,
    limit: i64,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH batch AS (
               SELECT source_id FROM memory_embeddings
               WHERE user_id = $1 AND source_id > $3 AND passage = 0 AND space_id = $2 AND token_signs IS NOT NULL
               ORDER BY source_id LIMIT $4
           ), removed AS (
               UPDATE memory_embeddings e SET token_signs = NULL FROM batch
               WHERE e.user_id = $1 AND e.source_id = batch.source_id AND e.passage = 0 AND e.space_id = $2
           )
           SELECT max(source_id) FROM batch"#,
        user.0,
        space.0,
        after,
        limit,
    )
    .fetch_one(conn)
    .await
}

pub async fn set_token_signs(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    which: TokenSigns,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET token_signs = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        space.0,
        which.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}
