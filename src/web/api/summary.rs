//! `GET /api/v1/summary` and `POST /api/v1/recall`: what the tools `memory_summary` and `memory_recall` answer, for programs
//! that put it where they like.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use serde_json::Value;

use super::tools;
use crate::accounts::AgentAccess;
use crate::tools::{Door, Registry};
use crate::web::error::Problem;

/// The tools.
pub const TOOL: &str = "memory_summary";
pub const RECALL_TOOL: &str = "memory_recall";

pub async fn show(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(registry.call(Door::Rest, &access, TOOL, b"{}").await?))
}

pub async fn recall(
    access: AgentAccess,
    registry: State<Arc<Registry>>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let tool = Ok(Path(RECALL_TOOL.to_owned()));
    tools::call(access, registry, tool, request).await
}
