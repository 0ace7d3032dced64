//! The REST endpoints of tools: `GET /api/v1/tools`, `POST /api/v1/tools/{name}`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{InPath, documents, text_of};
use crate::accounts::AgentAccess;
use crate::input::Invalid;
use crate::tools::{CallInterface, Definition, InlinedSchema, Registry};
use crate::web::error::Problem;

pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Limits for reading and dropping the rest of a body that is too large, since many clients read the answer
/// only after they have sent everything.
const DISCARDED_BYTES_MAX: usize = 32 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const DISCARD_TIME_MAX: Duration = Duration::from_secs(5);

#[derive(Deserialize, JsonSchema)]
pub struct ToolFormatQuery {
    /// Format of the list. Default json.
    #[serde(default)]
    #[schemars(example = &"openai")]
    format: ToolFormat,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ToolFormat {
    OpenAi,
    Anthropic,
    #[default]
    Json,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolList {
    Json(Tools),
    OpenAi(OpenAiTools),
    Anthropic(AnthropicTools),
}

#[derive(Serialize, JsonSchema)]
pub struct Tools {
    /// Tools in the recommended order.
    #[schemars(length(min = 1))]
    tools: Vec<Definition>,
}

/// Value of `tools` in OpenAI's Chat Completions API.
#[derive(Serialize, JsonSchema)]
pub struct OpenAiTools(#[schemars(length(min = 1))] Vec<OpenAiTool>);

#[derive(Serialize, JsonSchema)]
pub struct OpenAiTool {
    #[serde(rename = "type")]
    #[schemars(extend("const" = "function"))]
    kind: &'static str,
    function: OpenAiFunction,
}

#[derive(Serialize, JsonSchema)]
struct OpenAiFunction {
    name: &'static str,
    description: &'static str,
    #[schemars(with = "InlinedSchema")]
    parameters: Value,
}

/// Value of `tools` in Anthropic's Messages API.
#[derive(Serialize, JsonSchema)]
pub struct AnthropicTools(#[schemars(length(min = 1))] Vec<AnthropicTool>);

#[derive(Serialize, JsonSchema)]
struct AnthropicTool {
    name: &'static str,
    description: &'static str,
    #[schemars(with = "InlinedSchema")]
    input_schema: Value,
}

pub async fn list(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
    params: Result<Query<ToolFormatQuery>, QueryRejection>,
) -> Result<Json<ToolList>, Problem> {
    let Query(params) = params.map_err(|_| {
        let sentence =
            "`format` is not known; give openai, anthropic or json once, or leave it out.";
        Invalid::new("format", "invalid_format", sentence)
    })?;
    let tools = registry.listed(access.profile);
    Ok(Json(match params.format {
        ToolFormat::Json => ToolList::Json(Tools { tools: tools.cloned().collect() }),
        ToolFormat::OpenAi => ToolList::OpenAi(OpenAiTools(tools.map(Into::into).collect())),
        ToolFormat::Anthropic => {
            ToolList::Anthropic(AnthropicTools(tools.map(Into::into).collect()))
        }
    }))
}

impl From<&Definition> for OpenAiTool {
    fn from(tool: &Definition) -> Self {
        Self {
            kind: "function",
            function: OpenAiFunction {
                name: tool.name,
                description: tool.description,
                parameters: tool.parameters(),
            },
        }
    }
}

impl From<&Definition> for AnthropicTool {
    fn from(tool: &Definition) -> Self {
        Self { name: tool.name, description: tool.description, input_schema: tool.parameters() }
    }
}

pub async fn call(
    access: AgentAccess,
    State(registry): State<Arc<Registry>>,
    name: InPath,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let name = text_of(name);
    let (parts, body) = request.into_parts();
    let most = match name == documents::TOOL {
        true => documents::BODY_BYTES_MAX,
        false => BODY_BYTES_MAX,
    };
    let input = read_json_body(&parts.headers, body, most).await?;
    let input: &[u8] = if input.is_empty() { b"{}" } else { &input };
    Ok(Json(registry.call(CallInterface::Rest, &access, &name, input).await?))
}

/// Reads a body of JSON, without its byte order mark. JSON is taken under any content type, or none: no form of a browser can
/// send the token that each caller of this has shown.
pub async fn read_json_body(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<Vec<u8>, Problem> {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().trim();
    if !matches!(text(header::CONTENT_ENCODING), "" | "identity") {
        return Err(encoded_body());
    }
    let mut json = read_body(body, bytes_max).await?;
    if json.starts_with(BYTE_ORDER_MARK) {
        json.drain(..BYTE_ORDER_MARK.len());
    }
    let essence = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    let is_json_type =
        essence.eq_ignore_ascii_case("application/json") || essence.ends_with("+json");
    let is_json = || serde_json::from_slice::<IgnoredAny>(&json).is_ok();
    match is_json_type || json.is_empty() || is_json() {
        true => Ok(json),
        false => Err(not_json_type()),
    }
}

pub(super) fn encoded_body() -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_encoding",
        "A body with `Content-Encoding`, such as gzip, is not supported; send it uncompressed.",
    )
}

pub(super) fn not_json_type() -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The body is not JSON; send a JSON object, with `Content-Type: application/json`.",
    )
}

pub(super) fn body_too_large(bytes_max: usize) -> Problem {
    let mib = bytes_max / 1024 / 1024;
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        format!("The body exceeds the limit of {mib} MiB; send less."),
    )
}

/// Reads a body of at most `bytes_max` bytes.
pub async fn read_body(body: Body, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let mut stream = body.into_data_stream();
    let mut read = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| {
            Problem::new(StatusCode::BAD_REQUEST, "incomplete_body", "The body is incomplete.")
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
