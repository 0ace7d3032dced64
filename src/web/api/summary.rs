//! `GET /api/v1/summary`: what the tool `memory_summary` answers, for programs that put it
//! where they like.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::accounts::AgentAccess;
use crate::tools::{Door, Registry};
use crate::web::error::Problem;

/// The tool.
pub const TOOL: &str = "memory_summary";

pub async fn show(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(registry.call(Door::Rest, &access, TOOL, b"{}").await?))
}
