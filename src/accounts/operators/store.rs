//! SQL of operators, their tokens and their users. Only the *system* role can access these tables: no user is known yet.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{OperatedUser, Operator};
use crate::accounts::access::{NewUser, TokenState};
use crate::accounts::model::{
    ACT_AS, AgentId, AgentName, ExternalId, OperatorId, Scopes, TokenId, TokenRecord, ToolProfile,
    UserId, UsersMax, Viewer, parse_scopes,
};
use crate::accounts::token::Token;

/// The data of a service token's hash, whatever its state.
pub struct ServiceTokenLookup {
    pub token_id: TokenId,
    pub operator_id: OperatorId,
    pub users_count: i32,
    pub users_max: i32,
    pub profile: ToolProfile,
    pub scopes: Scopes,
    pub(in crate::accounts) state: TokenState,
    /// The user that the call names; `None` if it names none or the user does not exist yet.
    pub user: Option<NamedUser>,
    /// The pool of that user's operator.
    pub pool: Option<UserId>,
}

pub struct NamedUser {
    pub user_id: UserId,
    pub agent_id: AgentId,
    pub disabled: bool,
    pub user_memory_enabled: bool,
    pub agent_memory_enabled: bool,
}

/// The token, its operator, and the operator's user with this id, in one statement.
pub async fn find_token(
    conn: &mut PgConnection,
    token_hash: &[u8],
    external: Option<&ExternalId>,
) -> Result<Option<ServiceTokenLookup>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT t.id, t.operator_id, o.users_count, o.users_max,
                  t.scopes, t.expires_at, t.last_used_at,
                  t.revoked_at IS NOT NULL AS "revoked!", o.tool_profile,
                  u.id AS "user_id?", a.id AS "agent_id?", u.disabled_at IS NOT NULL AS "disabled!",
                  coalesce(u.memory_enabled, true) AS "user_memory_enabled!",
                  coalesce(a.memory_enabled, true) AS "agent_memory_enabled!",
                  p.id AS "pool?"
           FROM service_tokens t
           JOIN operators o ON o.id = t.operator_id
           LEFT JOIN users u ON u.operator_id = t.operator_id AND u.external_id = $2
           LEFT JOIN agents a ON a.user_id = u.id AND a.name = o.name
           LEFT JOIN users p ON p.operator_id = o.id AND p.external_id = o.pool AND p.id <> u.id
           WHERE t.token_hash = $1"#,
        token_hash,
        external.map(ExternalId::as_str),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| ServiceTokenLookup {
        token_id: TokenId(row.id),
        operator_id: OperatorId(row.operator_id),
        users_count: row.users_count,
        users_max: row.users_max,
        profile: ToolProfile::from_column(&row.tool_profile),
        scopes: parse_scopes(&row.scopes),
        state: TokenState {
            revoked: row.revoked,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
        },
        pool: row.pool.map(UserId),
        user: row
            .user_id
            .zip(row.agent_id)
            .map(|(user, agent)| NamedUser {
                user_id: UserId(user),
                agent_id: AgentId(agent),
                disabled: row.disabled,
                user_memory_enabled: row.user_memory_enabled,
                agent_memory_enabled: row.agent_memory_enabled,
            }),
    }))
}

pub async fn touch_token(
    conn: &mut PgConnection,
    token: TokenId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE service_tokens SET last_used_at = $2 WHERE id = $1",
        token.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// For all calls of its users.
pub async fn set_profile(
    conn: &mut PgConnection,
    operator: OperatorId,
    profile: ToolProfile,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE operators SET tool_profile = $2 WHERE id = $1",
        operator.0,
        profile.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

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
        "SELECT u.id, a.id AS agent_id
         FROM users u
         JOIN operators o ON o.id = u.operator_id
         JOIN agents a ON a.user_id = u.id AND a.name = o.name
         WHERE u.operator_id = $1 AND u.external_id = $2",
        user.operator_id.0,
        user.external_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Viewer::agent(UserId(row.id), AgentId(row.agent_id))))
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
    let rows = sqlx::query!(
        r#"SELECT u.id, o.name AS operator, u.external_id AS "external_id!",
                  u.disabled_at IS NOT NULL AS "disabled!"
           FROM users u JOIN operators o ON o.id = u.operator_id ORDER BY u.id"#,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| OperatedUser {
            id: UserId(row.id),
            operator: row.operator,
            external_id: row.external_id,
            disabled: row.disabled,
        })
        .collect())
}

pub async fn count_operators(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT count(*) AS "n!" FROM operators"#)
        .fetch_one(conn)
        .await
}

/// `None` if an operator with this name exists.
pub async fn insert_operator(
    conn: &mut PgConnection,
    name: &AgentName,
    users_max: UsersMax,
    now: OffsetDateTime,
) -> Result<Option<OperatorId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "INSERT INTO operators (name, users_max, created_at) VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT operators_name_key DO NOTHING
         RETURNING id",
        name.as_str(),
        users_max.get(),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(OperatorId))
}

pub async fn find_operator_by_name(
    conn: &mut PgConnection,
    name: &AgentName,
) -> Result<Option<OperatorId>, sqlx::Error> {
    let id = sqlx::query_scalar!("SELECT id FROM operators WHERE name = $1", name.as_str())
        .fetch_optional(conn)
        .await?;
    Ok(id.map(OperatorId))
}

pub async fn find_operator_name(
    conn: &mut PgConnection,
    operator: OperatorId,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!("SELECT name FROM operators WHERE id = $1", operator.0)
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

pub async fn count_tokens(
    conn: &mut PgConnection,
    operator: OperatorId,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM service_tokens
           WHERE operator_id = $1 AND revoked_at IS NULL"#,
        operator.0,
    )
    .fetch_one(conn)
    .await
}

pub async fn insert_token(
    conn: &mut PgConnection,
    operator: OperatorId,
    token: &Token,
    scopes: &Scopes,
    expires_at: Option<OffsetDateTime>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let scopes: Vec<String> = std::iter::once(ACT_AS)
        .chain(scopes.iter().map(|scope| scope.as_str()))
        .map(str::to_owned)
        .collect();
    sqlx::query!(
        "INSERT INTO service_tokens (operator_id, token_hash, hint, scopes, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        operator.0,
        &token.hash(),
        token.hint(),
        &scopes,
        now,
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Of all operators, newest first.
pub async fn list_tokens(
    conn: &mut PgConnection,
) -> Result<Vec<(OperatorId, TokenRecord)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, operator_id, hint, scopes, created_at, expires_at, last_used_at, revoked_at
         FROM service_tokens ORDER BY id DESC",
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let token = TokenRecord {
                id: TokenId(row.id),
                hint: row.hint,
                scopes: row.scopes,
                created_at: row.created_at,
                expires_at: row.expires_at,
                last_used_at: row.last_used_at,
                revoked_at: row.revoked_at,
            };
            (OperatorId(row.operator_id), token)
        })
        .collect())
}

/// Returns false if the operator has no such token. Revoking again keeps the first time.
pub async fn revoke_token(
    conn: &mut PgConnection,
    operator: OperatorId,
    token: TokenId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE service_tokens SET revoked_at = coalesce(revoked_at, $3)
         WHERE operator_id = $1 AND id = $2",
        operator.0,
        token.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
