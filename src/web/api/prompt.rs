//! `GET /api/v1/prompt`: the text about memory for an agent's system prompt (Nova §3.3). It answers even
//! while memory is off or the database is unavailable.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;

use crate::accounts::AgentAccess;
use crate::input::Invalid;
use crate::tools::{Registry, ToolError, guidance};
use crate::web::error::Problem;

#[derive(Deserialize)]
pub struct Params {
    with: Option<String>,
}

/// Plain text of at most 2 KiB; `with=memory_file` appends the content of `MEMORY.md` as data.
pub async fn show(
    access: Result<AgentAccess, Problem>,
    State(registry): State<Arc<Registry>>,
    params: Result<Query<Params>, QueryRejection>,
) -> Result<String, Problem> {
    let access = match access {
        Ok(access) => access,
        // Tokens cannot be checked now, so every well-formed token gets this answer.
        Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE => {
            return Ok(guidance::UNAVAILABLE.to_owned());
        }
        Err(problem) => return Err(problem),
    };
    let unknown = || {
        let sentence = "`with` is not known; give memory_file once, or leave it out.";
        Invalid::new("with", "invalid_with", sentence)
    };
    let Query(params) = params.map_err(|_| unknown())?;
    let with_file = match params.with.as_deref() {
        None => false,
        Some("memory_file") => true,
        Some(_) => return Err(unknown().into()),
    };
    let guidance = registry.guidance(&access).await;
    if !with_file {
        return Ok(guidance);
    }
    // Without the database, returns the guidance only.
    match registry.memory_file(&access).await {
        Ok(Some(file)) => Ok(format!("{guidance}\n\n{file}")),
        Ok(None) | Err(ToolError::Database(_)) => Ok(guidance),
        Err(error) => Err(error.into()),
    }
}
