//! SQL about all users' embeddings as the system role: who has work, and how many a change affects. Reads ids and states,
//! never a text.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::embedding::model::Texts;
use crate::providers::settings::SpaceSettings;

/// Runs as the system role. Users with a retired space to delete; and, if a provider is configured for them, users with
/// pending rows, a missed swap, no space, or a space that differs from an admin's current settings or from the builtin model
/// (`builtin`: whether it is on, and its name if its files exist). The job itself checks whether the user cancelled that
/// rebuild.
pub async fn list_users_with_work(
    conn: &mut PgConnection,
    builtin: (bool, Option<&str>),
    now: OffsetDateTime,
    (retired_before, replaced_before): (OffsetDateTime, OffsetDateTime),
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH system AS (
               SELECT (SELECT id FROM system_providers WHERE in_force) AS provider_id,
                      $1::bool AS has_builtin,
                      (SELECT CASE WHEN late_interaction THEN 'all' ELSE 'none' END FROM system_settings) AS token_signs
           )
           SELECT u.id AS "id: UserId"
           FROM memory_revisions m
           JOIN users u ON u.id = m.user_id
           CROSS JOIN system
           LEFT JOIN embedding_settings s ON s.user_id = m.user_id
           LEFT JOIN embedding_spaces a ON a.user_id = m.user_id AND a.state = 'active'
           LEFT JOIN embedding_spaces b ON b.user_id = m.user_id AND b.state = 'building'
           WHERE u.disabled_at IS NULL
             AND (EXISTS (SELECT 1 FROM embedding_spaces r WHERE r.user_id = m.user_id AND r.state = 'retired'
                          AND (r.retired_at < $3
                               -- Its key is there, or what made the same vectors serves, or has served since.
                               OR r.retired_at < $4 AND (r.has_key OR EXISTS (
                                   SELECT 1 FROM embedding_spaces n
                                   WHERE n.user_id = m.user_id AND n.activated_at > r.activated_at
                                     AND (n.provider_type, n.endpoint, n.model, coalesce(n.requested_dimensions, 0), n.document_prefix)
                                       = (r.provider_type, r.endpoint, r.model, coalesce(r.requested_dimensions, 0), r.document_prefix)))))
                  OR coalesce(s.enabled, true)
                     AND (system.provider_id IS NOT NULL OR coalesce(s.own_enabled, false) OR system.has_builtin)
                     AND (coalesce(a.retry_at, $2) <= $2
                              AND EXISTS (SELECT 1 FROM memory_embeddings e
                                          WHERE e.user_id = m.user_id AND e.space_id = a.id AND e.state = 'pending')
                          OR system.has_builtin AND a.provider_type = 'builtin' AND a.token_signs <> system.token_signs
                              AND coalesce(a.retry_at, $2) <= $2
                          OR system.has_builtin AND system.provider_id IS NULL AND NOT coalesce(s.own_enabled, false)
                              AND coalesce(b.provider_type, a.provider_type) = 'builtin' AND coalesce(b.model, a.model) <> $5
                          OR b.id IS NOT NULL AND coalesce(b.retry_at, $2) <= $2
                          OR a.id IS NULL AND b.id IS NULL
                              AND EXISTS (SELECT 1 FROM memory_items i WHERE i.user_id = m.user_id)
                          OR system.provider_id IS NOT NULL
                              AND coalesce(b.system_provider_id, a.system_provider_id) IS DISTINCT FROM system.provider_id
                              AND EXISTS (SELECT 1 FROM memory_items i WHERE i.user_id = m.user_id)
                          OR system.provider_id IS NULL AND coalesce(b.provider_type, a.provider_type) = 'llamacpp'))
           ORDER BY u.id"#,
        builtin.0,
        now,
        retired_before,
        replaced_before,
        builtin.1,
    )
    .fetch_all(conn)
    .await
}

/// Runs as the system role. Number of users and texts whose embeddings do not match these settings.
pub async fn count_affected(
    conn: &mut PgConnection,
    wanted: Option<&SpaceSettings>,
) -> Result<(i64, Texts), sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT count(DISTINCT i.user_id) AS "users!", count(*) FILTER (WHERE i.theme_id IS NOT NULL) AS "memories!",
                  count(*) FILTER (WHERE i.theme_id IS NULL) AS "from_messages!"
           FROM memory_items i
           LEFT JOIN embedding_settings s ON s.user_id = i.user_id
           LEFT JOIN embedding_spaces a ON a.user_id = i.user_id AND a.state = 'active'
           WHERE coalesce(s.enabled, true)
             AND CASE WHEN $1::text IS NULL THEN a.provider_type = 'llamacpp'
                      ELSE a.id IS NULL OR (a.provider_type, a.endpoint, a.model, coalesce(a.requested_dimensions, 0),
                                            a.document_prefix)
                           IS DISTINCT FROM ($1, $2, $3, coalesce($4, 0), $5) END"#,
        wanted.map(|w| w.endpoint.provider_type.as_str()),
        wanted.map(|w| w.endpoint.url.as_str()),
        wanted.map(|w| w.endpoint.model.as_str()),
        wanted.and_then(|w| w.dimensions),
        wanted.map(|w| w.document_prefix.as_str()),
    )
    .fetch_one(conn)
    .await?;
    let texts = Texts { memories: row.memories, from_messages: row.from_messages };
    Ok((row.users, texts))
}

/// Users whose embeddings a builtin model makes (as in [`list_users_with_work`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinUsers {
    pub all: i64,
    /// Their token signs match the switch.
    pub late: i64,
    /// This model serves them.
    pub of_model: i64,
}

/// Runs as the system role.
pub async fn count_builtin_users(
    conn: &mut PgConnection,
    model: &str,
) -> Result<BuiltinUsers, sqlx::Error> {
    sqlx::query_as!(
        BuiltinUsers,
        r#"SELECT count(*) AS "all!", count(*) FILTER (WHERE s.model = $1) AS "of_model!",
                  count(*) FILTER (WHERE s.token_signs = CASE WHEN late_interaction THEN 'all' ELSE 'none' END) AS "late!"
           FROM embedding_spaces s CROSS JOIN system_settings
           JOIN users u ON u.id = s.user_id LEFT JOIN embedding_settings e ON e.user_id = s.user_id
           WHERE s.state = 'active' AND s.provider_type = 'builtin' AND u.disabled_at IS NULL AND coalesce(e.enabled, true)"#,
        model,
    )
    .fetch_one(conn)
    .await
}

/// Pending and failed embeddings of all users, and since when the oldest is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenEmbeddings {
    pub pending: i64,
    pub pending_users: i64,
    pub pending_since: Option<OffsetDateTime>,
    pub failed: i64,
    pub failed_users: i64,
}

/// Runs as the system role. Only users with a configured provider.
pub async fn count_open(
    conn: &mut PgConnection,
    has_builtin: bool,
) -> Result<OpenEmbeddings, sqlx::Error> {
    sqlx::query_as!(
        OpenEmbeddings,
        r#"SELECT count(*) FILTER (WHERE e.state = 'pending') AS "pending!",
                  count(DISTINCT e.user_id) FILTER (WHERE e.state = 'pending') AS "pending_users!",
                  min(e.updated_at) FILTER (WHERE e.state = 'pending') AS pending_since,
                  count(*) FILTER (WHERE e.state = 'error') AS "failed!",
                  count(DISTINCT e.user_id) FILTER (WHERE e.state = 'error') AS "failed_users!"
           FROM memory_embeddings e
           JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id
           LEFT JOIN embedding_settings u ON u.user_id = e.user_id
           WHERE e.state <> 'ready' AND s.state <> 'retired' AND coalesce(u.enabled, true)
             AND (EXISTS (SELECT 1 FROM system_providers WHERE in_force) OR coalesce(u.own_enabled, false)
                  OR $1)"#,
        has_builtin,
    )
    .fetch_one(conn)
    .await
}

/// Runs as the system role. Number of spaces of the current system provider with a problem; `None` without such a provider.
pub async fn count_system_trouble(conn: &mut PgConnection) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT count(s.problem)
         FROM system_providers p
         LEFT JOIN embedding_spaces s ON s.system_provider_id = p.id AND s.state <> 'retired'
         WHERE p.in_force
         GROUP BY p.id",
    )
    .fetch_optional(conn)
    .await
}

/// Runs as the system role. Problems of providers with the number of users and the next attempt, most users first.
pub async fn list_troubles(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<(String, String, i64, Option<OffsetDateTime>)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT provider_type, problem, count(DISTINCT user_id), min(retry_at)
         FROM embedding_spaces
         WHERE problem IS NOT NULL AND state <> 'retired'
         GROUP BY provider_type, problem ORDER BY 3 DESC, 1, 2 LIMIT $1",
    )
    .bind(limit)
    .fetch_all(conn)
    .await
}

/// Runs as the system role. Users with failed embeddings or a space with a problem.
pub async fn list_users_to_retry(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT s.user_id FROM embedding_spaces s
         WHERE s.state <> 'retired' AND (s.problem IS NOT NULL OR s.retry_at IS NOT NULL
             OR EXISTS (SELECT FROM memory_embeddings e
                        WHERE e.user_id = s.user_id AND e.space_id = s.id AND e.state = 'error'))
         GROUP BY s.user_id ORDER BY s.user_id",
    )
    .fetch_all(conn)
    .await
}
