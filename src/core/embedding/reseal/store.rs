//! SQL of the key rotation. Users' rows are accessed as the app role, which sees one user's rows only, others as the system
//! role. Table and column names come only from this module's constants.

use sqlx::{AssertSqlSafe, PgConnection};

use super::Sealed;
use crate::db::UserId;

/// Returns false if another transaction holds the lock.
pub async fn try_lock(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT pg_try_advisory_xact_lock(hashtextextended('keepsake secret rotate', 0)) AS "is_ours!""#
    )
    .fetch_one(conn)
    .await
}

/// Number of users who may have a sealed key: those with settings, or with a space of their own endpoint.
pub async fn count_users(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM
             (SELECT user_id FROM embedding_settings
              UNION SELECT user_id FROM chat_settings
              UNION SELECT user_id FROM webhooks
              UNION SELECT user_id FROM secret_settings
              UNION SELECT user_id FROM embedding_spaces WHERE system_provider_id IS NULL) u"#
    )
    .fetch_one(conn)
    .await
}

/// The next of those users, by id.
pub async fn list_users_after(
    conn: &mut PgConnection,
    after: i64,
    limit: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id!" FROM
             (SELECT user_id FROM embedding_settings WHERE user_id > $1
              UNION SELECT user_id FROM chat_settings WHERE user_id > $1
              UNION SELECT user_id FROM webhooks WHERE user_id > $1
              UNION SELECT user_id FROM secret_settings WHERE user_id > $1
              UNION SELECT user_id FROM embedding_spaces WHERE user_id > $1 AND system_provider_id IS NULL) u
           ORDER BY user_id LIMIT $2"#,
        after,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Distinct values, of this user or of a system table.
pub async fn list_sealed(
    conn: &mut PgConnection,
    Sealed { table, column, .. }: Sealed,
    user: Option<UserId>,
) -> Result<Vec<Vec<u8>>, sqlx::Error> {
    let of_user = user.map_or("true", |_| "user_id = $1");
    let list = AssertSqlSafe(format!(
        "SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL AND {of_user}"
    ));
    let list = sqlx::query_scalar(list);
    match user {
        Some(user) => list.bind(user.0).fetch_all(conn).await,
        None => list.fetch_all(conn).await,
    }
}

/// Replaces the old value where it is still stored. Returns the number of rows.
pub async fn replace(
    conn: &mut PgConnection,
    Sealed { table, column, .. }: Sealed,
    user: Option<UserId>,
    old: &[u8],
    new: &[u8],
) -> Result<u64, sqlx::Error> {
    let of_user = user.map_or("true", |_| "user_id = $3");
    let replace = AssertSqlSafe(format!(
        "UPDATE {table} SET {column} = $2 WHERE {column} = $1 AND {of_user}"
    ));
    let replace = sqlx::query(replace).bind(old).bind(new);
    let done = match user {
        Some(user) => replace.bind(user.0).execute(conn).await?,
        None => replace.execute(conn).await?,
    };
    Ok(done.rows_affected())
}
