//! SQL of what was learned of endpoints. Runs as the system role: it belongs to no user.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

/// Limit on the endpoints of which something is known: what was learned last stays.
const ENDPOINTS_MAX: i64 = 10_000;

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

/// With all that was learned before `outdated`, or of too many.
pub async fn delete(
    conn: &mut PgConnection,
    key: &[u8],
    outdated: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM endpoint_dialects WHERE endpoint_hash = $1 OR learned_at <= $2
         OR learned_at < (SELECT learned_at FROM endpoint_dialects ORDER BY learned_at DESC OFFSET $3 LIMIT 1)",
        key,
        outdated,
        ENDPOINTS_MAX - 1,
    )
    .execute(conn)
    .await?;
    Ok(())
}
