//! What pages of other origins may call, since MCP clients run in browsers too: MCP and the endpoints of OAuth. Nothing here
//! reads a cookie, and no answer allows credentials: what a page may do, it may by a token that it was given.
//!
//! Any origin may ask, so that it can read why it is refused. Which origin MCP answers is decided by `mcp/`: this server's own
//! and those of loopback addresses, as the specification demands against DNS rebinding.

use std::time::Duration;

use axum::http::header::HeaderName;
use axum::http::{Method, header};
use tower_http::cors::{Any, CorsLayer};

/// How long a browser may go without asking again.
const PREFLIGHT_KEPT_FOR: Duration = Duration::from_secs(600);

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// For the metadata, and for registering, redeeming and revoking.
pub fn oauth() -> CorsLayer {
    of([header::CONTENT_TYPE, PROTOCOL_VERSION])
}

/// For the MCP endpoint. It has no sessions, but some clients send and look for the header all the same.
pub fn mcp() -> CorsLayer {
    of([
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        PROTOCOL_VERSION,
        SESSION_ID,
        HeaderName::from_static("last-event-id"),
        HeaderName::from_static("mcp-method"),
        HeaderName::from_static("mcp-name"),
    ])
    .expose_headers([header::WWW_AUTHENTICATE, SESSION_ID, header::RETRY_AFTER])
}

fn of<const N: usize>(headers: [HeaderName; N]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(headers)
        .max_age(PREFLIGHT_KEPT_FOR)
}
