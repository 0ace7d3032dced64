//! The endpoints of OAuth 2.1, for MCP clients that a person connects in the browser: Keepsake is the resource server and its
//! own authorization server. Here is what clients discover (RFC 9728, RFC 8414); `register.rs` registers
//! clients, `tokens.rs` issues tokens. What clients ask for is read in `edge/oauth`, by the page that asks the person.
//!
//! It needs no switch: the public URL is https, or plain http on a loopback address, where nobody can listen.

mod error;
mod register;
pub mod tokens;

pub use error::OauthError;
pub use register::register;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use keepsake_edge::oauth::AUTHORIZE;
use serde_json::{Value, json};

use super::AppState;
use super::error::Problem;
use crate::accounts::Scope;
use crate::accounts::oauth::SCOPES;
use crate::config::PublicUrl;

pub const TOKEN: &str = "/oauth/token";
pub const REGISTER: &str = "/oauth/register";
pub const REVOKE: &str = "/oauth/revoke";
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// The body of a request to one of the endpoints.
pub const BODY_BYTES_MAX: usize = 16 << 10;

fn scope_names() -> Vec<&'static str> {
    SCOPES.into_iter().map(Scope::as_str).collect()
}

/// What opens the MCP endpoint (RFC 9728).
pub async fn protected_resource(State(state): State<AppState>) -> Json<Value> {
    Json(json!({
        "resource": state.public_url.mcp_resource(),
        "authorization_servers": [state.public_url.as_str()],
        "scopes_supported": scope_names(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Keepsake",
    }))
}

/// What this authorization server does (RFC 8414).
pub async fn authorization_server(State(state): State<AppState>) -> Json<Value> {
    let server = state.public_url.as_str();
    Json(json!({
        "issuer": server,
        "authorization_endpoint": format!("{server}{AUTHORIZE}"),
        "token_endpoint": format!("{server}{TOKEN}"),
        "registration_endpoint": format!("{server}{REGISTER}"),
        "revocation_endpoint": format!("{server}{REVOKE}"),
        "scopes_supported": scope_names(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    }))
}

/// Of any other document that a client looks for, such as OpenID's.
pub async fn not_here(State(state): State<AppState>) -> Response {
    let detail = format!(
        "There is nothing here. OAuth is described at {0}/.well-known/oauth-authorization-server; a token for other clients is made at {0}/agents.",
        state.public_url.as_str()
    );
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", detail);
    (problem.status, Json(problem.document())).into_response()
}

/// Says in a refusal of the MCP endpoint where a client gets a token (RFC 6750, RFC 9728).
pub fn challenge(public_url: &PublicUrl, problem: &Problem) -> Option<HeaderValue> {
    let error = match (problem.status, problem.code) {
        // A new grant would not help a disabled account.
        (StatusCode::UNAUTHORIZED, "disabled_user") => return None,
        (StatusCode::UNAUTHORIZED, "missing_token") => "",
        (StatusCode::UNAUTHORIZED, _) => "error=\"invalid_token\", ",
        _ => return None,
    };
    let scope = scope_names().join(" ");
    let server = public_url.as_str();
    let value = format!(
        "Bearer realm=\"keepsake\", {error}resource_metadata=\"{server}{RESOURCE_METADATA}\", scope=\"{scope}\""
    );
    HeaderValue::from_str(&value).ok()
}
