//! SQL of user administration. Runs as the *system* role, which sees no memory.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{ManagedAccount, Person};
use crate::accounts::model::{Role, UserId};

/// Newest first.
pub async fn list(
    conn: &mut PgConnection,
    pattern: &str,
    before: Option<UserId>,
    limit: i64,
) -> Result<Vec<Person>, sqlx::Error> {
    sqlx::query_as!(
        Person,
        r#"SELECT id, email AS "email!", role AS "role: Role", disabled_at IS NOT NULL AS "disabled!",
                  created_at, last_sign_in_at
           FROM users
           WHERE operator_id IS NULL AND erasing_at IS NULL AND email LIKE $1 AND ($2::bigint IS NULL OR id < $2)
           ORDER BY id DESC LIMIT $3"#,
        pattern,
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(conn)
    .await
}

pub async fn count(conn: &mut PgConnection, pattern: &str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM users WHERE operator_id IS NULL AND erasing_at IS NULL AND email LIKE $1"#,
        pattern,
    )
    .fetch_one(conn)
    .await
}

/// A user who signs in, or an operator's user; `None` for one whose erasure has begun.
pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<ManagedAccount>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT coalesce(u.email, o.name || ': ' || u.external_id) AS "name!", u.role AS "role: Role",
                  u.disabled_at IS NOT NULL AS "disabled!", u.operator_id IS NULL AS "signs_in!"
           FROM users u LEFT JOIN operators o ON o.id = u.operator_id WHERE u.id = $1 AND u.erasing_at IS NULL"#,
        user.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| ManagedAccount {
        id: user,
        name: row.name,
        role: row.role,
        disabled: row.disabled,
        signs_in: row.signs_in,
    }))
}

/// By id: the address, or `operator: id`.
pub async fn list_names(
    conn: &mut PgConnection,
    users: &[i64],
) -> Result<Vec<(i64, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT u.id, coalesce(u.email, o.name || ': ' || u.external_id) AS "name!"
           FROM users u LEFT JOIN operators o ON o.id = u.operator_id WHERE u.id = ANY ($1) AND u.erasing_at IS NULL"#,
        users,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.id, row.name)).collect())
}

/// Number of other admins who can sign in.
pub async fn count_other_admins(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM users
           WHERE role = 'admin' AND disabled_at IS NULL AND erasing_at IS NULL AND id <> $1"#,
        user.0,
    )
    .fetch_one(conn)
    .await
}

pub async fn update(
    conn: &mut PgConnection,
    user: UserId,
    role: Role,
    disabled: bool,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET role = $2, disabled_at = CASE WHEN $3 THEN coalesce(disabled_at, $4) END, updated_at = $4
         WHERE id = $1",
        user.0,
        role.as_str(),
        disabled,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
