//! SQL of `user_storage` and of the limit. A user's row is written in transactions bound to the user; the system role reads all.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::PgConnection;
use sqlx::types::Json;
use time::OffsetDateTime;

use super::StorageUse;
use crate::db::UserId;

pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<StorageUse>, sqlx::Error> {
    sqlx::query_as!(
        StorageUse,
        r#"SELECT bytes, added, parts AS "parts: Json<BTreeMap<String, i64>>", counted_at, took_ms, recount_at
           FROM user_storage WHERE user_id = $1"#,
        user.0,
    )
    .fetch_optional(conn)
    .await
}

/// The user's row, locked until the transaction ends; made if it is missing.
pub async fn hold(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<StorageUse, sqlx::Error> {
    let lock = sqlx::query!("SELECT FROM user_storage WHERE user_id = $1 FOR UPDATE", user.0);
    if lock.fetch_optional(&mut *conn).await?.is_none() {
        sqlx::query!(
            "INSERT INTO user_storage (user_id, recount_at) VALUES ($1, $2)
             ON CONFLICT (user_id) DO UPDATE SET recount_at = user_storage.recount_at",
            user.0,
            now,
        )
        .execute(&mut *conn)
        .await?;
    }
    find(conn, user).await?.ok_or(sqlx::Error::RowNotFound)
}

/// Adds reserved bytes, and has the user counted by `recount_at`.
pub async fn reserve(
    conn: &mut PgConnection,
    user: UserId,
    bytes: i64,
    recount_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE user_storage SET added = added + $2, recount_at = least(recount_at, $3) WHERE user_id = $1",
        user.0,
        bytes,
        recount_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A table with a user, and the statement that counts the user's bytes in it.
pub struct CountedTable {
    pub name: String,
    statement: String,
}

/// The tables that the app role reads. A row counts 28 bytes for its header and place, 24 for its entry in each index, and its
/// columns as they are stored: what is compressed or out of line is not read.
pub async fn list_tables(conn: &mut PgConnection) -> Result<Vec<CountedTable>, sqlx::Error> {
    sqlx::query_as!(
        CountedTable,
        r#"SELECT c.relname::text AS "name!",
                  format('SELECT (count(*) * %s + coalesce(sum(%s), 0))::bigint FROM %I WHERE user_id = $1',
                         28 + 24 * (SELECT count(*) FROM pg_index i WHERE i.indrelid = c.oid)
                            + coalesce(sum(a.attlen) FILTER (WHERE a.attlen > 0), 0),
                         coalesce(string_agg(format('coalesce(pg_column_size(%I), 0)', a.attname), ' + ')
                                  FILTER (WHERE a.attlen < 0), '0'),
                         c.relname) AS "statement!"
           FROM pg_class c
           JOIN pg_attribute u ON u.attrelid = c.oid AND u.attname = 'user_id' AND NOT u.attisdropped
           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
           WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
             AND has_column_privilege(c.oid, u.attnum, 'SELECT') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
           GROUP BY c.oid, c.relname ORDER BY c.relname"#,
    )
    .fetch_all(conn)
    .await
}

pub async fn count_bytes(
    conn: &mut PgConnection,
    user: UserId,
    table: &CountedTable,
) -> Result<i64, sqlx::Error> {
    let statement = sqlx::AssertSqlSafe(table.statement.clone());
    sqlx::query_scalar(statement).bind(user.0).persistent(false).fetch_one(conn).await
}

/// Records a count. What was reserved before it began (`added_before`) is among what was counted.
pub async fn note_count(
    conn: &mut PgConnection,
    user: UserId,
    parts: &BTreeMap<String, i64>,
    added_before: i64,
    took: Duration,
    (now, recount_at): (OffsetDateTime, OffsetDateTime),
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO user_storage AS s (user_id, bytes, parts, counted_at, took_ms, recount_at, added)
         VALUES ($1, $2, $3, $4, $5, $6, -$7::bigint)
         ON CONFLICT (user_id) DO UPDATE
         SET bytes = excluded.bytes, parts = excluded.parts, counted_at = excluded.counted_at, took_ms = excluded.took_ms,
             recount_at = excluded.recount_at, added = greatest(s.added + excluded.added, 0)",
        user.0,
        parts.values().sum::<i64>(),
        Json(parts) as _,
        now,
        i32::try_from(took.as_millis()).unwrap_or(i32::MAX),
        recount_at,
        added_before,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// As the system role: who is to be counted, the longest due first.
pub async fn list_due(
    conn: &mut PgConnection,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT s.user_id AS "user_id: UserId" FROM user_storage s JOIN users u ON u.id = s.user_id
         WHERE s.recount_at <= $1 AND u.erasing_at IS NULL ORDER BY s.recount_at, s.user_id LIMIT $2"#,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// As the system role: bytes of one user.
pub async fn find_bytes(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    let bytes = sqlx::query_scalar!(
        r#"SELECT bytes + added AS "bytes!" FROM user_storage WHERE user_id = $1"#,
        user.0
    );
    Ok(bytes.fetch_optional(conn).await?.unwrap_or_default())
}

/// As the system role: bytes of these users, of those that were counted.
pub async fn list_bytes(
    conn: &mut PgConnection,
    users: &[i64],
) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT user_id, bytes FROM user_storage WHERE user_id = ANY ($1) AND counted_at IS NOT NULL",
        users
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.user_id, row.bytes)).collect())
}

/// As the system role: who takes most, with their bytes, and the bytes of all.
pub async fn list_largest(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<(Vec<(i64, i64)>, i64), sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT user_id, bytes FROM user_storage WHERE bytes > 0 ORDER BY bytes DESC, user_id LIMIT $1",
        limit
    );
    let rows = rows.fetch_all(&mut *conn).await?;
    let total = sqlx::query_scalar!(
        r#"SELECT coalesce(sum(bytes), 0)::bigint AS "total!" FROM user_storage"#
    );
    let total = total.fetch_one(conn).await?;
    Ok((rows.into_iter().map(|row| (row.user_id, row.bytes)).collect(), total))
}
