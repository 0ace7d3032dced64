//! The doors of the server: API, MCP, OAuth, probes, downloads, and the pages of `app`; routes and the connections. Logic that
//! more than one door needs belongs elsewhere.

mod address;
mod api;
mod connection;
mod cors;
mod downloads;
mod frozen;
mod gate;
mod health;
mod host;
mod mcp;
mod metrics;
mod oauth;
mod observe;
mod routes;
mod server;

use keepsake_edge::{auth, calls, client, error, headers, held, session, subpath, unread, visitor};

pub use connection::ConnectionLimits;
pub use gate::Gate;
pub use keepsake_edge::unread::BodyTime;
pub use keepsake_edge::{AppState, ProcessInfo, Readiness, ServerParts, SiteFiles, Workers};
pub use routes::router;
pub use server::serve;
