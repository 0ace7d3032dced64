//! The statements of chat settings. A user's settings run as the app role, the system's as the system role.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{ChatProvider, ChatSettings, SystemChat};
use crate::db::UserId;
use crate::providers::ProviderType;
use crate::providers::chat::Allowances;

pub async fn find_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<ChatSettings>, sqlx::Error> {
    let row = sqlx::query!(
        "SELECT enabled, own_enabled, provider_type, endpoint, model, sealed_key, daily_token_cap,
                purposes
         FROM chat_settings WHERE user_id = $1",
        user.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| ChatSettings {
        enabled: row.enabled,
        own_enabled: row.own_enabled,
        own: ChatProvider {
            provider_type: ProviderType::from_column(&row.provider_type),
            endpoint: row.endpoint,
            model: row.model,
            sealed_key: row.sealed_key,
        },
        daily_token_cap: row.daily_token_cap,
        purposes: Allowances::from_column(&row.purposes),
    }))
}

pub async fn save_settings(
    conn: &mut PgConnection,
    user: UserId,
    settings: &ChatSettings,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let own = &settings.own;
    sqlx::query!(
        "INSERT INTO chat_settings (user_id, enabled, own_enabled, provider_type, endpoint, model,
             sealed_key, daily_token_cap, purposes, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (user_id) DO UPDATE
         SET enabled = $2, own_enabled = $3, provider_type = $4, endpoint = $5, model = $6,
             sealed_key = $7, daily_token_cap = $8, purposes = $9, updated_at = $10",
        user.0,
        settings.enabled,
        settings.own_enabled,
        own.provider_type.as_str(),
        own.endpoint,
        own.model,
        own.sealed_key,
        settings.daily_token_cap,
        settings.purposes.as_column(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_system(conn: &mut PgConnection) -> Result<SystemChat, sqlx::Error> {
    let row = sqlx::query!(
        "SELECT provider_type, endpoint, model, sealed_key, daily_token_cap FROM system_chat_provider"
    )
    .fetch_one(conn)
    .await?;
    Ok(SystemChat {
        provider: ChatProvider {
            provider_type: ProviderType::from_column(&row.provider_type),
            endpoint: row.endpoint,
            model: row.model,
            sealed_key: row.sealed_key,
        },
        daily_token_cap: row.daily_token_cap,
    })
}

pub async fn save_system(
    conn: &mut PgConnection,
    system: &SystemChat,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let provider = &system.provider;
    sqlx::query!(
        "UPDATE system_chat_provider
         SET provider_type = $1, endpoint = $2, model = $3, sealed_key = $4, daily_token_cap = $5,
             updated_at = $6",
        provider.provider_type.as_str(),
        provider.endpoint,
        provider.model,
        provider.sealed_key,
        system.daily_token_cap,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
