//! What the API and the pages share of a request: who asks and what they may, how much at once, what a refusal looks like, and
//! the state of the server. It knows axum and the domain; `app` (pages) and the root (API, MCP, OAuth) stand on it.

pub mod auth;
pub mod calls;
pub mod client;
pub mod client_documents;
pub mod error;
pub mod flash;
pub mod headers;
pub mod held;
pub mod oauth;
pub mod session;
pub mod state;
pub mod subpath;
pub mod throttle;
pub mod unread;
pub mod visitor;

pub use state::{
    AppState, DatabaseGauges, ProcessInfo, Readiness, ServerParts, SiteFiles, Workers,
};

use keepsake_core::{
    accounts, clock, config, db, embedding, export, input, memories, metrics, providers, quota,
    redaction, seal, services, sessions, tools, webhooks,
};

/// Maximum bytes of the body of most requests.
pub const BODY_BYTES_MAX: usize = 1 << 20;
