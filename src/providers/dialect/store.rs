//! SQL of what was learned of endpoints. Runs as the system role: it belongs to no user.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

pub async fn find(
    conn: &mut PgConnection,
    key: &[u8],
    after: OffsetDateTime,
) -> Result<Option<Value>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT dialect FROM endpoint_dialects WHERE endpoint_hash = $1 AND learned_at > $2",
        key,
        after,
    )
    .fetch_optional(conn)
    .await
}

/// Replaces nothing: see [`delete`].
pub async fn insert(
    conn: &mut PgConnection,
    key: &[u8],
    dialect: &Value,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO endpoint_dialects (endpoint_hash, dialect, learned_at) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
        key,
        dialect,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// With all that was learned before `outdated`.
pub async fn delete(
    conn: &mut PgConnection,
    key: &[u8],
    outdated: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM endpoint_dialects WHERE endpoint_hash = $1 OR learned_at <= $2",
        key,
        outdated,
    )
    .execute(conn)
    .await?;
    Ok(())
}
