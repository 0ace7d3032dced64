//! The REST endpoints of tools: `GET /api/v1/tools`, `POST /api/v1/tools/{name}`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::documents;
use crate::accounts::AgentAccess;
use crate::tools::{Definition, Door, Registry};
use crate::web::error::Problem;

pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Limits for reading and dropping the rest of a body that is too large, since many clients read the answer
/// only after they have sent everything.
const DISCARDED_BYTES_MAX: usize = 32 * 1024 * 1024;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
pub struct ListParams {
    format: Option<String>,
}

pub async fn list(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
    params: Result<Query<ListParams>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(params) = params.map_err(|_| invalid_format())?;
    let tools = registry.listed(access.profile);
    match params.format.as_deref() {
        None | Some("json") => {
            let tools: Vec<_> = tools.collect();
            Ok(Json(json!({ "tools": tools })))
        }
        Some("openai") => Ok(Json(tools.map(as_openai_takes_it).collect())),
        Some("anthropic") => Ok(Json(tools.map(as_anthropic_takes_it).collect())),
        Some(_) => Err(invalid_format()),
    }
}

/// An entry of `tools` in OpenAI's chat completions API.
pub(super) fn as_openai_takes_it(tool: &Definition) -> Value {
    let function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters(),
    });
    json!({ "type": "function", "function": function })
}

/// An entry of `tools` in Anthropic's messages API.
fn as_anthropic_takes_it(tool: &Definition) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters(),
    })
}

fn invalid_format() -> Problem {
    Problem {
        field: Some("format".to_owned()),
        ..Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid_format",
            "`format` is not known; give openai, anthropic or json once, or leave it out.",
        )
    }
}

pub async fn call(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    // A name that is not valid Unicode is as unknown as an empty one.
    let name = name.map_or_else(|_| String::new(), |Path(name)| name);
    let (parts, body) = request.into_parts();
    let most = match name == documents::TOOL {
        true => documents::BODY_BYTES_MAX,
        false => BODY_BYTES_MAX,
    };
    let input = read_body_to(body, most).await?;
    check_content_type(&parts.headers, &input)?;
    let input: &[u8] = if input.is_empty() { b"{}" } else { &input };
    Ok(Json(
        registry.call(Door::Rest, &access, &name, input).await?,
    ))
}

/// A call without a body needs no content type: it is the empty object.
pub fn check_content_type(headers: &HeaderMap, input: &[u8]) -> Result<(), Problem> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let is_json = essence.eq_ignore_ascii_case("application/json") || essence.ends_with("+json");
    if is_json || input.is_empty() {
        return Ok(());
    }
    Err(not_json_type())
}

pub(super) fn not_json_type() -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The body must be JSON; send `Content-Type: application/json`.",
    )
}

pub(super) fn body_too_large(bytes_max: usize) -> Problem {
    let mib = bytes_max / 1024 / 1024;
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        format!("The body is over {mib} MiB, which is the most; send less."),
    )
}

pub async fn read_body(body: Body) -> Result<Vec<u8>, Problem> {
    read_body_to(body, BODY_BYTES_MAX).await
}

/// Reads a body of at most `bytes_max` bytes.
pub async fn read_body_to(body: Body, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let mut stream = body.into_data_stream();
    let mut read = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "incomplete_body",
                "The body ended before its time.",
            )
        })?;
        if read.len() + chunk.len() > bytes_max {
            discard(stream).await;
            return Err(body_too_large(bytes_max));
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read)
}

async fn discard(mut stream: axum::body::BodyDataStream) {
    let drop_rest = async {
        let mut dropped = 0;
        while let Some(Ok(chunk)) = stream.next().await {
            dropped += chunk.len();
            if dropped > DISCARDED_BYTES_MAX {
                return;
            }
        }
    };
    // If the rest is too slow or too large, the connection is closed.
    let _ = tokio::time::timeout(DISCARD_TIME_MAX, drop_rest).await;
}
