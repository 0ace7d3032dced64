//! `GET /api/v1/summary` and `POST /api/v1/recall`: the answers of the tools `memory_summary` and
//! `memory_recall`, for programs that build prompts.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tools;
use crate::accounts::AgentAccess;
use crate::input::Invalid;
use crate::memories::projects::{self, PLACE_CHARS_MAX};
use crate::tools::{CallInterface, Registry};
use crate::web::error::Problem;

/// The tools behind the paths.
pub const TOOL: &str = "memory_summary";
pub const RECALL_TOOL: &str = "memory_recall";

const HEADING: &str = "## What I remember about the user";

#[derive(Deserialize, JsonSchema)]
pub struct SummaryQuery {
    /// message: also return the summary as a message for a prompt.
    #[schemars(with = "SummaryFormat", example = &"message")]
    format: Option<SummaryFormat>,
    /// The current project: its name, the address of its repository, or its folder.
    #[schemars(with = "String", length(max = PLACE_CHARS_MAX), example = &"tidepool")]
    project: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SummaryFormat {
    Message,
}

/// The tool's answer; with `format=message` also as a message for a prompt (Navi's).
pub async fn show(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
    params: Result<Query<SummaryQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(params) = params.map_err(|_| {
        let sentence = "`format` is not known; give message once, or leave it out.";
        Invalid::new("format", "invalid_format", sentence)
    })?;
    let input = json!({ "project": params.project }).to_string();
    let mut told = registry.call(CallInterface::Rest, &access, TOOL, input.as_bytes()).await?;
    if params.format.is_some() {
        let summary = told["summary"].as_str().map(|text| format!("{HEADING}\n\n{text}"));
        let project = told["project"].as_str().map(projects::sentence_of);
        let told_of: Vec<String> = summary.into_iter().chain(project).collect();
        told["message"] = match told_of.is_empty() {
            true => Value::Null,
            false => json!({ "role": "system", "content": told_of.join("\n\n") }),
        };
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
