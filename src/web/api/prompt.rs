//! `GET /api/v1/prompt`: what an agent's system prompt says of its memory
//! (Nova §3.3). It answers although memory is off or the database away.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};

use crate::tools::{Registry, guidance};
use crate::web::AppState;
use crate::web::auth::authenticate;
use crate::web::error::Problem;

/// Text, of at most 2 KiB.
pub async fn show(
    State(state): State<AppState>,
    State(registry): State<Arc<Registry>>,
    headers: HeaderMap,
) -> Result<String, Problem> {
    let access = match authenticate(&headers, &state).await {
        Ok(access) => access,
        // No token can be told from another now: whoever sends a whole one is told this.
        Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE => {
            return Ok(guidance::UNAVAILABLE.to_owned());
        }
        Err(problem) => return Err(problem),
    };
    Ok(registry.guidance(&access).await)
}
