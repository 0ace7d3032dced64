//! `GET /api/v1/summary` and `POST /api/v1/recall`: the answers of the tools `memory_summary` and
//! `memory_recall`, for programs that build prompts.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tools;
use crate::accounts::AgentAccess;
use crate::input::Invalid;
use crate::tools::{Door, Registry};
use crate::web::error::Problem;

/// The tools behind the paths.
pub const TOOL: &str = "memory_summary";
pub const RECALL_TOOL: &str = "memory_recall";

const HEADING: &str = "## What I remember about the user";

#[derive(Deserialize)]
pub struct Params {
    format: Option<String>,
}

/// The tool's answer; with `format=message` also as a message for a prompt (Navi's).
pub async fn show(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
    params: Result<Query<Params>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let unknown = || {
        let sentence = "`format` is not known; give message once, or leave it out.";
        Invalid::new("format", "invalid_format", sentence)
    };
    let Query(params) = params.map_err(|_| unknown())?;
    let is_message = match params.format.as_deref() {
        None => false,
        Some("message") => true,
        Some(_) => return Err(unknown().into()),
    };
    let mut told = registry.call(Door::Rest, &access, TOOL, b"{}").await?;
    if is_message {
        let message = told["summary"]
            .as_str()
            .map(|text| json!({ "role": "system", "content": format!("{HEADING}\n\n{text}") }));
        told["message"] = message.unwrap_or_default();
    }
    Ok(Json(told))
}

pub async fn recall(
    access: AgentAccess,
    registry: State<Arc<Registry>>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let tool = Ok(Path(RECALL_TOOL.to_owned()));
    tools::call(access, registry, tool, request).await
}
