//! SQL of `admin_events`. Runs as the *system* role.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{AdminAction, AdminActor, AdminEvent, AdminSubject};

/// Records an action in the transaction that performs it.
pub async fn record(
    conn: &mut PgConnection,
    by: AdminActor,
    action: AdminAction,
    subject: AdminSubject,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let actor = match by {
        AdminActor::Admin(user) => Some(user.0),
        AdminActor::Command => None,
    };
    let (user, operator, job) = match subject {
        AdminSubject::Nobody => (None, None, None),
        AdminSubject::User(user) => (Some(user.0), None, None),
        AdminSubject::Operator(operator) => (None, Some(operator.0), None),
        AdminSubject::Job(job) => (None, None, Some(job)),
    };
    sqlx::query!(
        "INSERT INTO admin_events (at, by_command, actor_id, action, subject_id, operator_id, job)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        now,
        by == AdminActor::Command,
        actor,
        action.as_str(),
        user,
        operator,
        job,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Newest first.
pub async fn list(conn: &mut PgConnection, limit: i64) -> Result<Vec<AdminEvent>, sqlx::Error> {
    sqlx::query_as!(
        AdminEvent,
        r#"SELECT e.at, e.by_command, a.email AS actor, e.action AS "action: AdminAction",
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
