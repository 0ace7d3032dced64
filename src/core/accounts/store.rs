//! SQL of accounts. Look-ups before a user is known need a connection of the *system* role, the others one bound to its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Email, Role, User, UserId, VerifiedUser};
use crate::clock::Zone;

// System role: no user is known yet.

/// Serializes changes of who is an admin, so that only one account is the first and one admin always remains. An admin's own
/// action must take it before its own row is locked (`Db::as_system_after`), or two admins who demote each other would
/// deadlock.
pub const LOCK_ADMINS: &str = "SELECT pg_advisory_xact_lock(hashtext('keepsake admins'));";

/// Whether anybody can sign in; operators' users have no password.
pub async fn any_account_exists(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM users WHERE password_hash IS NOT NULL) AS "exists!""#
    )
    .fetch_one(conn)
    .await
}

pub async fn any_admin_exists(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM users WHERE role = 'admin') AS "exists!""#)
        .fetch_one(conn)
        .await
}

/// `None` if the address already has an account.
pub async fn insert_user(
    conn: &mut PgConnection,
    email: &Email,
    password_hash: &str,
    role: Role,
    now: OffsetDateTime,
) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"INSERT INTO users (email, password_hash, role, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $4)
         ON CONFLICT ON CONSTRAINT users_email_key DO NOTHING
         RETURNING id AS "id: UserId""#,
        email.as_str(),
        password_hash,
        role.as_str(),
        now,
    )
    .fetch_optional(conn)
    .await
}

/// All users who sign in, oldest first.
pub async fn list_users(conn: &mut PgConnection) -> Result<Vec<User>, sqlx::Error> {
    sqlx::query_as!(
        User,
        r#"SELECT id, email AS "email!", role AS "role: Role", disabled_at IS NOT NULL AS "disabled!",
                  memory_enabled, time_zone, created_at
           FROM users WHERE operator_id IS NULL ORDER BY id"#,
    )
    .fetch_all(conn)
    .await
}

/// Users who sign in, and operators' users.
pub async fn count_users(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT count(*) AS "n!" FROM users"#).fetch_one(conn).await
}

/// A user who signs in.
pub async fn find_user(conn: &mut PgConnection, id: UserId) -> Result<Option<User>, sqlx::Error> {
    sqlx::query_as!(
        User,
        r#"SELECT id, email AS "email!", role AS "role: Role", disabled_at IS NOT NULL AS "disabled!",
                  memory_enabled, time_zone, created_at
           FROM users WHERE id = $1 AND operator_id IS NULL"#,
        id.0,
    )
    .fetch_optional(conn)
    .await
}

pub struct Credentials {
    pub user_id: UserId,
    pub password_hash: String,
}

/// Of an account that may sign in.
pub async fn find_credentials(
    conn: &mut PgConnection,
    email: &Email,
) -> Result<Option<Credentials>, sqlx::Error> {
    sqlx::query_as!(
        Credentials,
        r#"SELECT id AS user_id, password_hash AS "password_hash!" FROM users
           WHERE email = $1 AND disabled_at IS NULL"#,
        email.as_str(),
    )
    .fetch_optional(conn)
    .await
}

/// Whether or not it may sign in.
pub async fn find_user_by_email(
    conn: &mut PgConnection,
    email: &Email,
) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT id AS "id: UserId" FROM users WHERE email = $1"#, email.as_str())
        .fetch_optional(conn)
        .await
}

pub async fn find_password_hash(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<String>, sqlx::Error> {
    let hash = sqlx::query_scalar!("SELECT password_hash FROM users WHERE id = $1", user.0)
        .fetch_optional(conn)
        .await?;
    Ok(hash.flatten())
}

/// Sets the password and ends all web sessions of the user.
pub async fn update_password(
    conn: &mut PgConnection,
    user: UserId,
    password_hash: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1",
        user.0,
        password_hash,
        now,
    )
    .execute(&mut *conn)
    .await?;
    delete_web_sessions_of(conn, user).await
}

/// [`update_password`], unless the password has changed since it was verified.
pub async fn replace_password(
    conn: &mut PgConnection,
    verified: &VerifiedUser,
    password_hash: &str,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE users SET password_hash = $3, updated_at = $4 WHERE id = $1 AND password_hash = $2",
        verified.user.0,
        verified.password_hash,
        password_hash,
        now,
    )
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    delete_web_sessions_of(conn, verified.user).await?;
    Ok(true)
}

/// After a restore, as the owner role: signs everybody out of all browsers.
pub async fn delete_all_web_sessions(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM web_sessions").execute(conn).await?;
    Ok(())
}

pub async fn delete_web_sessions_of(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM web_sessions WHERE user_id = $1", user.0).execute(conn).await?;
    Ok(())
}

/// For a new account.
pub async fn note_sign_in(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE users SET last_sign_in_at = $2 WHERE id = $1", user.0, now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Waits for concurrent changes of the account. Returns false if it was disabled or its password changed since it was verified.
pub async fn note_verified_sign_in(
    conn: &mut PgConnection,
    verified: &VerifiedUser,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE users SET last_sign_in_at = $3
         WHERE id = $1 AND password_hash = $2 AND disabled_at IS NULL",
        verified.user.0,
        verified.password_hash,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns false if a session with this id exists already.
pub async fn insert_web_session(
    conn: &mut PgConnection,
    id_hash: &[u8],
    user: Option<UserId>,
    data: &serde_json::Value,
    expires_at: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "INSERT INTO web_sessions (id_hash, user_id, data, expires_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id_hash) DO NOTHING",
        id_hash,
        user.map(|u| u.0),
        data,
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Updates an existing session: one that was ended meanwhile is not recreated.
pub async fn update_web_session(
    conn: &mut PgConnection,
    id_hash: &[u8],
    user: Option<UserId>,
    data: &serde_json::Value,
    expires_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE web_sessions SET user_id = $2, data = $3, expires_at = $4 WHERE id_hash = $1",
        id_hash,
        user.map(|u| u.0),
        data,
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_web_session(
    conn: &mut PgConnection,
    id_hash: &[u8],
    now: OffsetDateTime,
) -> Result<Option<(serde_json::Value, OffsetDateTime)>, sqlx::Error> {
    let row = sqlx::query!(
        "SELECT data, expires_at FROM web_sessions WHERE id_hash = $1 AND expires_at > $2",
        id_hash,
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.data, row.expires_at)))
}

pub async fn delete_web_session(
    conn: &mut PgConnection,
    id_hash: &[u8],
) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM web_sessions WHERE id_hash = $1", id_hash).execute(conn).await?;
    Ok(())
}

pub async fn delete_expired_web_sessions(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done =
        sqlx::query!("DELETE FROM web_sessions WHERE expires_at <= $1", now).execute(conn).await?;
    Ok(done.rows_affected())
}

/// The time zones of all users, always including UTC, which comes first.
pub async fn list_time_zones(conn: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    let mut zones = vec![Zone::UTC.to_owned()];
    let others =
        sqlx::query_scalar!("SELECT DISTINCT time_zone FROM users WHERE time_zone <> 'UTC'");
    zones.extend(others.fetch_all(conn).await?);
    Ok(zones)
}

// App role: the transaction is bound to its user.

/// `None` if the account does not exist or is being erased.
pub async fn find_time_zone(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<Zone>, sqlx::Error> {
    let name = sqlx::query_scalar!(
        "SELECT time_zone FROM users WHERE id = $1 AND erasing_at IS NULL",
        user.0
    );
    let name = name.fetch_optional(conn).await?;
    Ok(name.map(|name| Zone::from_column(&name)))
}

pub async fn set_time_zone(
    conn: &mut PgConnection,
    user: UserId,
    zone: &Zone,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET time_zone = $2, updated_at = $3 WHERE id = $1",
        user.0,
        zone.name(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn switch_user_memory(
    conn: &mut PgConnection,
    user: UserId,
    on: bool,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET memory_enabled = $2, updated_at = $3 WHERE id = $1",
        user.0,
        on,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
