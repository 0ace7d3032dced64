//! The statements of settings. A user's settings run as the app role, the system's as the system role.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{
    Allowances, EndpointPurpose, EndpointSettings, Pace, SpaceSettings, SystemChatSettings,
    SystemEmbeddingSettings, UserChatSettings, UserEmbeddingSettings,
};
use crate::db::UserId;
use crate::providers::ProviderType;
use crate::providers::builtin::BuiltinModel;

/// Or the defaults.
pub async fn find_embedding_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<UserEmbeddingSettings, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT enabled, own_enabled, provider_type AS "provider_type: ProviderType", endpoint, model, dimensions, query_prefix,
                  document_prefix, sealed_key, key_header, batch_size, concurrency, pause_ms, declined,
                  paused_at IS NOT NULL AS "is_paused!"
           FROM embedding_settings WHERE user_id = $1"#,
        user.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or_else(UserEmbeddingSettings::default, |row| UserEmbeddingSettings {
        enabled: row.enabled,
        own_enabled: row.own_enabled,
        own: SpaceSettings {
            endpoint: EndpointSettings {
                provider_type: row.provider_type,
                url: row.endpoint,
                model: row.model,
                sealed_key: row.sealed_key,
                key_header: row.key_header,
                is_thinking_off: false,
            },
            dimensions: row.dimensions,
            query_prefix: row.query_prefix,
            document_prefix: row.document_prefix,
            system_provider_id: None,
        },
        pace: Pace {
            batch_size: row.batch_size,
            concurrency: row.concurrency,
            pause_ms: row.pause_ms,
        },
        declined: row.declined,
        is_paused: row.is_paused,
    }))
}

pub async fn save_embedding_settings(
    conn: &mut PgConnection,
    user: UserId,
    settings: &UserEmbeddingSettings,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let UserEmbeddingSettings { own, pace, .. } = settings;
    sqlx::query!(
        "INSERT INTO embedding_settings (user_id, enabled, own_enabled, provider_type, endpoint, model,
             dimensions, query_prefix, document_prefix, sealed_key, batch_size, concurrency, pause_ms,
             declined, updated_at, key_header)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         ON CONFLICT (user_id) DO UPDATE
         SET enabled = $2, own_enabled = $3, provider_type = $4, endpoint = $5, model = $6, dimensions = $7,
             query_prefix = $8, document_prefix = $9, sealed_key = $10, batch_size = $11, concurrency = $12,
             pause_ms = $13, declined = $14, updated_at = $15, key_header = $16,
             paused_at = CASE WHEN NOT $2 THEN embedding_settings.paused_at END",
        user.0,
        settings.enabled,
        settings.own_enabled,
        own.endpoint.provider_type.as_str(),
        own.endpoint.url,
        own.endpoint.model,
        own.dimensions,
        own.query_prefix,
        own.document_prefix,
        own.endpoint.sealed_key,
        pace.batch_size,
        pace.concurrency,
        pace.pause_ms,
        settings.declined,
        now,
        own.endpoint.key_header,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_system_embedding_settings(
    conn: &mut PgConnection,
) -> Result<SystemEmbeddingSettings, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT s.builtin_enabled, s.builtin_model, s.late_interaction, s.batch_size, s.concurrency, s.pause_ms, p.id AS "id?",
                  p.endpoint AS "endpoint?", p.model AS "model?", p.dimensions AS "dimensions?",
                  p.query_prefix AS "query_prefix?", p.document_prefix AS "document_prefix?",
                  p.sealed_key IS NOT NULL AS "has_key!", p.sealed_key AS "sealed_key?",
                  p.key_header AS "key_header?"
           FROM system_settings s LEFT JOIN system_providers p ON p.in_force"#
    )
    .fetch_one(conn)
    .await?;
    Ok(SystemEmbeddingSettings {
        builtin_enabled: row.builtin_enabled,
        builtin_model: BuiltinModel::of_name(&row.builtin_model).unwrap_or_default(),
        late_interaction: row.late_interaction,
        pace: Pace {
            batch_size: row.batch_size,
            concurrency: row.concurrency,
            pause_ms: row.pause_ms,
        },
        provider: row.id.map(|id| SpaceSettings {
            endpoint: EndpointSettings {
                provider_type: ProviderType::Llamacpp,
                url: row.endpoint.unwrap_or_default(),
                model: row.model.unwrap_or_default(),
                sealed_key: row.sealed_key,
                key_header: row.key_header.unwrap_or_default(),
                is_thinking_off: false,
            },
            dimensions: row.dimensions,
            query_prefix: row.query_prefix.unwrap_or_default(),
            document_prefix: row.document_prefix.unwrap_or_default(),
            system_provider_id: Some(id),
        }),
    })
}

/// Makes changes of the system's settings that depend on the stored ones wait for each other.
pub async fn lock_system_settings(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("SELECT FROM system_settings FOR UPDATE").execute(conn).await?;
    Ok(())
}

/// Since when the system's provider has been in force.
pub async fn find_provider_since(
    conn: &mut PgConnection,
) -> Result<Option<OffsetDateTime>, sqlx::Error> {
    sqlx::query_scalar!("SELECT created_at FROM system_providers WHERE in_force")
        .fetch_optional(conn)
        .await
}

/// The sealed key of a system provider, in force or retired.
pub async fn find_system_key(
    conn: &mut PgConnection,
    id: i64,
) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let row = sqlx::query_scalar!("SELECT sealed_key FROM system_providers WHERE id = $1", id)
        .fetch_optional(conn)
        .await?;
    Ok(row.flatten())
}

/// All but the provider. What depends on the stored ones holds their lock.
pub async fn save_system_embedding_settings(
    conn: &mut PgConnection,
    system: &SystemEmbeddingSettings,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE system_settings SET builtin_enabled = $1, builtin_model = $2, late_interaction = $3, batch_size = $4, concurrency = $5,
                pause_ms = $6, updated_at = $7",
        system.builtin_enabled,
        system.builtin_model.name(),
        system.late_interaction,
        system.pace.batch_size,
        system.pace.concurrency,
        system.pace.pause_ms,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether the browser's pages are read-only for all users.
pub async fn is_browser_read_only(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!("SELECT read_only_browser FROM system_settings").fetch_one(conn).await
}

/// False if nothing changed.
pub async fn set_browser_read_only(
    conn: &mut PgConnection,
    read_only: bool,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE system_settings SET read_only_browser = $1, updated_at = $2 WHERE read_only_browser <> $1",
        read_only,
        now
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// What a user may store, in bytes (src/core/quota).
pub async fn find_bytes_per_user(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!("SELECT bytes_per_user FROM system_settings").fetch_one(conn).await
}

/// False if nothing changed.
pub async fn set_bytes_per_user(
    conn: &mut PgConnection,
    bytes: i64,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE system_settings SET bytes_per_user = $1, updated_at = $2 WHERE bytes_per_user <> $1",
        bytes,
        now
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Retires the system's provider.
pub async fn retire_system_provider(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE system_providers SET in_force = false WHERE in_force")
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn insert_system_provider(
    conn: &mut PgConnection,
    settings: &SpaceSettings,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO system_providers (endpoint, model, dimensions, query_prefix, document_prefix,
                                       sealed_key, in_force, created_at, key_header)
         VALUES ($1, $2, $3, $4, $5, $6, true, $7, $8)",
        settings.endpoint.url,
        settings.endpoint.model,
        settings.dimensions,
        settings.query_prefix,
        settings.document_prefix,
        settings.endpoint.sealed_key,
        now,
        settings.endpoint.key_header,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Updates what does not change the space: the key and the query prefix.
pub async fn update_system_provider(
    conn: &mut PgConnection,
    id: i64,
    settings: &SpaceSettings,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE system_providers SET sealed_key = $2, query_prefix = $3, key_header = $4 WHERE id = $1",
        id,
        settings.endpoint.sealed_key,
        settings.query_prefix,
        settings.endpoint.key_header,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Or the defaults.
pub async fn find_chat_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<UserChatSettings, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT enabled, own_enabled, provider_type AS "provider_type: ProviderType", endpoint, model, sealed_key, key_header, thinking_off, daily_token_cap,
                  purposes, paused_at IS NOT NULL AS "is_paused!"
           FROM chat_settings WHERE user_id = $1"#,
        user.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or_else(UserChatSettings::default, |row| UserChatSettings {
        enabled: row.enabled,
        own_enabled: row.own_enabled,
        own: EndpointSettings {
            provider_type: row.provider_type,
            url: row.endpoint,
            model: row.model,
            sealed_key: row.sealed_key,
            key_header: row.key_header,
            is_thinking_off: row.thinking_off,
        },
        daily_token_cap: row.daily_token_cap,
        purposes: Allowances::from_column(&row.purposes),
        is_paused: row.is_paused,
    }))
}

pub async fn save_chat_settings(
    conn: &mut PgConnection,
    user: UserId,
    settings: &UserChatSettings,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let own = &settings.own;
    sqlx::query!(
        "INSERT INTO chat_settings (user_id, enabled, own_enabled, provider_type, endpoint, model,
             sealed_key, daily_token_cap, purposes, updated_at, key_header, thinking_off)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (user_id) DO UPDATE
         SET enabled = $2, own_enabled = $3, provider_type = $4, endpoint = $5, model = $6,
             sealed_key = $7, daily_token_cap = $8, purposes = $9, updated_at = $10, key_header = $11, thinking_off = $12,
             paused_at = CASE WHEN NOT $2 THEN chat_settings.paused_at END",
        user.0,
        settings.enabled,
        settings.own_enabled,
        own.provider_type.as_str(),
        own.url,
        own.model,
        own.sealed_key,
        settings.daily_token_cap,
        settings.purposes.as_column(),
        now,
        own.key_header,
        own.is_thinking_off,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// After a restore, of every user, as the owner role: an own endpoint may have been removed since the backup. Where the system's
/// provider serves instead, it is only no longer used.
pub async fn pause_own_endpoints(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE chat_settings SET enabled = false, paused_at = $1 WHERE enabled AND own_enabled",
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "UPDATE embedding_settings s
         SET enabled = p.is_there, own_enabled = NOT p.is_there, paused_at = CASE WHEN NOT p.is_there THEN $1::timestamptz END
         FROM (SELECT EXISTS (SELECT FROM system_providers WHERE in_force) AS is_there) p WHERE s.enabled AND s.own_enabled",
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The user's own endpoint is not used any more. If it was paused, what serves others serves the user.
pub async fn end_own_chat(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE chat_settings SET own_enabled = false, enabled = enabled OR paused_at IS NOT NULL, paused_at = NULL
         WHERE user_id = $1",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// As [`end_own_chat`].
pub async fn end_own_embeddings(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE embedding_settings SET own_enabled = false, enabled = enabled OR paused_at IS NOT NULL, paused_at = NULL
         WHERE user_id = $1",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_system_chat(conn: &mut PgConnection) -> Result<SystemChatSettings, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT provider_type AS "provider_type: ProviderType", endpoint, model, sealed_key, key_header, thinking_off, daily_token_cap FROM system_chat_provider"#
    )
    .fetch_one(conn)
    .await?;
    Ok(SystemChatSettings {
        endpoint: EndpointSettings {
            provider_type: row.provider_type,
            url: row.endpoint,
            model: row.model,
            sealed_key: row.sealed_key,
            key_header: row.key_header,
            is_thinking_off: row.thinking_off,
        },
        daily_token_cap: row.daily_token_cap,
    })
}

pub async fn save_system_chat(
    conn: &mut PgConnection,
    system: &SystemChatSettings,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let endpoint = &system.endpoint;
    sqlx::query!(
        "UPDATE system_chat_provider
         SET provider_type = $1, endpoint = $2, model = $3, sealed_key = $4, daily_token_cap = $5,
             updated_at = $6, key_header = $7, thinking_off = $8",
        endpoint.provider_type.as_str(),
        endpoint.url,
        endpoint.model,
        endpoint.sealed_key,
        system.daily_token_cap,
        now,
        endpoint.key_header,
        endpoint.is_thinking_off,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Hosts, ports and the names of their purposes.
pub async fn list_allowed_endpoints(
    conn: &mut PgConnection,
) -> Result<Vec<(String, i32, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT host, port, purpose FROM allowed_endpoints ORDER BY host, port, purpose"
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.host, row.port, row.purpose)).collect())
}

pub async fn allow_endpoint(
    conn: &mut PgConnection,
    host: &str,
    port: u16,
    purpose: EndpointPurpose,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO allowed_endpoints (host, port, purpose, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
        host,
        i32::from(port),
        purpose.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn disallow_endpoint(
    conn: &mut PgConnection,
    host: &str,
    port: u16,
    purpose: EndpointPurpose,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM allowed_endpoints WHERE host = $1 AND port = $2 AND purpose = $3",
        host,
        i32::from(port),
        purpose.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether loopback and private addresses may be used: by an admin, and by everybody if an admin allowed this host and port for
/// this purpose.
/// Without a user, for an address that none of them chose.
pub async fn may_reach_private(
    conn: &mut PgConnection,
    user: Option<UserId>,
    host: &str,
    port: u16,
    purpose: EndpointPurpose,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM users WHERE id = $1 AND role = 'admin' AND disabled_at IS NULL)
               OR EXISTS (SELECT 1 FROM allowed_endpoints WHERE host = $2 AND port = $3 AND purpose = $4) AS "may!""#,
        user.map(|user| user.0),
        host,
        i32::from(port),
        purpose.as_str(),
    )
    .fetch_one(conn)
    .await
}
