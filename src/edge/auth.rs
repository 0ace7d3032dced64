//! Authentication: an agent by its token, or a person by a web session. The two never mix: the API reads no
//! cookie, and a page no token.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use tower_sessions::Session;

use super::calls::{AdmittedCall, CallOwner, CallSlot};
use super::error::{DATABASE_SENTENCE, Problem, token_refused};
use super::visitor::{SignedIn, Visitor};
use super::{AppState, session};
use crate::accounts::{AgentAccess, ExternalId, Token, UserId};
use crate::db::actor;

impl FromRequestParts<AppState> for AgentAccess {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let access = authenticate(parts, state).await?;
        let call = state.calls.begin(CallOwner::Agent(access.token_owner)).await?;
        let has_waited = call.has_waited;
        if let Some(slot) = parts.extensions.get::<CallSlot>() {
            slot.put(call);
        }
        match has_waited {
            // The token may have been revoked while the call waited.
            true => authenticate(parts, state).await,
            false => Ok(access),
        }
    }
}

/// The MCP endpoint.
pub const MCP: &str = "/mcp";

/// Whether it is the MCP endpoint's, with a trailing slash or without.
pub fn is_mcp(path: &str) -> bool {
    path.trim_end_matches('/') == MCP
}

/// Verifies the token. For an operator's token, `Keepsake-User` names the user.
async fn authenticate(parts: &Parts, state: &AppState) -> Result<AgentAccess, Problem> {
    let headers = &parts.headers;
    let server = state.public_url.as_str();
    let token = bearer_token(headers).map_err(|(code, detail)| {
        let detail = format!(
            "{detail} Send `Authorization: Bearer ks_…` with a token from {server}/agents."
        );
        Problem::new(StatusCode::UNAUTHORIZED, code, detail)
    })?;
    let act_as = named_user(headers)?;
    let opened = state.accounts.open(&token, act_as.as_ref()).await?;
    let access = opened.map_err(|refusal| token_refused(refusal, server))?;
    check_audience(&access, parts.uri.path(), state)?;
    actor::act_as(access.actor.clone());
    Ok(access)
}

/// A token of OAuth opens the MCP endpoint of the address that it was issued for.
fn check_audience(access: &AgentAccess, path: &str, state: &AppState) -> Result<(), Problem> {
    let Some(resource) = &access.resource else {
        return Ok(());
    };
    let ours = state.public_url.mcp_resource();
    if *resource == ours && is_mcp(path) {
        return Ok(());
    }
    let detail = format!(
        "This token was issued to an MCP client and opens {resource} only; make one for other uses at {}/agents.",
        state.public_url.as_str()
    );
    Err(Problem::new(StatusCode::UNAUTHORIZED, "wrong_audience", detail))
}

/// The token, or an error code and its message.
fn bearer_token(headers: &HeaderMap) -> Result<Token, (&'static str, &'static str)> {
    let Some(header) = headers.get(header::AUTHORIZATION) else {
        return Err(("missing_token", "No token was sent."));
    };
    header
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, token)| Token::parse(token.trim()))
        .ok_or(("malformed_token", "This is not a whole token."))
}

/// The user that a service token acts for.
fn named_user(headers: &HeaderMap) -> Result<Option<ExternalId>, Problem> {
    let mut named = headers.get_all(ExternalId::HEADER).iter();
    let Some(header) = named.next() else {
        return Ok(None);
    };
    if named.next().is_some() {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_user",
            "`Keepsake-User` is sent twice; send it once.",
        ));
    }
    let external = ExternalId::parse(header.as_bytes()).map_err(|invalid| {
        Problem::new(StatusCode::BAD_REQUEST, "invalid_user", invalid.sentence)
    })?;
    Ok(Some(external))
}

/// Opens the scope in which an API request acts with its token's authority, once that is known.
pub async fn scope_agent(State(state): State<AppState>, request: Request, next: Next) -> Response {
    actor::scope(None, &state.clock, next.run(request)).await.0
}

/// The visitor, and the call's place in the queue if they are signed in.
///
/// # Errors
/// If the database is unavailable, or too many of the person's calls wait.
pub async fn admit(
    state: &AppState,
    session: &Session,
) -> Result<(Visitor, Option<AdmittedCall>), Problem> {
    let visitor = find_visitor(state, session).await?;
    let Visitor::SignedIn(signed_in) = &visitor else {
        return Ok((visitor, None));
    };
    let call = state.calls.begin(CallOwner::Person(signed_in.0.id)).await?;
    let visitor = match call.has_waited {
        true => find_visitor(state, session).await?,
        false => visitor,
    };
    Ok((visitor, Some(call)))
}

/// Whose web session it is.
///
/// # Errors
/// If the database is unavailable.
pub async fn find_visitor(state: &AppState, session: &Session) -> Result<Visitor, Problem> {
    let unavailable = |_: tower_sessions::session::Error| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", DATABASE_SENTENCE)
    };
    let Some(id) = session.get::<i64>(session::SESSION_USER).await.map_err(unavailable)? else {
        return Ok(Visitor::Stranger);
    };
    Ok(match state.accounts.active_user(UserId(id)).await? {
        Some(user) => {
            session::note_visit(session, &state.clock).await.map_err(unavailable)?;
            Visitor::SignedIn(SignedIn(user))
        }
        None => Visitor::Stranger,
    })
}

/// Prevents CSRF: refuses a form that another site posted with the visitor's cookie. Browsers send
/// `Sec-Fetch-Site`, or at least `Origin`.
pub async fn check_origin(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if is_safe || comes_from_here(request.headers(), state.public_url.origin()) {
        return Ok(next.run(request).await);
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "cross_origin",
        format!(
            "This form was not sent from a page of this server. Open {} and try again.",
            state.public_url.as_str()
        ),
    ))
}

fn comes_from_here(headers: &HeaderMap, public_origin: &str) -> bool {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = text("origin") else {
        return false;
    };
    let same_host = || {
        let host = text("host").unwrap_or_default();
        origin.split_once("://").is_some_and(|(_, rest)| !host.is_empty() && rest == host)
    };
    origin == public_origin || same_host()
}
