//! SQL for the embedding pages of one user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::embedding::SpaceId;
use crate::embedding::model::{FailedEmbedding, PendingMemories, StateCounts, Texts};

/// Number of sources by state; one with several passages is pending while any passage is. `recent_since` is for the rate.
pub async fn count_states(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    recent_since: OffsetDateTime,
) -> Result<StateCounts, sqlx::Error> {
    sqlx::query_as!(
        StateCounts,
        r#"SELECT f.sources - o.sources AS "ready!", o.pending AS "pending!", o.sources - o.pending AS "failed!", f.recent AS "recent!"
           FROM (SELECT count(*) AS sources, count(*) FILTER (WHERE state <> 'pending' AND updated_at >= $3) AS recent
                 FROM memory_embeddings WHERE user_id = $1 AND space_id = $2 AND passage = 0) f
           CROSS JOIN (
               SELECT count(DISTINCT source_id) AS sources, count(DISTINCT source_id) FILTER (WHERE state = 'pending') AS pending
               FROM memory_embeddings WHERE user_id = $1 AND space_id = $2 AND state <> 'ready') o"#,
        user.0,
        space.0,
        recent_since,
    )
    .fetch_one(conn)
    .await
}

/// Number of sources with embeddings of their present text in this space or, if requested, with the token signs that they get.
pub async fn count_ready(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    with_signs: bool,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "ready!" FROM memory_embeddings e
           WHERE user_id = $1 AND space_id = $2 AND passage = 0 AND state = 'ready' AND NOT without_key
             AND (NOT $3 OR token_signs IS NOT NULL
                  OR EXISTS (SELECT FROM memory_passages o
                             WHERE o.user_id = $1 AND o.source_id = e.source_id AND o.n = 1 OFFSET 0))"#,
        user.0,
        space.0,
        with_signs,
    )
    .fetch_one(conn)
    .await
}

/// Number of memories in this space whose embeddings were made without their key.
pub async fn count_without_key(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(DISTINCT source_id) AS "n!" FROM memory_embeddings
           WHERE user_id = $1 AND space_id = $2 AND without_key"#,
        user.0,
        space.0,
    )
    .fetch_one(conn)
    .await
}

pub async fn list_failures(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    limit: i64,
) -> Result<Vec<FailedEmbedding>, sqlx::Error> {
    sqlx::query_as!(
        FailedEmbedding,
        r#"SELECT DISTINCT ON (e.source_id) e.source_id AS item_id, left(concat_ws(': ', i.key, i.content), 120) AS "snippet!", coalesce(e.error, '') AS "error!"
           FROM memory_embeddings e
           JOIN memory_items i ON i.user_id = e.user_id AND i.id = e.source_id
           WHERE e.user_id = $1 AND e.space_id = $2 AND e.state = 'error'
           ORDER BY e.source_id, e.passage LIMIT $3"#,
        user.0,
        space.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// All items, active and archived, and turns: what a rebuild embeds.
pub async fn count_texts(conn: &mut PgConnection, user: UserId) -> Result<Texts, sqlx::Error> {
    sqlx::query_as!(
        Texts,
        r#"SELECT count(*) FILTER (WHERE theme_id IS NOT NULL) AS "memories!",
                  count(*) FILTER (WHERE theme_id IS NULL) AS "from_messages!"
           FROM whole_memory WHERE user_id = $1"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// Uses the index of open rows, which is small. `None` without a serving space.
pub async fn count_waiting(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<PendingMemories>, sqlx::Error> {
    sqlx::query_as!(
        PendingMemories,
        r#"SELECT e.pending AS "pending!", e.failed AS "failed!", s.problem
           FROM (SELECT id, problem FROM embedding_spaces
                 WHERE user_id = $1 AND state <> 'retired' ORDER BY state LIMIT 1) s
           CROSS JOIN LATERAL (
               SELECT count(DISTINCT source_id) FILTER (WHERE state = 'pending') AS pending,
                      count(DISTINCT source_id) FILTER (WHERE state = 'error') AS failed
               FROM memory_embeddings
               WHERE user_id = $1 AND space_id = s.id AND state <> 'ready' AND NOT is_turn) e"#,
        user.0
    )
    .fetch_optional(conn)
    .await
}
