//! The endpoints for programs, and what several of them do in the same way.

pub mod changes;
pub mod documents;
pub mod flush;
pub mod openapi;
pub mod prompt;
pub mod secret_policy;
pub mod sessions;
pub mod summary;
pub mod tools;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request};
use serde::de::DeserializeOwned;

use crate::accounts::{ActingFor, AgentAccess, Scope, Viewer};
use crate::db::actor;
use crate::tools::{ToolError, parse_for};
use crate::web::AppState;
use crate::web::error::Problem;

type InPath = Result<Path<String>, PathRejection>;

/// What is not valid Unicode is as invalid as an empty text.
fn text_of(path: InPath) -> String {
    path.map_or_else(|_| String::new(), |Path(text)| text)
}

/// The same checks and messages as for a tool.
fn check_access(access: &AgentAccess, scope: Scope) -> Result<(), ToolError> {
    if let Some(of) = access.memory_off {
        return Err(ToolError::MemoryOff(of));
    }
    access.require(scope).map_err(ToolError::MissingScope)?;
    if scope != Scope::MemoryRead {
        actor::require_team_writes();
    }
    Ok(())
}

/// The caller, who is created if need be. As for tools, only a call that passed all checks creates a user.
async fn caller(access: AgentAccess, state: &AppState) -> Result<Viewer, Problem> {
    match access.acting_for {
        ActingFor::User(viewer) => Ok(viewer),
        ActingFor::NewUser(user) => {
            let made = state.accounts.make_user(&user).await?;
            Ok(made.map_err(ToolError::from)?)
        }
    }
}

/// Parses a JSON body of at most `bytes_max` bytes; `empty` replaces an empty one.
async fn read_json<T: DeserializeOwned>(
    request: Request,
    bytes_max: usize,
    empty: &[u8],
) -> Result<T, Problem> {
    let (parts, body) = request.into_parts();
    let body = tools::read_json_body(&parts.headers, body, bytes_max).await?;
    let body = if body.is_empty() { empty } else { &body };
    Ok(parse_for("what is sent here", body)?)
}
