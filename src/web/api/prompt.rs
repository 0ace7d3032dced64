//! `GET /api/v1/prompt`: the text about memory for an agent's system prompt (Nova §3.3). It answers even
//! while memory is off or the database is unavailable.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::AgentAccess;
use crate::input::Invalid;
use crate::tools::{Registry, ToolError, guidance};
use crate::web::error::Problem;

#[derive(Deserialize, JsonSchema)]
pub struct PromptQuery {
    /// What to append to the guidance.
    #[schemars(with = "PromptAddition", example = &"memory_file")]
    with: Option<PromptAddition>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PromptAddition {
    MemoryFile,
}

/// Plain text of at most 2 KiB; `with=memory_file` appends the content of `MEMORY.md` as data.
pub async fn show(
    access: Result<AgentAccess, Problem>,
    State(registry): State<Arc<Registry>>,
    params: Result<Query<PromptQuery>, QueryRejection>,
) -> Result<String, Problem> {
    let access = match access {
        Ok(access) => access,
        // Tokens cannot be checked now, so every well-formed token gets this answer.
        Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE => {
            return Ok(guidance::UNAVAILABLE.to_owned());
        }
        Err(problem) => return Err(problem),
    };
    let Query(params) = params.map_err(|_| {
        let sentence = "`with` is not known; give memory_file once, or leave it out.";
        Invalid::new("with", "invalid_with", sentence)
    })?;
    let guidance = registry.guidance(&access).await;
    if params.with.is_none() {
        return Ok(guidance);
    }
    // Without the database, returns the guidance only.
    match registry.memory_file(&access).await {
        Ok(Some(file)) => Ok(format!("{guidance}\n\n{file}")),
        Ok(None) | Err(ToolError::Database(_)) => Ok(guidance),
        Err(error) => Err(error.into()),
    }
}
