//! The REST endpoints of sessions: an agent sends messages, completes the session, and asks for the results.
//! It reaches only its own sessions: those of another agent, even of the same user, do not exist for it.

use std::borrow::Cow;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::tools::{BODY_BYTES_MAX, read_json_body};
use super::{InPath, caller, check_access, read_json, text_of};
use crate::accounts::{ActingFor, AgentAccess, Scope, Viewer};
use crate::consolidation::episodes::{self, SUMMARY_CHARS_MAX};
use crate::input::{Invalid, required_text};
use crate::json::JsonTime;
use crate::redaction::{SecretWarning, TextDoor, without_private};
use crate::sessions::message::{
    EXTERNAL_ID_CHARS_MAX, MESSAGE_CHARS_MAX, MESSAGES_A_REQUEST_MAX, TOOL_ARGUMENTS_CHARS_MAX,
    TOOL_CALLS_A_MESSAGE_MAX, TOOL_NAME_CHARS_MAX,
};
use crate::sessions::{
    self, Address, AgentSession, CompletionReason, ExtractionCounts, ExtractionOutcome,
    MessageRole, NewMessages, PAGE_DEFAULT, PAGE_MAX, SessionError, SessionExtraction, SessionName,
    SessionState, SkippedMessage, StoredMessage,
};
use crate::tools::{ProjectPlace, ToolError, parse_for};
use crate::web::AppState;
use crate::web::error::Problem;

/// Beyond this many messages, or this share of the context, an agent is about to compact (GoClaw's).
const FLUSH_MESSAGES: i32 = 50;
const FLUSH_CONTEXT_USED: f64 = 0.85;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SessionMessagesRequest {
    /// Messages in chronological order. The formats of other APIs and frameworks are accepted too (docs/clients.md);
    /// `skipped` lists messages that are not stored.
    #[schemars(with = "Vec<SentMessage>", length(min = 1, max = MESSAGES_A_REQUEST_MAX))]
    #[serde(deserialize_with = "list")]
    messages: Vec<Value>,
    /// The current project: its name, or its repository and folder as {"repository": …, "folder": …}.
    project: Option<ProjectPlace>,
    /// Used share of the model's context window, 0 to 1. From 0.85 on, the response advises a flush.
    #[schemars(range(min = 0, max = 1))]
    context_used: Option<f64>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the published shape; `sessions::shapes` reads it and others")]
struct SentMessage {
    /// Your own id of the message. A message with a known id is a duplicate.
    #[schemars(length(min = 1, max = EXTERNAL_ID_CHARS_MAX))]
    id: String,
    /// Role of the author.
    #[schemars(with = "MessageRole")]
    role: String,
    /// Text of the message. Optional for an assistant message with tool calls.
    #[schemars(length(max = MESSAGE_CHARS_MAX))]
    content: Option<String>,
    /// Tool calls of an assistant message.
    #[schemars(length(max = TOOL_CALLS_A_MESSAGE_MAX))]
    tool_calls: Option<Vec<SentToolCall>>,
    /// For a tool message: id of the call that it answers.
    #[schemars(length(min = 1, max = EXTERNAL_ID_CHARS_MAX))]
    tool_call_id: Option<String>,
    /// When the message was written. Default: now.
    #[schemars(extend("format" = "date-time"))]
    created_at: Option<String>,
}

/// A tool call in the format of OpenAI (`function`), or with `name` and `arguments` at the top level.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "see `SentMessage`")]
struct SentToolCall {
    #[schemars(length(min = 1, max = EXTERNAL_ID_CHARS_MAX))]
    id: Option<String>,
    #[schemars(length(max = TOOL_NAME_CHARS_MAX))]
    name: Option<String>,
    arguments: Option<SentArguments>,
    function: Option<SentFunction>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "see `SentMessage`")]
struct SentFunction {
    #[schemars(length(max = TOOL_NAME_CHARS_MAX))]
    name: Option<String>,
    arguments: Option<SentArguments>,
}

/// JSON as a string, or a JSON object.
#[derive(JsonSchema)]
#[schemars(extend("type" = ["string", "object"], "maxLength" = TOOL_ARGUMENTS_CHARS_MAX))]
#[expect(dead_code, reason = "see `SentMessage`")]
struct SentArguments(Value);

/// A list, one message, or either as text.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    let sent = Value::deserialize(deserializer)?;
    let read = match &sent {
        Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        _ => sent,
    };
    match read {
        Value::Array(messages) => Ok(messages),
        Value::Object(_) => Ok(vec![read]),
        _ => Err(D::Error::invalid_type(
            serde::de::Unexpected::Other("a value"),
            &"an array of messages",
        )),
    }
}

/// JSON in which half of a surrogate pair is U+FFFD: a program that cuts its texts cannot help sending one.
fn with_whole_characters(json: &[u8]) -> Cow<'_, [u8]> {
    let escape = |at: usize| {
        let hex = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(hex).ok()?, 16).ok()
    };
    let (mut whole, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(next) = json[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        at += match escape(at) {
            Some(0xD800..0xDC00) if matches!(escape(at + 6), Some(0xDC00..0xE000)) => 12,
            Some(0xD800..0xE000) => {
                whole.extend_from_slice(&json[from..at]);
                whole.extend_from_slice(b"\\ufffd");
                from = at + 6;
                6
            }
            _ => 2,
        };
        if at >= json.len() {
            break;
        }
    }
    match from {
        0 => Cow::Borrowed(json),
        _ => {
            whole.extend_from_slice(&json[from..]);
            Cow::Owned(whole)
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionCompletedRequest {
    /// Your summary of the session, such as the one that you keep when you compact the context.
    #[schemars(length(max = SUMMARY_CHARS_MAX))]
    summary: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct SessionMessagesResponse {
    /// Number of messages that were stored now.
    accepted: usize,
    /// Number of messages that were stored before; they are unchanged.
    duplicates: usize,
    /// Messages that were not stored, with the reason. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedMessage>,
    /// Flush before the context is compacted: there are more than 50 messages since the last flush, or context_used is at least 0.85.
    flush_advised: bool,
    /// Possible secrets in the messages. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<SecretWarning>,
}

pub async fn add(
    access: AgentAccess,
    State(state): State<AppState>,
    name: InPath,
    request: Request,
) -> Result<Json<SessionMessagesResponse>, Problem> {
    check_access(&access, Scope::SessionsWrite)?;
    let name = SessionName::parse(&text_of(name))?;
    let (parts, body) = request.into_parts();
    let body = read_json_body(&parts.headers, body, BODY_BYTES_MAX).await?;
    let sent: SessionMessagesRequest =
        parse_for("what is sent here", &with_whole_characters(&body))?;
    let used = share("context_used", sent.context_used)?.unwrap_or(0.0);
    let mut messages = NewMessages::read(&sent.messages)?;
    let skipped = std::mem::take(&mut messages.skipped);
    if messages.is_empty() {
        let (accepted, duplicates, flush_advised) = (0, 0, used >= FLUSH_CONTEXT_USED);
        let warnings = Vec::new();
        return Ok(Json(SessionMessagesResponse {
            accepted,
            duplicates,
            skipped,
            flush_advised,
            warnings,
        }));
    }
    let mut project = ProjectPlace::parse(&sent.project)?;
    let address = address(caller(access, &state).await?, name)?;
    let redactor = state.embeddings.redactor();
    if let Some(project) = &mut project {
        let (user, agent, door) = (address.user, Some(address.agent), TextDoor::Conversation);
        redactor.screen(user, agent, door, &mut project.fields()).await?;
    }
    let screened = messages.screen(redactor, address.user, address.agent);
    let warnings = screened.await?;
    let (db, embeddings, now) = (&state.db, &state.embeddings, state.clock.now());
    let added = sessions::add(db, embeddings, &address, messages, project.as_ref(), now).await?;
    Ok(Json(SessionMessagesResponse {
        accepted: added.accepted,
        duplicates: added.duplicates,
        skipped,
        flush_advised: added.unflushed > FLUSH_MESSAGES || used >= FLUSH_CONTEXT_USED,
        warnings,
    }))
}

pub async fn complete(
    access: AgentAccess,
    State(state): State<AppState>,
    name: InPath,
    request: Request,
) -> Result<Json<SessionAnswer>, Problem> {
    let address = known(access, name)?;
    let sent: SessionCompletedRequest = read_json(request, BODY_BYTES_MAX, b"{}").await?;
    let summary =
        sent.summary.as_deref().map(|summary| required_text("summary", summary, SUMMARY_CHARS_MAX));
    // What is private as a whole is no summary.
    let summary = summary.transpose()?.map(without_private);
    let summary = summary.filter(|summary| !summary.trim().is_empty());
    let mut summary = summary.map(Cow::into_owned);
    if let Some(summary) = &mut summary {
        screen(&state, &address, ("summary", summary)).await?;
    }
    let summary = summary.as_deref();
    let session = sessions::complete(&state.db, &address, summary, state.clock.now()).await?;
    // If the session was read already, its episode is replaced.
    let is_read = session.extraction.as_ref().is_some_and(|row| row.ended_at.is_some());
    if let Some(summary) = summary.filter(|_| is_read) {
        let (db, user) = (&state.db, address.user);
        let told = episodes::retell(db, &state.embeddings, user, session.id, summary).await;
        told.map_err(ToolError::from)?;
    }
    Ok(Json(session.into()))
}

/// Screens what an agent says of its session, which refuses nothing.
pub(super) async fn screen(
    state: &AppState,
    address: &Address,
    text: (&str, &mut String),
) -> Result<(), Problem> {
    let redactor = state.embeddings.redactor();
    let (user, agent) = (address.user, Some(address.agent));
    let screened = redactor.screen_text(user, agent, TextDoor::Conversation, text);
    screened.await?;
    Ok(())
}

pub(super) fn share(field: &'static str, number: Option<f64>) -> Result<Option<f64>, Invalid> {
    match number {
        Some(number) if !(0.0..=1.0).contains(&number) => {
            let sentence = format!("`{field}` is a number from 0 to 1.");
            Err(Invalid::new(field, "out_of_range", sentence))
        }
        number => Ok(number),
    }
}

pub async fn show(
    access: AgentAccess,
    State(state): State<AppState>,
    name: InPath,
) -> Result<Json<SessionAnswer>, Problem> {
    let address = known(access, name)?;
    let session = sessions::find(&state.db, &address).await?;
    Ok(Json(session.into()))
}

#[derive(Deserialize, JsonSchema)]
pub struct MessagesQuery {
    /// Return messages after this position.
    #[schemars(with = "i32", range(min = 0, max = i32::MAX), extend("default" = 0), example = 0)]
    after: Option<String>,
    /// Maximum number of messages. Long messages reduce it.
    #[schemars(with = "i32", range(min = 1, max = PAGE_MAX), extend("default" = PAGE_DEFAULT), example = 100)]
    limit: Option<String>,
}

pub async fn messages(
    access: AgentAccess,
    State(state): State<AppState>,
    name: InPath,
    params: Result<Query<MessagesQuery>, QueryRejection>,
) -> Result<Json<SessionMessages>, Problem> {
    let address = known(access, name)?;
    let Query(params) = params.map_err(|_| out_of_range("limit", 1, PAGE_MAX))?;
    let after = number("after", params.after, 0, i64::from(i32::MAX))?.unwrap_or(0);
    let limit = number("limit", params.limit, 1, PAGE_MAX)?.unwrap_or(PAGE_DEFAULT);
    let (messages, has_more) = sessions::messages(&state.db, &address, after as i32, limit).await?;
    let last = messages.last().map(|message| message.position);
    Ok(Json(SessionMessages { next_after: last.filter(|_| has_more), messages }))
}

fn number(
    field: &'static str,
    text: Option<String>,
    least: i64,
    most: i64,
) -> Result<Option<i64>, Invalid> {
    let Some(text) = text else {
        return Ok(None);
    };
    let number = text.parse().ok().filter(|n| (least..=most).contains(n));
    number.map(Some).ok_or_else(|| out_of_range(field, least, most))
}

fn out_of_range(field: &'static str, least: i64, most: i64) -> Invalid {
    let sentence = format!("`{field}` is out of range; give {least} to {most}, once.");
    Invalid::new(field, "out_of_range", sentence)
}

/// The session, for requests that create nothing: a user who does not exist yet has no sessions.
pub(super) fn known(access: AgentAccess, name: InPath) -> Result<Address, Problem> {
    check_access(&access, Scope::SessionsWrite)?;
    let name = SessionName::parse(&text_of(name))?;
    match access.acting_for {
        ActingFor::User(viewer) => address(viewer, name),
        ActingFor::NewUser(_) => Err(SessionError::NotFound.into()),
    }
}

fn address(viewer: Viewer, name: SessionName) -> Result<Address, Problem> {
    let agent = viewer.agent_id.ok_or_else(|| {
        Problem::new(
            StatusCode::FORBIDDEN,
            "agent_needed",
            "Only an agent has sessions; send an agent's token.",
        )
    })?;
    Ok(Address { user: viewer.user_id, agent, name })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionAnswer {
    external_id: String,
    state: SessionState,
    /// Number of messages.
    #[schemars(range(min = 0))]
    message_count: i32,
    /// Number of messages since the last completion.
    #[schemars(range(min = 0))]
    new_count: i32,
    created_at: JsonTime,
    last_message_at: JsonTime,
    /// Null while the session is open.
    completed_at: Option<JsonTime>,
    completed_why: Option<CompletionReason>,
    /// Name of the session's project; null if none.
    project: Option<String>,
    extraction: ExtractionAnswer,
}

/// State of memory extraction: the latest entry of the session's ledger.
#[derive(Default, Serialize, JsonSchema)]
struct ExtractionAnswer {
    /// Null before the first extraction; pending until it ends; nothing: nothing was worth storing.
    outcome: Option<ExtractionOutcome>,
    /// Why the extraction failed or was skipped.
    reason: Option<String>,
    /// Position of the first message that it covers.
    first_position: Option<i32>,
    /// Position of the last message that it covers.
    last_position: Option<i32>,
    #[serde(flatten)]
    counts: ExtractionCounts,
    /// No chat model was used. Only explicit statements were stored.
    fallback: bool,
    /// Number of attempts; skipped ones do not count.
    #[schemars(range(min = 0))]
    attempts: i32,
    /// Time of the next attempt.
    next_try_at: Option<JsonTime>,
    /// The chat model that was used.
    model: Option<String>,
    /// When the last attempt ended.
    ended_at: Option<JsonTime>,
}

impl From<AgentSession> for SessionAnswer {
    fn from(session: AgentSession) -> Self {
        let completed = session.completed;
        Self {
            external_id: session.external_id,
            state: session.state,
            message_count: session.message_count,
            new_count: session.message_count - session.ledger_position,
            created_at: JsonTime(session.created_at),
            last_message_at: JsonTime(session.last_message_at),
            completed_at: completed.map(|(at, _)| JsonTime(at)),
            completed_why: completed.map(|(_, why)| why),
            project: session.project,
            extraction: session.extraction.map(Into::into).unwrap_or_default(),
        }
    }
}

impl From<SessionExtraction> for ExtractionAnswer {
    fn from(row: SessionExtraction) -> Self {
        Self {
            outcome: Some(row.outcome),
            reason: row.reason,
            first_position: Some(row.first_position),
            last_position: Some(row.last_position),
            counts: row.counts,
            fallback: row.is_fallback,
            attempts: row.attempts,
            next_try_at: row.next_try_at.map(JsonTime),
            model: row.model,
            ended_at: row.ended_at.map(JsonTime),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct SessionMessages {
    messages: Vec<StoredMessage>,
    /// `after` of the next page; null on the last page.
    next_after: Option<i32>,
}
