//! SQL of operators and their users. Only the *system* role can access these tables: no user is known yet.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{OperatedUser, Operator};
use crate::accounts::model::{
    AgentId, AgentName, ExternalId, LentMemory, OperatorId, UserId, UsersMax, Viewer,
};
use crate::accounts::tokens::NewUser;

/// Counts one more user; returns false if there is no room. Locks the operator's row, so that no other user is created until
/// this transaction ends.
pub async fn count_user(
    conn: &mut PgConnection,
    operator: OperatorId,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE operators SET users_count = users_count + 1
         WHERE id = $1 AND users_count < users_max",
        operator.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn find_user(
    conn: &mut PgConnection,
    user: &NewUser,
) -> Result<Option<Viewer>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT u.id, a.id AS agent_id, p.id AS "pool?"
         FROM users u
         JOIN operators o ON o.id = u.operator_id
         JOIN agents a ON a.user_id = u.id AND a.name = o.name
         LEFT JOIN users p ON p.operator_id = o.id AND p.external_id = o.pool AND p.id <> u.id
         WHERE u.operator_id = $1 AND u.external_id = $2"#,
        user.operator_id.0,
        user.external_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Viewer {
        lent: row.pool.map(|pool| LentMemory::of_pool(UserId(pool))),
        ..Viewer::agent(UserId(row.id), AgentId(row.agent_id))
    }))
}

/// Also creates an agent with the operator's name.
pub async fn insert_user(
    conn: &mut PgConnection,
    user: &NewUser,
    now: OffsetDateTime,
) -> Result<Viewer, sqlx::Error> {
    let row = sqlx::query!(
        "WITH made AS (
             INSERT INTO users (operator_id, external_id, role, created_at, updated_at)
             VALUES ($1, $2, 'member', $3, $3)
             RETURNING id)
         INSERT INTO agents (user_id, name, created_at)
         SELECT made.id, o.name, $3 FROM made, operators o WHERE o.id = $1
         RETURNING user_id, id",
        user.operator_id.0,
        user.external_id.as_str(),
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(Viewer::agent(UserId(row.user_id), AgentId(row.id)))
}

/// Of all operators.
pub async fn list_users(conn: &mut PgConnection) -> Result<Vec<OperatedUser>, sqlx::Error> {
    sqlx::query_as!(
        OperatedUser,
        r#"SELECT u.id, o.name AS operator, u.external_id AS "external_id!",
                  u.disabled_at IS NOT NULL AS "disabled!"
           FROM users u JOIN operators o ON o.id = u.operator_id ORDER BY u.id"#,
    )
    .fetch_all(conn)
    .await
}

pub async fn find_user_by_external_id(
    conn: &mut PgConnection,
    operator: OperatorId,
    external: &ExternalId,
) -> Result<Option<OperatedUser>, sqlx::Error> {
    sqlx::query_as!(
        OperatedUser,
        r#"SELECT u.id, o.name AS operator, u.external_id AS "external_id!",
                  u.disabled_at IS NOT NULL AS "disabled!"
           FROM users u JOIN operators o ON o.id = u.operator_id
           WHERE u.operator_id = $1 AND u.external_id = $2 AND u.erasing_at IS NULL"#,
        operator.0,
        external.as_str(),
    )
    .fetch_optional(conn)
    .await
}

pub async fn count_operators(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT count(*) AS "n!" FROM operators"#).fetch_one(conn).await
}

/// `None` if an operator with this name exists.
pub async fn insert_operator(
    conn: &mut PgConnection,
    name: &AgentName,
    users_max: UsersMax,
    now: OffsetDateTime,
) -> Result<Option<OperatorId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"INSERT INTO operators (name, users_max, created_at) VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT operators_name_key DO NOTHING
         RETURNING id AS "id: OperatorId""#,
        name.as_str(),
        users_max.get(),
        now,
    )
    .fetch_optional(conn)
    .await
}

pub async fn find_operator_by_name(
    conn: &mut PgConnection,
    name: &AgentName,
) -> Result<Option<OperatorId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT id AS "id: OperatorId" FROM operators WHERE name = $1"#,
        name.as_str()
    )
    .fetch_optional(conn)
    .await
}

/// Returns false if there is no such operator.
pub async fn update(
    conn: &mut PgConnection,
    operator: OperatorId,
    users_max: UsersMax,
    pool: Option<&ExternalId>,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE operators SET users_max = $2, pool = $3 WHERE id = $1",
        operator.0,
        users_max.get(),
        pool.map(ExternalId::as_str),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Newest first, without their tokens.
pub async fn list_operators(conn: &mut PgConnection) -> Result<Vec<Operator>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, name, users_count, users_max, pool, created_at FROM operators ORDER BY id DESC",
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Operator {
            id: OperatorId(row.id),
            name: row.name,
            users: row.users_count,
            users_max: row.users_max,
            pool: row.pool,
            created_at: row.created_at,
            tokens: Vec::new(),
        })
        .collect())
}
