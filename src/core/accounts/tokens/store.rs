//! SQL of agents' tokens (`agent_tokens`) and of operators' (`service_tokens`). Look-ups by hash and everything of operators
//! run as the *system* role; agents' tokens are managed on a connection bound to their user.

use std::collections::HashMap;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{
    ActingFor, AgentAccess, FoundToken, MemoryOff, NewUser, TokenHolder, TokenOwner, TokenState,
};
use super::secret::Token;
use crate::accounts::agent_settings::AgentSettings;
use crate::accounts::model::{
    AgentId, ConnectedClient, ExternalId, LISTED_TOKENS_MAX, LentMemory, OperatorId, Scopes,
    TOKENS_PER_HOLDER_MAX, TokenId, TokenRecord, ToolProfile, UserId, Viewer,
};
use crate::db::actor::Actor;
use crate::db::draw_id;

/// The scope of service tokens only.
const ACT_AS: &str = "act_as";

/// From a column; a scope unknown to this version grants nothing.
fn parse_scopes(column: &[String]) -> Scopes {
    column.iter().filter_map(|s| s.parse().ok()).collect()
}

pub async fn find_agent_token(
    conn: &mut PgConnection,
    token: &Token,
) -> Result<Option<FoundToken>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT t.user_id, t.agent_id, t.id, t.scopes, t.expires_at, t.last_used_at,
                  t.revoked_at IS NOT NULL AS "revoked!", u.disabled_at IS NOT NULL AS "disabled!",
                  u.memory_enabled AS user_memory_enabled, a.memory_enabled AS agent_memory_enabled,
                  u.activity_queries, a.tool_profile AS "tool_profile: ToolProfile", a.settings, g.resource AS "resource?",
                  l.user_id AS "lender?", l.id AS "leader?", l.name AS "leader_name?"
           FROM agent_tokens t
           JOIN users u ON u.id = t.user_id
           JOIN agents a ON a.user_id = t.user_id AND a.id = t.agent_id
           LEFT JOIN oauth_grants g ON g.user_id = t.user_id AND g.token_id = t.id
           LEFT JOIN LATERAL leader_of(t.user_id, t.agent_id) l ON true
           WHERE t.token_hash = $1 AND ($2::bigint IS NULL OR t.user_id = $2)"#,
        &token.hash(),
        token.user().map(|user| user.0),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| FoundToken {
        id: TokenId(row.id),
        state: TokenState {
            revoked: row.revoked,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
        },
        user_disabled: row.disabled,
        access: AgentAccess {
            actor: Actor::Agent { user: UserId(row.user_id), token_id: row.id, writes: false },
            token_owner: TokenOwner::User(UserId(row.user_id)),
            acting_for: ActingFor::User(Viewer {
                lent: row.lender.zip(row.leader_name).map(|(user, name)| LentMemory {
                    user_id: UserId(user),
                    leader: row.leader.map(AgentId),
                    name: name.into(),
                }),
                ..Viewer::agent(UserId(row.user_id), AgentId(row.agent_id))
            }),
            scopes: parse_scopes(&row.scopes),
            is_for_pool: false,
            memory_off: MemoryOff::of(row.user_memory_enabled, row.agent_memory_enabled),
            keeps_queries: row.activity_queries,
            memory_scope: AgentSettings::from_column(&row.settings).scope(),
            profile: row.tool_profile,
            resource: row.resource,
        },
    }))
}

/// With the user that the call names. Searches only the operator's own users, so that its token can never reach an account
/// that signs in or another operator's user.
pub async fn find_service_token(
    conn: &mut PgConnection,
    token: &Token,
    external: &ExternalId,
) -> Result<Option<FoundToken>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT t.id, t.operator_id, o.users_count, o.users_max,
                  t.scopes, t.expires_at, t.last_used_at,
                  t.revoked_at IS NOT NULL AS "revoked!", o.tool_profile AS "tool_profile: ToolProfile",
                  o.name, u.id AS "user_id?", u.disabled_at IS NOT NULL AS "disabled!",
                  coalesce(u.memory_enabled, true) AS "user_memory_enabled!", p.id AS "pool?",
                  coalesce(o.pool = $2, false) AS "is_for_pool!"
           FROM service_tokens t
           JOIN operators o ON o.id = t.operator_id
           LEFT JOIN users u ON u.operator_id = t.operator_id AND u.external_id = $2
           LEFT JOIN users p ON p.operator_id = o.id AND p.external_id = o.pool AND p.id <> u.id
           WHERE t.token_hash = $1"#,
        &token.hash(),
        external.as_str(),
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    // By itself, since a distributed database has it on the user's server.
    let agent = sqlx::query!(
        "SELECT id, memory_enabled, settings FROM agents WHERE user_id = $1 AND name = $2",
        row.user_id,
        row.name,
    )
    .fetch_optional(conn)
    .await?;
    Ok(Some({
        let agent_memory = agent.as_ref().is_none_or(|agent| agent.memory_enabled);
        let settings = agent.as_ref().map(|agent| AgentSettings::from_column(&agent.settings));
        let user = row.user_id.zip(agent.map(|agent| agent.id));
        FoundToken {
            id: TokenId(row.id),
            state: TokenState {
                revoked: row.revoked,
                expires_at: row.expires_at,
                last_used_at: row.last_used_at,
            },
            user_disabled: user.is_some() && row.disabled,
            access: AgentAccess {
                actor: Actor::Operator { token_id: row.id },
                token_owner: TokenOwner::Operator(OperatorId(row.operator_id)),
                acting_for: match user {
                    Some((user, agent)) => ActingFor::User(Viewer {
                        lent: row.pool.map(|pool| LentMemory::of_pool(UserId(pool))),
                        ..Viewer::agent(UserId(user), AgentId(agent))
                    }),
                    None => ActingFor::NewUser(NewUser {
                        operator_id: OperatorId(row.operator_id),
                        external_id: external.clone(),
                        users_count: row.users_count,
                        users_max: row.users_max,
                    }),
                },
                scopes: parse_scopes(&row.scopes),
                is_for_pool: row.is_for_pool,
                memory_off: user.and_then(|_| MemoryOff::of(row.user_memory_enabled, agent_memory)),
                // Only a page can enable it, and such a user has no access to pages.
                keeps_queries: false,
                memory_scope: settings.unwrap_or_default().scope(),
                profile: row.tool_profile,
                resource: None,
            },
        }
    }))
}

/// Of a token of either kind.
pub async fn find_state(
    conn: &mut PgConnection,
    token: &Token,
) -> Result<Option<TokenState>, sqlx::Error> {
    sqlx::query_as!(
        TokenState,
        r#"SELECT revoked_at IS NOT NULL AS "revoked!", expires_at, last_used_at
           FROM agent_tokens WHERE token_hash = $1 AND ($2::bigint IS NULL OR user_id = $2)
           UNION ALL
           SELECT revoked_at IS NOT NULL, expires_at, last_used_at
           FROM service_tokens WHERE token_hash = $1"#,
        &token.hash(),
        token.user().map(|user| user.0),
    )
    .fetch_optional(conn)
    .await
}

pub async fn touch(
    conn: &mut PgConnection,
    owner: TokenOwner,
    token: TokenId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let update = match owner {
        TokenOwner::User(user) => sqlx::query!(
            "UPDATE agent_tokens SET last_used_at = $3 WHERE user_id = $1 AND id = $2",
            user.0,
            token.0,
            now,
        ),
        TokenOwner::Operator(_) => {
            sqlx::query!("UPDATE service_tokens SET last_used_at = $2 WHERE id = $1", token.0, now,)
        }
    };
    update.execute(conn).await?;
    Ok(())
}

pub async fn find_holder_name(
    conn: &mut PgConnection,
    holder: TokenHolder,
) -> Result<Option<String>, sqlx::Error> {
    match holder {
        TokenHolder::Agent(user, agent) => {
            sqlx::query_scalar!(
                "SELECT name FROM agents WHERE user_id = $1 AND id = $2",
                user.0,
                agent.0
            )
            .fetch_optional(conn)
            .await
        }
        TokenHolder::Operator(operator) => {
            sqlx::query_scalar!("SELECT name FROM operators WHERE id = $1", operator.0)
                .fetch_optional(conn)
                .await
        }
    }
}

/// Which tools the holder's calls list. Returns false if there is no such holder.
pub async fn set_profile(
    conn: &mut PgConnection,
    holder: TokenHolder,
    profile: ToolProfile,
) -> Result<bool, sqlx::Error> {
    let update = match holder {
        TokenHolder::Agent(user, agent) => sqlx::query!(
            "UPDATE agents SET tool_profile = $3 WHERE user_id = $1 AND id = $2",
            user.0,
            agent.0,
            profile.as_str(),
        ),
        TokenHolder::Operator(operator) => sqlx::query!(
            "UPDATE operators SET tool_profile = $2 WHERE id = $1",
            operator.0,
            profile.as_str(),
        ),
    };
    Ok(update.execute(conn).await?.rows_affected() == 1)
}

/// Returns false if the holder has as many tokens as it may, or an agent as many as are listed with the revoked ones.
pub async fn insert(
    conn: &mut PgConnection,
    holder: TokenHolder,
    token: &Token,
    scopes: &Scopes,
    expires_at: Option<OffsetDateTime>,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let act_as = matches!(holder, TokenHolder::Operator(_)).then_some(ACT_AS);
    let scopes: Vec<String> = act_as
        .into_iter()
        .chain(scopes.iter().map(|scope| scope.as_str()))
        .map(str::to_owned)
        .collect();
    let hash = token.hash();
    let drawn = match holder {
        TokenHolder::Agent(..) => draw_id(&mut *conn, "agent_tokens_id_seq").await?,
        TokenHolder::Operator(_) => 0, // its own table draws it
    };
    let inserted = match holder {
        TokenHolder::Agent(user, agent) => sqlx::query_scalar!(
            "INSERT INTO agent_tokens (user_id, id, agent_id, token_hash, hint, scopes, created_at, expires_at) OVERRIDING SYSTEM VALUE
             SELECT $1, $9, $2, $3, $4, $5, $6, $7
             WHERE (SELECT count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $6)) < $8 AND count(*) < $10
                    FROM agent_tokens WHERE user_id = $1 AND agent_id = $2)
         RETURNING user_id",
            user.0,
            agent.0,
            &hash,
            token.hint(),
            &scopes,
            now,
            expires_at,
            TOKENS_PER_HOLDER_MAX,
            drawn,
            LISTED_TOKENS_MAX,
        )
        .fetch_optional(conn)
        .await?,
        TokenHolder::Operator(operator) => sqlx::query_scalar!(
            "INSERT INTO service_tokens (operator_id, token_hash, hint, scopes, created_at, expires_at)
             SELECT $1, $2, $3, $4, $5, $6
             WHERE (SELECT count(*) FROM service_tokens
                    WHERE operator_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $5)) < $7
             RETURNING operator_id",
            operator.0,
            &hash,
            token.hint(),
            &scopes,
            now,
            expires_at,
            TOKENS_PER_HOLDER_MAX,
        )
        .fetch_optional(conn)
        .await?,
    };
    Ok(inserted.is_some())
}

struct ListedToken {
    holder: i64,
    id: i64,
    hint: String,
    scopes: Vec<String>,
    created_at: OffsetDateTime,
    expires_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    revoked_at: Option<OffsetDateTime>,
    client_name: Option<String>,
    redirect_uri: Option<String>,
    redeemed_at: Option<OffsetDateTime>,
    refresh_expires_at: Option<OffsetDateTime>,
}

/// The tokens of all agents of the user, or, without one, of all operators; newest first. Not those whose code no client has
/// redeemed.
pub async fn list(
    conn: &mut PgConnection,
    user: Option<UserId>,
) -> Result<HashMap<TokenHolder, Vec<TokenRecord>>, sqlx::Error> {
    let rows = match user {
        Some(user) => {
            sqlx::query_as!(
                ListedToken,
                r#"SELECT t.agent_id AS holder, t.id, t.hint, t.scopes, t.created_at, t.expires_at, t.last_used_at,
                          t.revoked_at, g.client_name AS "client_name?", g.redirect_uri AS "redirect_uri?",
                          g.redeemed_at, g.refresh_expires_at
                   FROM agent_tokens t LEFT JOIN oauth_grants g ON g.user_id = t.user_id AND g.token_id = t.id
                   WHERE t.user_id = $1 AND (g.token_id IS NULL OR g.redeemed_at IS NOT NULL)
                   ORDER BY t.id DESC"#,
                user.0,
            )
            .fetch_all(conn)
            .await?
        }
        None => {
            sqlx::query_as!(
                ListedToken,
                r#"SELECT operator_id AS holder, id, hint, scopes, created_at, expires_at, last_used_at, revoked_at,
                          NULL AS client_name, NULL AS redirect_uri, NULL::timestamptz AS redeemed_at,
                          NULL::timestamptz AS refresh_expires_at
                   FROM service_tokens ORDER BY id DESC"#,
            )
            .fetch_all(conn)
            .await?
        }
    };
    let mut tokens: HashMap<TokenHolder, Vec<TokenRecord>> = HashMap::new();
    for row in rows {
        let holder = match user {
            Some(user) => TokenHolder::Agent(user, AgentId(row.holder)),
            None => TokenHolder::Operator(OperatorId(row.holder)),
        };
        tokens.entry(holder).or_default().push(TokenRecord {
            id: TokenId(row.id),
            hint: row.hint,
            scopes: row.scopes,
            created_at: row.created_at,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            revoked_at: row.revoked_at,
            client: connected_client(
                row.client_name,
                row.redirect_uri,
                row.redeemed_at,
                row.refresh_expires_at,
            ),
        });
    }
    Ok(tokens)
}

fn connected_client(
    name: Option<String>,
    redirect_uri: Option<String>,
    since: Option<OffsetDateTime>,
    refresh_expires_at: Option<OffsetDateTime>,
) -> Option<ConnectedClient> {
    Some(ConnectedClient {
        name: name?,
        redirect_uri: redirect_uri?,
        since: since?,
        refresh_expires_at,
    })
}

/// Gives a token another secret and expiry; the one before is void.
pub async fn replace(
    conn: &mut PgConnection,
    user: UserId,
    id: TokenId,
    token: &Token,
    expires_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE agent_tokens SET token_hash = $3, hint = $4, expires_at = $5 WHERE user_id = $1 AND id = $2",
        user.0,
        id.0,
        &token.hash(),
        token.hint(),
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Revokes all tokens of a user's agents, those of OAuth too. Returns those that were not revoked yet.
pub async fn revoke_all(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Vec<TokenId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"UPDATE agent_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING id AS "id: TokenId""#,
        user.0,
        now,
    )
    .fetch_all(conn)
    .await
}

/// Whose token it is: of an agent of the user or, without one, of an operator.
pub async fn find_holder(
    conn: &mut PgConnection,
    user: Option<UserId>,
    token: TokenId,
) -> Result<Option<TokenHolder>, sqlx::Error> {
    let holder = match user {
        Some(user) => {
            sqlx::query_scalar!(
                "SELECT agent_id FROM agent_tokens WHERE user_id = $1 AND id = $2",
                user.0,
                token.0
            )
            .fetch_optional(conn)
            .await?
        }
        None => {
            sqlx::query_scalar!("SELECT operator_id FROM service_tokens WHERE id = $1", token.0)
                .fetch_optional(conn)
                .await?
        }
    };
    Ok(holder.map(|id| match user {
        Some(user) => TokenHolder::Agent(user, AgentId(id)),
        None => TokenHolder::Operator(OperatorId(id)),
    }))
}

/// Returns false if the holder has no such token. Revoking again keeps the first time.
pub async fn revoke(
    conn: &mut PgConnection,
    holder: TokenHolder,
    token: TokenId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let update = match holder {
        TokenHolder::Agent(user, agent) => sqlx::query!(
            "UPDATE agent_tokens SET revoked_at = coalesce(revoked_at, $4)
             WHERE user_id = $1 AND agent_id = $2 AND id = $3",
            user.0,
            agent.0,
            token.0,
            now,
        ),
        TokenHolder::Operator(operator) => sqlx::query!(
            "UPDATE service_tokens SET revoked_at = coalesce(revoked_at, $3)
             WHERE operator_id = $1 AND id = $2",
            operator.0,
            token.0,
            now,
        ),
    };
    Ok(update.execute(conn).await?.rows_affected() == 1)
}

/// Deletes operators' tokens that were revoked or expired before that.
pub async fn delete_ended_service_tokens(
    conn: &mut PgConnection,
    ended_before: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        "DELETE FROM service_tokens WHERE revoked_at < $1 OR expires_at < $1",
        ended_before
    );
    Ok(deleted.execute(conn).await?.rows_affected())
}
