//! `GET /api/v1/prompt`: what an agent's system prompt says of its memory
//! (Nova §3.3). It answers although memory is off or the database away.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use crate::accounts::AgentAccess;
use crate::tools::{Registry, guidance};
use crate::web::error::Problem;

/// Text, of at most 2 KiB.
pub async fn show(
    access: Result<AgentAccess, Problem>,
    State(registry): State<Arc<Registry>>,
) -> Result<String, Problem> {
    let access = match access {
        Ok(access) => access,
        // No token can be told from another now: whoever sends a whole one is told this.
        Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE => {
            return Ok(guidance::UNAVAILABLE.to_owned());
        }
        Err(problem) => return Err(problem),
    };
    Ok(registry.guidance(&access).await)
}
