//! SQL of grants (`oauth_grants`) and of registered clients (`oauth_clients`). Look-ups by a hash, and everything of clients,
//! run as the *system* role; grants change on a connection bound to their user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::client::{ClientId, OauthClient};
use super::redirect::RedirectUri;
use super::request::AuthorizationRequest;
use crate::accounts::model::{AgentId, Scopes, TokenId, UserId};
use crate::accounts::tokens::{LinkToken, Token};

/// The most rows that one sweep deletes; the next takes the rest.
const SWEPT_MAX: i64 = 10_000;

/// Deletes registrations so that one more has room: the oldest that nobody allowed, then those not used for longest. A client
/// without its registration can renew what it was allowed, but is not found when it asks again.
pub async fn make_room(conn: &mut PgConnection, clients_max: i64) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM oauth_clients WHERE client_id IN (
             SELECT client_id FROM oauth_clients ORDER BY allowed_at NULLS FIRST, created_at
             LIMIT greatest(0, (SELECT count(*) FROM oauth_clients) - $1 + 1))",
        clients_max,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn insert_client(
    conn: &mut PgConnection,
    client: &OauthClient,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let uris = client.redirect_uris.iter();
    let uris: Vec<String> = uris.map(|uri| uri.as_str().to_owned()).collect();
    sqlx::query!(
        "INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at) VALUES ($1, $2, $3, $4)",
        client.id.as_str(),
        client.name,
        &uris,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_client(
    conn: &mut PgConnection,
    id: &ClientId,
) -> Result<Option<OauthClient>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT client_id AS "client_id: ClientId", name, redirect_uris FROM oauth_clients WHERE client_id = $1"#,
        id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| OauthClient {
        id: row.client_id,
        name: row.name,
        redirect_uris: row
            .redirect_uris
            .iter()
            .filter_map(|uri| RedirectUri::parse(uri).ok())
            .collect(),
        document_host: None,
    }))
}

/// Does nothing for a client that is known by its document.
pub async fn note_client_use(
    conn: &mut PgConnection,
    client_id: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE oauth_clients SET allowed_at = $2 WHERE client_id = $1", client_id, now,)
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn delete_unused_clients(
    conn: &mut PgConnection,
    never_allowed_since: OffsetDateTime,
    idle_since: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        "DELETE FROM oauth_clients WHERE client_id IN (
             SELECT client_id FROM oauth_clients
             WHERE (allowed_at IS NULL AND created_at < $1) OR allowed_at < $2 LIMIT $3)",
        never_allowed_since,
        idle_since,
        SWEPT_MAX,
    )
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected())
}

/// The token's row exists; its grant is made with it.
pub async fn insert_grant(
    conn: &mut PgConnection,
    user: UserId,
    token: &Token,
    request: &AuthorizationRequest,
    code: &LinkToken,
    code_expires_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let id = sqlx::query_scalar!(
        "SELECT id FROM agent_tokens WHERE user_id = $1 AND token_hash = $2",
        user.0,
        &token.hash(),
    )
    .fetch_one(&mut *conn)
    .await?;
    sqlx::query!(
        "INSERT INTO oauth_grants (user_id, token_id, client_id, client_name, redirect_uri, resource, code_hash,
                                   code_challenge, code_expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        user.0,
        id,
        request.client.id.as_str(),
        request.client.name,
        request.redirect_uri.as_str(),
        request.resource,
        &code.hash(),
        request.challenge,
        code_expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_user_by_code(
    conn: &mut PgConnection,
    code: &LinkToken,
) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id: UserId" FROM oauth_grants WHERE code_hash = $1"#,
        &code.hash()
    )
    .fetch_optional(conn)
    .await
}

pub async fn find_user_by_family(
    conn: &mut PgConnection,
    family: &LinkToken,
) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id: UserId" FROM oauth_grants WHERE family_hash = $1"#,
        &family.hash()
    )
    .fetch_optional(conn)
    .await
}

/// A grant whose row is locked until the transaction ends.
pub struct LockedGrant {
    pub user: UserId,
    pub token: TokenId,
    pub agent: AgentId,
    pub client_id: String,
    pub redirect_uri: String,
    pub resource: String,
    pub code_challenge: String,
    pub code_expires_at: OffsetDateTime,
    pub is_redeemed: bool,
    /// `None` before the first token, and after a restore.
    pub turn_hash: Option<Vec<u8>>,
    pub refresh_expires_at: Option<OffsetDateTime>,
    pub scopes: Scopes,
    /// Or its user is disabled.
    pub is_revoked: bool,
}

struct GrantRow {
    user_id: i64,
    token_id: i64,
    agent_id: i64,
    client_id: String,
    redirect_uri: String,
    resource: String,
    code_challenge: String,
    code_expires_at: OffsetDateTime,
    is_redeemed: bool,
    turn_hash: Option<Vec<u8>>,
    refresh_expires_at: Option<OffsetDateTime>,
    scopes: Vec<String>,
    is_revoked: bool,
}

impl From<GrantRow> for LockedGrant {
    fn from(row: GrantRow) -> Self {
        Self {
            user: UserId(row.user_id),
            token: TokenId(row.token_id),
            agent: AgentId(row.agent_id),
            client_id: row.client_id,
            redirect_uri: row.redirect_uri,
            resource: row.resource,
            code_challenge: row.code_challenge,
            code_expires_at: row.code_expires_at,
            is_redeemed: row.is_redeemed,
            turn_hash: row.turn_hash,
            refresh_expires_at: row.refresh_expires_at,
            scopes: row.scopes.iter().filter_map(|s| s.parse().ok()).collect(),
            is_revoked: row.is_revoked,
        }
    }
}

pub async fn lock_by_code(
    conn: &mut PgConnection,
    user: UserId,
    code: &LinkToken,
) -> Result<Option<LockedGrant>, sqlx::Error> {
    lock(conn, user, Some(&code.hash()), None).await
}

pub async fn lock_by_family(
    conn: &mut PgConnection,
    user: UserId,
    family: &LinkToken,
) -> Result<Option<LockedGrant>, sqlx::Error> {
    lock(conn, user, None, Some(&family.hash())).await
}

async fn lock(
    conn: &mut PgConnection,
    user: UserId,
    code_hash: Option<&[u8]>,
    family_hash: Option<&[u8]>,
) -> Result<Option<LockedGrant>, sqlx::Error> {
    let row = sqlx::query_as!(
        GrantRow,
        r#"SELECT g.user_id, g.token_id, t.agent_id, g.client_id, g.redirect_uri, g.resource, g.code_challenge,
                  g.code_expires_at, g.redeemed_at IS NOT NULL AS "is_redeemed!", g.turn_hash, g.refresh_expires_at, t.scopes,
                  (t.revoked_at IS NOT NULL OR EXISTS (SELECT FROM users WHERE id = $1 AND disabled_at IS NOT NULL))
                      AS "is_revoked!"
           FROM oauth_grants g JOIN agent_tokens t ON t.user_id = g.user_id AND t.id = g.token_id
           WHERE g.user_id = $1 AND (g.code_hash = $2 OR g.family_hash = $3)
           FOR UPDATE OF g"#,
        user.0,
        code_hash,
        family_hash,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(LockedGrant::from))
}

pub struct RenewedGrant<'a> {
    pub family: &'a LinkToken,
    pub turn: &'a LinkToken,
    pub now: OffsetDateTime,
    pub refresh_expires_at: OffsetDateTime,
}

pub async fn renew(
    conn: &mut PgConnection,
    user: UserId,
    token: TokenId,
    renewed: &RenewedGrant<'_>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE oauth_grants SET redeemed_at = coalesce(redeemed_at, $3), family_hash = $4, turn_hash = $5,
                                 refresh_expires_at = $6
         WHERE user_id = $1 AND token_id = $2",
        user.0,
        token.0,
        renewed.now,
        &renewed.family.hash(),
        &renewed.turn.hash(),
        renewed.refresh_expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Of everybody, as the owner role. A grant whose turn is forgotten ends then, or before.
pub async fn forget_turns(
    conn: &mut PgConnection,
    until: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE oauth_grants SET turn_hash = NULL, refresh_expires_at = least(refresh_expires_at, $1)
         WHERE turn_hash IS NOT NULL OR refresh_expires_at > $1",
        until
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whose grant a token is of.
pub struct FoundGrant {
    pub user: UserId,
    pub agent: AgentId,
    pub token: TokenId,
    pub client_id: String,
}

pub async fn find_by_access(
    conn: &mut PgConnection,
    token: &Token,
) -> Result<Option<FoundGrant>, sqlx::Error> {
    sqlx::query_as!(
        FoundGrant,
        r#"SELECT g.user_id AS "user: UserId", t.agent_id AS "agent: AgentId", g.token_id AS "token: TokenId", g.client_id
         FROM agent_tokens t JOIN oauth_grants g ON g.user_id = t.user_id AND g.token_id = t.id
         WHERE t.token_hash = $1 AND ($2::bigint IS NULL OR t.user_id = $2)"#,
        &token.hash(),
        token.user().map(|user| user.0),
    )
    .fetch_optional(conn)
    .await
}

pub async fn find_by_family(
    conn: &mut PgConnection,
    family: &LinkToken,
) -> Result<Option<FoundGrant>, sqlx::Error> {
    sqlx::query_as!(
        FoundGrant,
        r#"SELECT g.user_id AS "user: UserId", t.agent_id AS "agent: AgentId", g.token_id AS "token: TokenId", g.client_id
         FROM oauth_grants g JOIN agent_tokens t ON t.user_id = g.user_id AND t.id = g.token_id
         WHERE g.family_hash = $1"#,
        &family.hash(),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes the tokens of codes that were never redeemed, of grants that ran out before `ended_before`, and all that were
/// revoked or expired before it.
pub async fn delete_ended_tokens(
    conn: &mut PgConnection,
    now: OffsetDateTime,
    ended_before: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        "DELETE FROM agent_tokens d USING (
             SELECT t.user_id, t.id AS token_id
             FROM agent_tokens t LEFT JOIN oauth_grants g ON g.user_id = t.user_id AND g.token_id = t.id
             WHERE (g.redeemed_at IS NULL AND g.code_expires_at <= $1) OR t.revoked_at < $2 OR g.refresh_expires_at < $2
                OR (g.token_id IS NULL AND t.expires_at < $2)
             LIMIT $3) over
         WHERE d.user_id = over.user_id AND d.id = over.token_id",
        now,
        ended_before,
        SWEPT_MAX,
    )
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected())
}
