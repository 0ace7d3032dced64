//! SQL of embedding spaces and of embedding rows. Runs as the app role in a transaction bound to its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{EmbeddingState, ItemEmbedding, Space, SpaceId, SpaceState, TokenSigns};
use crate::db::UserId;
use crate::providers::ProviderType;
use crate::providers::settings::{EndpointSettings, SpaceSettings};

/// Embedding states of the sources in the serving space; a source is ready when all its passages are. Sources without a row
/// are omitted.
pub async fn list_item_embeddings(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
) -> Result<Vec<(i64, ItemEmbedding)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT DISTINCT ON (e.source_id) e.source_id, e.state AS "state: EmbeddingState", e.error, e.updated_at,
                  count(*) OVER of_source AS "passages!", count(*) FILTER (WHERE e.state = 'ready') OVER of_source AS "passages_ready!",
                  s.provider_type AS "provider_type: ProviderType", s.model, s.dimensions
           FROM memory_embeddings e
           JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id
           WHERE e.user_id = $1 AND e.source_id = ANY ($2) AND s.state IN ('active', 'building')
           WINDOW of_source AS (PARTITION BY e.source_id, s.id)
           -- 'active' comes before 'building'; of a source's passages the one that keeps it from being ready.
           ORDER BY e.source_id, s.state, e.state = 'ready', e.state = 'error', e.passage"#,
        user.0,
        items,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let embedding = ItemEmbedding {
                state: row.state,
                error: row.error,
                passages: row.passages,
                passages_ready: row.passages_ready,
                provider_type: Some(row.provider_type),
                model: Some(row.model),
                dimensions: row.dimensions,
                updated_at: Some(row.updated_at),
            };
            (row.source_id, embedding)
        })
        .collect())
}

/// Active first, then building, then retired, most recently retired first.
pub async fn list_spaces(conn: &mut PgConnection, user: UserId) -> Result<Vec<Space>, sqlx::Error> {
    let rows = sqlx::query_as!(
        SpaceLookup,
        r#"SELECT id, provider_type AS "provider_type: ProviderType", endpoint, model, requested_dimensions, dimensions, query_prefix,
                document_prefix, sealed_key, key_header, system_provider_id, state AS "state: SpaceState", problem, failures, retry_at,
                wait_until, created_at, activated_at, retired_at, token_signs AS "token_signs: TokenSigns"
         FROM embedding_spaces WHERE user_id = $1 ORDER BY state, retired_at DESC, id DESC"#,
        user.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Space::from).collect())
}

/// A row of `embedding_spaces`.
pub struct SpaceLookup {
    pub id: i64,
    pub provider_type: ProviderType,
    pub endpoint: String,
    pub model: String,
    pub requested_dimensions: Option<i32>,
    pub dimensions: Option<i32>,
    pub query_prefix: String,
    pub document_prefix: String,
    pub sealed_key: Option<Vec<u8>>,
    pub key_header: String,
    pub system_provider_id: Option<i64>,
    pub state: SpaceState,
    pub problem: Option<String>,
    pub failures: i32,
    pub retry_at: Option<OffsetDateTime>,
    pub wait_until: Option<OffsetDateTime>,
    pub created_at: OffsetDateTime,
    pub activated_at: Option<OffsetDateTime>,
    pub retired_at: Option<OffsetDateTime>,
    pub token_signs: TokenSigns,
}

impl From<SpaceLookup> for Space {
    fn from(row: SpaceLookup) -> Self {
        Self {
            id: SpaceId(row.id),
            settings: SpaceSettings {
                endpoint: EndpointSettings {
                    provider_type: row.provider_type,
                    url: row.endpoint,
                    model: row.model,
                    sealed_key: row.sealed_key,
                    key_header: row.key_header,
                    is_thinking_off: false,
                },
                dimensions: row.requested_dimensions,
                query_prefix: row.query_prefix,
                document_prefix: row.document_prefix,
                system_provider_id: row.system_provider_id,
            },
            dimensions: row.dimensions,
            state: row.state,
            problem: row.problem,
            failures: row.failures,
            retry_at: row.retry_at,
            wait_until: row.wait_until,
            created_at: row.created_at,
            activated_at: row.activated_at,
            retired_at: row.retired_at,
            token_signs: row.token_signs,
        }
    }
}

/// `None` if the user already has a space in this state.
pub async fn insert_space(
    conn: &mut PgConnection,
    user: UserId,
    settings: &SpaceSettings,
    state: SpaceState,
    now: OffsetDateTime,
) -> Result<Option<SpaceId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"INSERT INTO embedding_spaces (user_id, provider_type, endpoint, model, requested_dimensions,
             query_prefix, document_prefix, sealed_key, system_provider_id, state, created_at, key_header, activated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                 CASE WHEN $10 = 'active' THEN $11::timestamptz END)
         ON CONFLICT DO NOTHING RETURNING id AS "id: SpaceId""#,
        user.0,
        settings.endpoint.provider_type.as_str(),
        settings.endpoint.url,
        settings.endpoint.model,
        settings.dimensions,
        settings.query_prefix,
        settings.document_prefix,
        settings.endpoint.sealed_key,
        settings.system_provider_id,
        state.as_str(),
        now,
        settings.endpoint.key_header,
    )
    .fetch_optional(conn)
    .await
}

pub async fn has_more_items_than(
    conn: &mut PgConnection,
    user: UserId,
    items_max: i64,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM whole_memory WHERE user_id = $1 OFFSET $2 LIMIT 1) AS "has!""#,
        user.0,
        items_max,
    )
    .fetch_one(conn)
    .await
}

/// Updates key, query prefix and provider of a space. If they changed, its problem and backoff are reset.
pub async fn refresh_space(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    settings: &SpaceSettings,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces
         SET sealed_key = $3, query_prefix = $4, system_provider_id = $5, key_header = $6, problem = NULL, failures = 0,
             retry_at = NULL, wait_until = NULL
         WHERE user_id = $1 AND id = $2
           AND (sealed_key IS DISTINCT FROM $3 OR query_prefix <> $4 OR system_provider_id IS DISTINCT FROM $5
                OR key_header <> $6)",
        user.0,
        space.0,
        settings.endpoint.sealed_key,
        settings.query_prefix,
        settings.system_provider_id,
        settings.endpoint.key_header,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// If the user has removed their key, removes it from retired spaces too.
pub async fn forget_removed_key(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET sealed_key = NULL
         WHERE user_id = $1 AND state = 'retired' AND sealed_key IS NOT NULL
           AND NOT EXISTS (SELECT FROM embedding_settings WHERE user_id = $1 AND sealed_key IS NOT NULL)",
        user.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds missing pending rows for all passages of active and archived sources; for a source without passages, one for the
/// first. Returns how many.
pub async fn insert_missing(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "INSERT INTO memory_embeddings (user_id, space_id, source_id, passage, state, is_turn, updated_at)
         SELECT $1, $2, i.id, coalesce(p.n, 0), 'pending', i.type = 'turn', $3
         FROM whole_memory i LEFT JOIN memory_passages p ON p.user_id = $1 AND p.source_id = i.id
         WHERE i.user_id = $1
           AND NOT EXISTS (SELECT 1 FROM memory_embeddings e
                           WHERE e.user_id = $1 AND e.space_id = $2 AND e.source_id = i.id AND e.passage = coalesce(p.n, 0))
         ON CONFLICT DO NOTHING",
        user.0,
        space.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Its embedding rows are deleted with it.
pub async fn delete_building(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "DELETE FROM embedding_spaces WHERE user_id = $1 AND state = 'building'",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub async fn retire_active(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET state = 'retired', retired_at = $2
         WHERE user_id = $1 AND state = 'active'",
        user.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn activate(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET state = 'active', activated_at = $3
         WHERE user_id = $1 AND id = $2 AND state = 'building'",
        user.0,
        space.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Backdates the retirement of matching spaces to `before`, so that the next job deletes them.
pub async fn let_go(
    conn: &mut PgConnection,
    user: UserId,
    settings: &SpaceSettings,
    before: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET retired_at = $2
         WHERE user_id = $1 AND state = 'retired' AND retired_at > $2
           AND (provider_type, endpoint, model, coalesce(requested_dimensions, 0), document_prefix)
             = ($3, $4, $5, coalesce($6, 0), $7)",
        user.0,
        before,
        settings.endpoint.provider_type.as_str(),
        settings.endpoint.url,
        settings.endpoint.model,
        settings.dimensions,
        settings.document_prefix,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Removes the keys of spaces retired before `before`, because their model is not called any more.
pub async fn forget_old_keys(
    conn: &mut PgConnection,
    user: UserId,
    before: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET sealed_key = NULL
         WHERE user_id = $1 AND state = 'retired' AND has_key AND retired_at < $2",
        user.0,
        before,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes them with their embedding rows.
pub async fn delete_retired(
    conn: &mut PgConnection,
    user: UserId,
    spaces: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM embedding_spaces WHERE user_id = $1 AND state = 'retired' AND id = ANY ($2)",
        user.0,
        spaces,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The endpoint asked not to be called before this time.
pub async fn set_wait(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    until: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET wait_until = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        space.0,
        until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn clear_problem(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_spaces SET problem = NULL, failures = 0, retry_at = NULL, wait_until = NULL
         WHERE user_id = $1 AND id = $2
           AND (problem IS NOT NULL OR failures > 0 OR retry_at IS NOT NULL OR wait_until IS NOT NULL)",
        user.0,
        space.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Sets failed items back to pending, in every space in use. Returns how many.
pub async fn retry_failed(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE memory_embeddings e SET state = 'pending', error = NULL, updated_at = $2
         FROM embedding_spaces s
         WHERE e.user_id = $1 AND e.state = 'error'
           AND s.user_id = $1 AND s.id = e.space_id AND s.state <> 'retired'",
        user.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Sets embeddings of this space that were made without their key back to pending. Returns their sources, ascending.
pub async fn ask_for_keys(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    now: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    let mut sources = sqlx::query_scalar!(
        "UPDATE memory_embeddings SET state = 'pending', without_key = false, updated_at = $3
         WHERE user_id = $1 AND space_id = $2 AND without_key RETURNING source_id",
        user.0,
        space.0,
        now,
    )
    .fetch_all(conn)
    .await?;
    sources.sort_unstable();
    sources.dedup();
    Ok(sources)
}
