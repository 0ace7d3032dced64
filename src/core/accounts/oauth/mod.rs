//! OAuth 2.1 for remote MCP clients: who asks (`client.rs`), what for (`request.rs`), what a person allowed, and the tokens
//! that come of it. A grant is an agent's token (`tokens/`) and a row beside it: revoking that token ends the grant, and what
//! `open` checks holds for it too. Each refresh changes the token's secret, so that a grant has one access token at a time.
//!
//! A refresh token has two random halves: the first is the same for the grant's life, the second changes with each use. A
//! known first half with another second one is a replay, and revokes the grant; no used token has to be kept to tell. Only
//! after a restore, whose backup has an older second half than the client, the first refresh may bring any, for a day.

mod client;
mod redirect;
mod request;
mod store;

pub use client::{ClientId, ClientMetadata, MetadataRefusal, OauthClient};
pub use redirect::RedirectUri;
pub use request::{
    AuthorizationRequest, ErrorForClient, RequestParams, RequestRefusal, SCOPES, is_resource,
};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use super::agents;
use super::model::{AgentId, AgentName, Scopes, ToolProfile, UserId};
use super::tokens::{self, LinkToken, Token, TokenHolder, TokenWish};
use super::{AccountError, Accounts};
use crate::db::Tx;
use crate::input::Invalid;

/// How long a code may be redeemed.
pub const CODE_LIFETIME: Duration = Duration::seconds(60);
/// Of an access token.
pub const ACCESS_LIFETIME: Duration = Duration::hours(1);
/// Of a refresh token; each refresh begins it again.
pub const REFRESH_LIFETIME: Duration = Duration::days(30);
/// How long after a restore an older refresh token works, too.
const ANY_TURN_FOR: Duration = Duration::hours(24);
/// Registrations that this server holds; past it, the oldest that nobody allowed gives way, then the one not used for longest.
pub const CLIENTS_MAX: i64 = 10_000;
/// How long a registration is kept that nobody has allowed,
const UNUSED_FOR: Duration = Duration::days(7);
/// and one that was last allowed or renewed then.
const IDLE_FOR: Duration = Duration::days(180);
/// How long a grant that has ended, and a revoked token, is listed.
const ENDED_FOR: Duration = Duration::days(30);

const REFRESH_PREFIX: &str = "ksr_";
/// Of PKCE (RFC 7636).
const VERIFIER_CHARS: std::ops::RangeInclusive<usize> = 43..=128;

/// As which agent the client is to act.
pub enum ChosenAgent {
    Existing(AgentId),
    New(AgentName),
}

/// What a person allows.
pub struct Consent {
    pub agent: ChosenAgent,
    pub scopes: Scopes,
    /// The agent's list of tools from now on; `None`: as an existing agent has it, and as is suggested for a new one.
    pub profile: Option<ToolProfile>,
}

/// The halves of a refresh token.
pub struct RefreshToken {
    family: LinkToken,
    turn: LinkToken,
}

impl RefreshToken {
    /// `None` if it cannot be one of this server.
    pub fn parse(text: &str) -> Option<Self> {
        let halves = text.strip_prefix(REFRESH_PREFIX)?;
        let (family, turn) = halves.split_at_checked(halves.len() / 2)?;
        Some(Self { family: LinkToken::parse(family)?, turn: LinkToken::parse(turn)? })
    }

    fn reveal(self) -> String {
        let (family, turn) = (self.family.reveal(), self.turn.reveal());
        format!("{REFRESH_PREFIX}{family}{turn}")
    }
}

/// The tokens of one answer, which is the only one that shows them.
pub struct IssuedTokens {
    pub access: Token,
    pub refresh: String,
    pub scopes: Scopes,
}

/// Why no token is issued. To a client all are `invalid_grant`, so that it learns nothing of what others hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantRefusal {
    /// Unknown, expired, revoked, or of another client.
    Invalid,
    /// Used before: the grant was revoked.
    Replayed,
}

pub struct CodeUse<'a> {
    pub code: &'a LinkToken,
    pub client_id: &'a str,
    /// OAuth 2.1 does not send it: the verifier binds the code to its request.
    pub redirect_uri: Option<&'a str>,
    pub verifier: &'a str,
}

impl Accounts {
    /// Stores a client that registered itself.
    pub async fn register_client(
        &self,
        metadata: ClientMetadata,
    ) -> Result<OauthClient, AccountError> {
        let id = ClientId::generate()?;
        let client = OauthClient::registered(id, metadata);
        let mut tx = self.db.as_system().await?;
        store::make_room(&mut tx, CLIENTS_MAX).await?;
        store::insert_client(&mut tx, &client, self.clock.now()).await?;
        tx.commit().await?;
        Ok(client)
    }

    pub async fn find_client(&self, id: &ClientId) -> Result<Option<OauthClient>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::find_client(&mut conn, id).await?)
    }

    /// Allows a client what its request asks for, and returns the code to send it.
    pub async fn allow_client(
        &self,
        user: UserId,
        request: &AuthorizationRequest,
        consent: &Consent,
    ) -> Result<LinkToken, AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_user(user).await?;
        let agent = match &consent.agent {
            ChosenAgent::New(name) => agents::add(&mut tx, user, name, now).await?,
            ChosenAgent::Existing(agent) if agents::exists(&mut tx, user, *agent).await? => *agent,
            ChosenAgent::Existing(_) => return Err(AccountError::NotFound),
        };
        let suggested = match consent.agent {
            ChosenAgent::New(_) => Some(request.suggested_profile()),
            ChosenAgent::Existing(_) => None,
        };
        let wish = TokenWish {
            scopes: consent.scopes.clone(),
            lifetime: Some(CODE_LIFETIME),
            profile: consent.profile.or(suggested),
        };
        // Nobody knows this secret: the first that is known comes with the code.
        let token = self.insert_token(&mut tx, TokenHolder::Agent(user, agent), &wish).await?;
        let code = LinkToken::generate()?;
        let expires_at = now + CODE_LIFETIME;
        store::insert_grant(&mut tx, user, &token, request, &code, expires_at).await?;
        tx.commit().await?;
        self.note_client_use(request.client.id.as_str()).await?;
        Ok(code)
    }

    /// Exchanges a code for the grant's first tokens.
    pub async fn redeem_code(
        &self,
        given: &CodeUse<'_>,
    ) -> Result<Result<IssuedTokens, GrantRefusal>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        let found = store::find_user_by_code(&mut conn, given.code).await?;
        drop(conn);
        let Some(user) = found else {
            return Ok(Err(GrantRefusal::Invalid));
        };
        let now = self.clock.now();
        let mut tx = self.db.as_user(user).await?;
        let Some(grant) = store::lock_by_code(&mut tx, user, given.code).await? else {
            return Ok(Err(GrantRefusal::Invalid));
        };
        if grant.is_redeemed {
            return self.revoke_grant(tx, &grant).await.map(Err);
        }
        let is_valid = !grant.is_revoked
            && now < grant.code_expires_at
            && grant.client_id == given.client_id
            && given.redirect_uri.is_none_or(|uri| uri == grant.redirect_uri)
            && proves(given.verifier, &grant.code_challenge);
        if !is_valid {
            return Ok(Err(GrantRefusal::Invalid));
        }
        let family = LinkToken::generate()?;
        self.issue(tx, grant, family).await.map(Ok)
    }

    /// Exchanges a refresh token for new tokens; the old ones of the grant are void from then on. `resource`: the MCP endpoint;
    /// a grant for another address, which the server had before, gives no tokens, since no call would accept them.
    pub async fn refresh_grant(
        &self,
        given: RefreshToken,
        client_id: &str,
        resource: &str,
    ) -> Result<Result<IssuedTokens, GrantRefusal>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        let found = store::find_user_by_family(&mut conn, &given.family).await?;
        drop(conn);
        let Some(user) = found else {
            return Ok(Err(GrantRefusal::Invalid));
        };
        let mut tx = self.db.as_user(user).await?;
        let Some(grant) = store::lock_by_family(&mut tx, user, &given.family).await? else {
            return Ok(Err(GrantRefusal::Invalid));
        };
        let is_over = grant.refresh_expires_at.is_none_or(|at| at <= self.clock.now());
        let is_valid = !grant.is_revoked
            && !is_over
            && grant.client_id == client_id
            && grant.resource == resource;
        if !is_valid {
            return Ok(Err(GrantRefusal::Invalid));
        }
        let turn = given.turn.hash();
        if grant.turn_hash.as_deref().is_some_and(|valid| valid != &turn[..]) {
            return self.revoke_grant(tx, &grant).await.map(Err);
        }
        let issued = self.issue(tx, grant, given.family).await?;
        self.note_client_use(client_id).await?;
        Ok(Ok(issued))
    }

    /// After what used it: a registration that somebody uses is kept.
    async fn note_client_use(&self, client_id: &str) -> Result<(), AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::note_client_use(&mut conn, client_id, self.clock.now()).await?)
    }

    /// Revokes the grant of a token of either kind, if it is this client's (RFC 7009).
    pub async fn revoke_by_client(&self, token: &str, client_id: &str) -> Result<(), AccountError> {
        let mut conn = self.db.system_connection().await?;
        let found = match (Token::parse(token), RefreshToken::parse(token)) {
            (Some(access), _) => store::find_by_access(&mut conn, &access).await?,
            (None, Some(refresh)) => store::find_by_family(&mut conn, &refresh.family).await?,
            (None, None) => None,
        };
        drop(conn);
        let Some(grant) = found.filter(|grant| grant.client_id == client_id) else {
            return Ok(());
        };
        let holder = TokenHolder::Agent(grant.user, grant.agent);
        self.revoke_token(holder, grant.token).await
    }

    /// Deletes codes that nobody redeemed, grants and tokens that ended a month ago, and clients that nobody uses; called periodically.
    pub async fn sweep_oauth(&self) -> Result<u64, AccountError> {
        let now = self.clock.now();
        let mut conn = self.db.system_connection().await?;
        let ended_before = now - ENDED_FOR;
        let tokens = store::delete_ended_tokens(&mut conn, now, ended_before).await?
            + tokens::store::delete_ended_service_tokens(&mut conn, ended_before).await?;
        let clients = store::delete_unused_clients(&mut conn, now - UNUSED_FOR, now - IDLE_FOR);
        Ok(tokens + clients.await?)
    }

    async fn issue(
        &self,
        mut tx: Tx,
        grant: store::LockedGrant,
        family: LinkToken,
    ) -> Result<IssuedTokens, AccountError> {
        let (access, turn) = (Token::generate(Some(grant.user))?, LinkToken::generate()?);
        let now = self.clock.now();
        let (user, token) = (grant.user, grant.token);
        tokens::store::replace(&mut tx, user, token, &access, now + ACCESS_LIFETIME).await?;
        let renewed = store::RenewedGrant {
            family: &family,
            turn: &turn,
            now,
            refresh_expires_at: now + REFRESH_LIFETIME,
        };
        store::renew(&mut tx, user, token, &renewed).await?;
        tx.commit().await?;
        Ok(IssuedTokens {
            access,
            refresh: RefreshToken { family, turn }.reveal(),
            scopes: grant.scopes,
        })
    }

    async fn revoke_grant(
        &self,
        mut tx: Tx,
        grant: &store::LockedGrant,
    ) -> Result<GrantRefusal, AccountError> {
        let holder = TokenHolder::Agent(grant.user, grant.agent);
        tokens::store::revoke(&mut tx, holder, grant.token, self.clock.now()).await?;
        self.note_revocation(&mut tx, holder, grant.token).await?;
        tx.commit().await?;
        Ok(GrantRefusal::Replayed)
    }
}

/// After a restore, as the owner role: clients have refreshed since the backup, so that the next refresh of each is no replay
/// for [`ANY_TURN_FOR`]. A grant that has not refreshed by then has ended.
pub async fn accept_any_turn_once(
    conn: &mut sqlx::PgConnection,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::forget_turns(conn, now + ANY_TURN_FOR).await
}

/// Whether the verifier is the one of the challenge (PKCE, S256).
fn proves(verifier: &str, challenge: &str) -> bool {
    let is_well_formed = VERIFIER_CHARS.contains(&verifier.len())
        && verifier.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b));
    is_well_formed && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == challenge
}

/// The scopes that a person chose of those that were asked for.
pub fn parse_granted(words: &str, asked: &Scopes) -> Result<Scopes, Invalid> {
    let scopes = words.split_whitespace().map(str::parse);
    let scopes = scopes.collect::<Result<Scopes, _>>()?;
    // What was not asked for is not given, whatever the form says.
    Ok(scopes.intersection(asked).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_verifier_of_the_challenge_proves_it() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(proves(verifier, challenge));
        assert!(!proves(&verifier.replace('d', "e"), challenge));
        assert!(!proves(challenge, challenge));
        let short = "a".repeat(42);
        assert!(!proves(&short, &URL_SAFE_NO_PAD.encode(Sha256::digest(&short))));
    }

    #[test]
    fn a_refresh_token_is_whole_or_none() {
        let token = RefreshToken {
            family: LinkToken::generate().expect("randomness"),
            turn: LinkToken::generate().expect("randomness"),
        };
        let text = token.reveal();
        assert_eq!(text.len(), 4 + 128);
        assert!(RefreshToken::parse(&text).is_some());
        for wrong in ["", "ksr_", &text[..text.len() - 2], &text[4..], "ksr_éé"] {
            assert!(RefreshToken::parse(wrong).is_none(), "{wrong}");
        }
    }
}
