//! SQL of a user's entity settings.

use sqlx::PgConnection;

use super::EntitySettings;
use crate::db::UserId;
use crate::memories::mentions::ENTITIES_MAX;

pub async fn find(conn: &mut PgConnection, user: UserId) -> Result<EntitySettings, sqlx::Error> {
    let row = sqlx::query_as!(
        EntitySettings,
        "SELECT by_rules, by_model, in_search, is_full FROM entity_settings WHERE user_id = $1",
        user.0
    );
    Ok(row.fetch_optional(conn).await?.unwrap_or_default())
}

pub async fn save(
    conn: &mut PgConnection,
    user: UserId,
    wanted: EntitySettings,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO entity_settings (user_id, by_rules, by_model, in_search) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id) DO UPDATE SET by_rules = $2, by_model = $3, in_search = $4",
        user.0,
        wanted.by_rules,
        wanted.by_model,
        wanted.in_search,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Updates whether the limit on entities is reached.
pub async fn note_full(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO entity_settings (user_id, is_full)
         SELECT $1, count(*) >= $2 FROM entities WHERE user_id = $1 HAVING count(*) >= $2
             OR EXISTS (SELECT 1 FROM entity_settings WHERE user_id = $1 AND is_full)
         ON CONFLICT (user_id) DO UPDATE SET is_full = EXCLUDED.is_full",
        user.0,
        ENTITIES_MAX,
    )
    .execute(conn)
    .await?;
    Ok(())
}
