//! MCP: `/mcp`, streamable HTTP with rmcp, one response per request. It is stateless, so that any server can
//! answer any request. The caller is authenticated here, with the same code as REST; rmcp sees neither the
//! token nor a tool's arguments.

mod handler;
mod message;

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::sync::watch;

use self::handler::{Arguments, Caller, Handler, HungUp, RequestSpan};
use self::message::{Id, Message};
use super::api::tools::{BODY_BYTES_MAX, read_json_body};
use super::error::Problem;
use super::{AppState, auth, oauth};
use crate::accounts::AgentAccess;
use crate::config::PublicUrl;

/// Codes of JSON-RPC, and one from its range for servers.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
/// rmcp's code, from MCP 2026-07-28.
const HEADER_MISMATCH: i32 = -32_020;
const INVALID_PARAMS: i32 = -32_602;
const REFUSED: i32 = -32_010;

pub const PATH: &str = auth::MCP;

/// Some clients end it with a slash.
pub fn is_path(path: &str) -> bool {
    path.trim_end_matches('/') == PATH
}

const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const LOOPBACK_ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
/// rmcp's error messages are one line.
const WORDS_BYTES_MAX: usize = 4 * 1024;

#[derive(Clone)]
pub struct Door {
    state: AppState,
    rmcp: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Door {
    pub fn new(state: &AppState) -> Self {
        let handler = Handler::new(state.registry.clone(), state.public_url.as_str());
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(BODY_BYTES_MAX)
            .with_allowed_hosts(LOOPBACK_HOSTS.into_iter().chain([state.public_url.host()]))
            .with_allowed_origins(allowed_origins(&state.public_url))
            .enforce_origin_validation();
        let sessions = Arc::new(NeverSessionManager::default());
        Self {
            state: state.clone(),
            rmcp: StreamableHttpService::new(move || Ok(handler.clone()), sessions, config),
        }
    }

    pub async fn answer(self, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        match self.admit(&mut parts, body).await {
            Ok(message) => self.hand_over(parts, message).await,
            Err(refusal) => {
                let challenge = oauth::challenge(&self.state.public_url, &refusal.problem);
                let mut response = refusal.into_response();
                if let Some(challenge) = challenge {
                    let headers = response.headers_mut();
                    headers.insert(header::WWW_AUTHENTICATE, challenge);
                }
                response
            }
        }
    }

    /// Authenticates the caller and parses the message.
    async fn admit(&self, parts: &mut Parts, body: Body) -> Result<Message, Refusal> {
        let caller = self.caller(parts).await?;
        parts.extensions.insert(caller);
        let body = read_json_body(&parts.headers, body, BODY_BYTES_MAX).await?;
        Message::parse(&body)
    }

    /// While the database is unavailable, nobody can be authenticated: clients may still connect and list
    /// tools, and each call returns the error.
    async fn caller(&self, parts: &mut Parts) -> Result<Caller, Problem> {
        match AgentAccess::from_request_parts(parts, &self.state).await {
            Ok(access) => Ok(Caller(Ok(access))),
            Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE => {
                Ok(Caller(Err(problem)))
            }
            Err(problem) => Err(problem),
        }
    }

    async fn hand_over(&self, mut parts: Parts, message: Message) -> Response {
        parts.headers.remove(header::AUTHORIZATION);
        // Whatever a client says that it accepts, it reads JSON: there is no other answer.
        let json = HeaderValue::from_static("application/json");
        parts.headers.insert(header::CONTENT_TYPE, json);
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        parts.headers.insert(header::ACCEPT, accepted);
        parts.extensions.insert(Arguments(message.arguments));
        parts.extensions.insert(RequestSpan(tracing::Span::current()));
        let (_until_answered, other_end) = watch::channel(());
        parts.extensions.insert(HungUp(other_end));
        let request = Request::from_parts(parts, Body::from(message.envelope));
        let response = self.rmcp.handle(request).await.map(Body::new);
        let is_json = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        let status = response.status();
        if status.is_success() || (is_json && !status.is_client_error()) {
            return message.id.put_into(response).await;
        }
        let (parts, body) = response.into_parts();
        let said = to_bytes(body, WORDS_BYTES_MAX).await.unwrap_or_default();
        let refusal = if is_json {
            match refusal_by_code(status, &said) {
                Some(refusal) => refusal,
                None => {
                    let response = Response::from_parts(parts, Body::from(said));
                    return message.id.put_into(response).await;
                }
            }
        } else {
            let said = String::from_utf8_lossy(&said);
            refusal_of(status, &said, &self.state.public_url)
        };
        Refusal { id: message.id, ..refusal }.into_response()
    }
}

/// With explicit ports: rmcp treats an origin without one as any port.
fn allowed_origins(public_url: &PublicUrl) -> impl Iterator<Item = String> {
    let public = public_url.origin_with_port();
    LOOPBACK_ORIGINS.into_iter().map(str::to_owned).chain([public])
}

/// Replaces rmcp's JSON-RPC errors whose message repeats the input, which may contain memory.
fn refusal_by_code(status: StatusCode, said: &[u8]) -> Option<Refusal> {
    let said: Value = serde_json::from_slice(said).unwrap_or_default();
    let code = i32::try_from(said["error"]["code"].as_i64()?).ok()?;
    let (problem_code, sentence) = match code {
        METHOD_NOT_FOUND => (
            "unknown_method",
            "There is no such method here; tools/list and tools/call are served.",
        ),
        HEADER_MISMATCH => {
            ("header_mismatch", "`Mcp-Method` and `Mcp-Name` must say what the body says.")
        }
        _ => return None,
    };
    Some(Refusal { code, ..Problem::new(status, problem_code, sentence).into() })
}

/// Replaces rmcp's plain-text errors with our own.
fn refusal_of(status: StatusCode, said: &str, public_url: &PublicUrl) -> Refusal {
    let problem = match status {
        StatusCode::FORBIDDEN if said.contains("Origin") => Problem::new(
            status,
            "wrong_origin",
            format!(
                "Pages of this `Origin` may not call this server; those of {} and of loopback addresses may.",
                public_url.origin()
            ),
        ),
        _ if said.contains("Host") => Problem::new(
            StatusCode::FORBIDDEN,
            "wrong_host",
            format!(
                "This server does not answer to the name in `Host`; call {}, or let its operator set KEEPSAKE_PUBLIC_URL to the address you use.",
                public_url.mcp_resource()
            ),
        ),
        StatusCode::BAD_REQUEST if said.contains("Version") => {
            let known: Vec<_> =
                ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
            let detail = format!(
                "`MCP-Protocol-Version` names a version that is not spoken here; give {}.",
                known.join(", ")
            );
            Problem::new(status, "unsupported_protocol_version", detail)
        }
        status if status.is_client_error() => Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_message",
            "This is not a message that MCP knows; send one JSON-RPC request or notification, with `method` and `params` as the specification has them.",
        ),
        _ => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Try again in a moment."),
    };
    Refusal { code: INVALID_REQUEST, ..problem.into() }
}

/// An error before rmcp: the same problem as in REST, inside a JSON-RPC error, where MCP clients look for it.
pub struct Refusal {
    id: Id,
    code: i32,
    problem: Problem,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { id: Id::default(), code: REFUSED, problem }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({
            "jsonrpc": "2.0",
            "id": self.id,
            "error": { "code": self.code, "message": self.problem.detail, "data": self.problem.document() },
        });
        let (parts, _) = self.problem.into_response().into_parts();
        let (_, body) = Json(body).into_response().into_parts();
        let mut response = Response::from_parts(parts, body);
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
