//! SQL of user administration and `admin_events`. Runs as the *system* role, which sees no memory.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{About, Act, AdminEvent, By, Person, Subject};
use crate::accounts::model::{Email, ExternalId, OperatorId, Role, UserId};
use crate::accounts::operators::OperatedUser;

/// Newest first.
pub async fn list(
    conn: &mut PgConnection,
    pattern: &str,
    before: Option<UserId>,
    limit: i64,
) -> Result<Vec<Person>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, email AS "email!", role, disabled_at IS NOT NULL AS "disabled!",
                  created_at, last_sign_in_at
           FROM users
           WHERE operator_id IS NULL AND email LIKE $1 AND ($2::bigint IS NULL OR id < $2)
           ORDER BY id DESC LIMIT $3"#,
        pattern,
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Person {
            id: UserId(row.id),
            email: row.email,
            role: Role::from_column(&row.role),
            disabled: row.disabled,
            created_at: row.created_at,
            last_sign_in_at: row.last_sign_in_at,
        })
        .collect())
}

pub async fn count(conn: &mut PgConnection, pattern: &str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM users WHERE operator_id IS NULL AND email LIKE $1"#,
        pattern,
    )
    .fetch_one(conn)
    .await
}

pub async fn find_by_email(
    conn: &mut PgConnection,
    email: &Email,
) -> Result<Option<UserId>, sqlx::Error> {
    let id = sqlx::query_scalar!("SELECT id FROM users WHERE email = $1", email.as_str())
        .fetch_optional(conn)
        .await?;
    Ok(id.map(UserId))
}

/// A user who signs in, or an operator's user.
pub async fn find(conn: &mut PgConnection, user: UserId) -> Result<Option<Subject>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT coalesce(u.email, o.name || ': ' || u.external_id) AS "name!", u.role,
                  u.disabled_at IS NOT NULL AS "disabled!", u.operator_id IS NULL AS "signs_in!"
           FROM users u LEFT JOIN operators o ON o.id = u.operator_id WHERE u.id = $1"#,
        user.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Subject {
        id: user,
        name: row.name,
        role: Role::from_column(&row.role),
        disabled: row.disabled,
        signs_in: row.signs_in,
    }))
}

pub async fn find_operated(
    conn: &mut PgConnection,
    operator: OperatorId,
    external: &ExternalId,
) -> Result<Option<OperatedUser>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT u.id, o.name AS operator, u.external_id AS "external_id!",
                  u.disabled_at IS NOT NULL AS "disabled!"
           FROM users u JOIN operators o ON o.id = u.operator_id
           WHERE u.operator_id = $1 AND u.external_id = $2"#,
        operator.0,
        external.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| OperatedUser {
        id: UserId(row.id),
        operator: row.operator,
        external_id: row.external_id,
        disabled: row.disabled,
    }))
}

/// Number of other admins who can sign in.
pub async fn count_other_admins(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM users
           WHERE role = 'admin' AND disabled_at IS NULL AND id <> $1"#,
        user.0,
    )
    .fetch_one(conn)
    .await
}

pub async fn set_disabled(
    conn: &mut PgConnection,
    user: UserId,
    at: Option<OffsetDateTime>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET disabled_at = $2, updated_at = $3 WHERE id = $1",
        user.0,
        at,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn set_role(
    conn: &mut PgConnection,
    user: UserId,
    role: Role,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET role = $2, updated_at = $3 WHERE id = $1",
        user.0,
        role.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn insert_event(
    conn: &mut PgConnection,
    by: By,
    act: Act,
    about: About,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let actor = match by {
        By::Admin(user) => Some(user.0),
        By::Command => None,
    };
    let (user, operator, job) = match about {
        About::Nobody => (None, None, None),
        About::User(user) => (Some(user.0), None, None),
        About::Operator(operator) => (None, Some(operator.0), None),
        About::Job(job) => (None, None, Some(job)),
    };
    sqlx::query!(
        "INSERT INTO admin_events (at, by_command, actor_id, action, subject_id, operator_id, job)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        now,
        by == By::Command,
        actor,
        act.as_str(),
        user,
        operator,
        job,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Newest first.
pub async fn list_events(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<AdminEvent>, sqlx::Error> {
    sqlx::query_as!(
        AdminEvent,
        r#"SELECT e.at, e.by_command, a.email AS actor, e.action,
                  coalesce(u.email, o.name || ': ' || u.external_id, b.name, e.job) AS subject
           FROM admin_events e
           LEFT JOIN users a ON a.id = e.actor_id
           LEFT JOIN users u ON u.id = e.subject_id
           LEFT JOIN operators o ON o.id = u.operator_id
           LEFT JOIN operators b ON b.id = e.operator_id
           ORDER BY e.id DESC LIMIT $1"#,
        limit,
    )
    .fetch_all(conn)
    .await
}
