//! The REST endpoints of sessions: an agent sends messages, completes the session, and asks for the results.
//! It reaches only its own sessions: those of another agent, even of the same user, do not exist for it.

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::tools::{check_content_type, read_body};
use crate::accounts::{ActingFor, AgentAccess, Scope, Viewer};
use crate::consolidation::episodes::{self, SUMMARY_CHARS_MAX};
use crate::input::{Invalid, required_text};
use crate::sessions::{
    self, Address, Extraction, Message, NewMessages, PAGE_DEFAULT, PAGE_MAX, RawMessage, Session,
    SessionError, SessionName, ToolCall,
};
use crate::tools::{ToolError, parse_for};
use crate::web::AppState;
use crate::web::error::Problem;

/// Beyond this many messages, or this share of the context, an agent is about to compact (GoClaw's).
const FLUSH_MESSAGES: i32 = 50;
const FLUSH_CONTEXT_USED: f64 = 0.85;

pub(super) type Named = Result<Path<String>, PathRejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessagesIn {
    messages: Vec<MessageIn>,
    /// Of the model's context, 0 to 1.
    context_used: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageIn {
    id: String,
    role: String,
    content: Option<String>,
    tool_calls: Option<Vec<ToolCallIn>>,
    tool_call_id: Option<String>,
    created_at: Option<String>,
}

/// As OpenAI has it, with a `function` and a `type`, or plain.
#[derive(Deserialize)]
struct ToolCallIn {
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Value>,
    function: Option<FunctionIn>,
}

#[derive(Deserialize)]
struct FunctionIn {
    name: Option<String>,
    arguments: Option<Value>,
}

impl ToolCallIn {
    fn into_call(self) -> ToolCall {
        let function = self.function.unwrap_or(FunctionIn {
            name: self.name,
            arguments: self.arguments,
        });
        ToolCall {
            id: self.id,
            name: function.name.unwrap_or_default(),
            arguments: match function.arguments {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text,
                Some(other) => other.to_string(),
            },
        }
    }
}

impl MessageIn {
    fn into_raw(self, at: usize) -> Result<RawMessage, Invalid> {
        let created_at = self.created_at.map(|text| moment(at, &text)).transpose()?;
        let calls = self.tool_calls.unwrap_or_default().into_iter();
        Ok(RawMessage {
            id: self.id,
            role: self.role,
            content: self.content,
            tool_calls: calls.map(ToolCallIn::into_call).collect(),
            tool_call_id: self.tool_call_id,
            created_at,
        })
    }
}

fn moment(at: usize, text: &str) -> Result<OffsetDateTime, Invalid> {
    OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
        let field = format!("messages[{at}].created_at");
        let sentence =
            format!("`{field}` is no date; write it as 2026-11-21T15:04:05Z, or leave it out.");
        Invalid::new(field, "invalid_date", sentence)
    })
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletedIn {
    /// What it was about, in the agent's own words.
    summary: Option<String>,
}

#[derive(Serialize)]
pub struct AddedOut {
    accepted: usize,
    duplicates: usize,
    /// What was said is much, or the context nearly full: flush before it is compacted.
    flush_advised: bool,
}

pub async fn add(
    access: AgentAccess,
    State(state): State<AppState>,
    name: Named,
    request: Request,
) -> Result<Json<AddedOut>, Problem> {
    check_access(&access)?;
    let name = parse_name(name)?;
    let (parts, body) = request.into_parts();
    let body = read_body(body).await?;
    check_content_type(&parts.headers, &body)?;
    let sent: MessagesIn = parse_for("what is sent here", &body)?;
    let used = share("context_used", sent.context_used)?.unwrap_or(0.0);
    let raw = sent.messages.into_iter().enumerate();
    let raw = raw.map(|(at, message)| message.into_raw(at));
    let messages = NewMessages::parse(raw.collect::<Result<_, _>>()?)?;
    let viewer = match access.acting_for {
        ActingFor::User(viewer) => viewer,
        // As for tools: only a call that passed all checks creates a user.
        ActingFor::NewUser(user) => {
            let made = state.accounts.make_user(&user).await?;
            made.map_err(ToolError::from)?
        }
    };
    let address = address(viewer, name)?;
    let added = sessions::add(&state.db, &address, &messages, state.clock.now()).await?;
    Ok(Json(AddedOut {
        accepted: added.accepted,
        duplicates: added.duplicates,
        flush_advised: added.unflushed > FLUSH_MESSAGES || used >= FLUSH_CONTEXT_USED,
    }))
}

pub async fn complete(
    access: AgentAccess,
    State(state): State<AppState>,
    name: Named,
    request: Request,
) -> Result<Json<SessionOut>, Problem> {
    let address = known(access, name)?;
    let (parts, body) = request.into_parts();
    let body = read_body(body).await?;
    // The body may be empty.
    let sent: CompletedIn = match body.is_empty() {
        true => CompletedIn::default(),
        false => {
            check_content_type(&parts.headers, &body)?;
            parse_for("what is sent here", &body)?
        }
    };
    let summary = sent
        .summary
        .as_deref()
        .map(|summary| required_text("summary", summary, SUMMARY_CHARS_MAX));
    let summary = summary.transpose()?;
    let session = sessions::complete(&state.db, &address, summary, state.clock.now()).await?;
    // If the session was read already, its episode is replaced.
    let is_read = session
        .extraction
        .as_ref()
        .is_some_and(|row| row.ended_at.is_some());
    if let Some(summary) = summary.filter(|_| is_read) {
        let (db, user) = (&state.db, address.user);
        let told = episodes::retell(db, &state.embeddings, user, session.id, summary).await;
        told.map_err(ToolError::from)?;
    }
    Ok(Json(SessionOut::of(session)))
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
    name: Named,
) -> Result<Json<SessionOut>, Problem> {
    let address = known(access, name)?;
    let session = sessions::find(&state.db, &address).await?;
    Ok(Json(SessionOut::of(session)))
}

#[derive(Deserialize)]
pub struct PageParams {
    after: Option<String>,
    limit: Option<String>,
}

pub async fn messages(
    access: AgentAccess,
    State(state): State<AppState>,
    name: Named,
    params: Result<Query<PageParams>, QueryRejection>,
) -> Result<Json<MessagesOut>, Problem> {
    let address = known(access, name)?;
    let Query(params) = params.map_err(|_| out_of_range("limit", 1, PAGE_MAX))?;
    let after = number("after", params.after, 0, i64::from(i32::MAX))?.unwrap_or(0);
    let limit = number("limit", params.limit, 1, PAGE_MAX)?.unwrap_or(PAGE_DEFAULT);
    let (messages, has_more) = sessions::messages(&state.db, &address, after as i32, limit).await?;
    let last = messages.last().map(|message| message.position);
    Ok(Json(MessagesOut {
        next_after: last.filter(|_| has_more),
        messages: messages.into_iter().map(MessageOut::of).collect(),
    }))
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
    number
        .map(Some)
        .ok_or_else(|| out_of_range(field, least, most))
}

fn out_of_range(field: &'static str, least: i64, most: i64) -> Invalid {
    let sentence = format!("`{field}` is out of range; give {least} to {most}, once.");
    Invalid::new(field, "out_of_range", sentence)
}

/// The same checks and messages as for a tool that writes.
fn check_access(access: &AgentAccess) -> Result<(), ToolError> {
    if let Some(of) = access.memory_off {
        return Err(ToolError::MemoryOff(of));
    }
    if !access.scopes.contains(&Scope::SessionsWrite) {
        return Err(ToolError::MissingScope(Scope::SessionsWrite));
    }
    Ok(())
}

fn parse_name(name: Named) -> Result<SessionName, Invalid> {
    // A name that is not valid Unicode is as invalid as an empty one.
    let name = name.map_or_else(|_| String::new(), |Path(name)| name);
    SessionName::parse(&name)
}

/// The session, for requests that create nothing: a user who does not exist yet has no sessions.
pub(super) fn known(access: AgentAccess, name: Named) -> Result<Address, Problem> {
    check_access(&access)?;
    let name = parse_name(name)?;
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
    Ok(Address {
        user: viewer.user_id,
        agent,
        name,
    })
}

#[derive(Serialize)]
pub struct SessionOut {
    external_id: String,
    state: &'static str,
    message_count: i32,
    /// Not in the ledger yet: they will be with the next completion.
    new_count: i32,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    last_message_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339::option")]
    completed_at: Option<OffsetDateTime>,
    completed_why: Option<&'static str>,
    extraction: ExtractionOut,
}

/// Nothing in it, but null, before the first completion.
#[derive(Default, Serialize)]
pub struct ExtractionOut {
    outcome: Option<&'static str>,
    reason: Option<String>,
    first_position: Option<i32>,
    last_position: Option<i32>,
    stored: i32,
    merged: i32,
    superseded: i32,
    malformed: i32,
    skipped_chars: i64,
    fallback: bool,
    attempts: i32,
    #[serde(with = "time::serde::rfc3339::option")]
    next_try_at: Option<OffsetDateTime>,
    model: Option<String>,
    tokens_in: i64,
    tokens_out: i64,
    duration_ms: i64,
    #[serde(with = "time::serde::rfc3339::option")]
    ended_at: Option<OffsetDateTime>,
}

impl SessionOut {
    fn of(session: Session) -> Self {
        let completed = session.completed;
        Self {
            external_id: session.external_id,
            state: session.state.as_str(),
            message_count: session.message_count,
            new_count: session.message_count - session.ledger_position,
            created_at: session.created_at,
            last_message_at: session.last_message_at,
            completed_at: completed.map(|(at, _)| at),
            completed_why: completed.map(|(_, why)| why.as_str()),
            extraction: session
                .extraction
                .map(ExtractionOut::of)
                .unwrap_or_default(),
        }
    }
}

impl ExtractionOut {
    fn of(row: Extraction) -> Self {
        Self {
            outcome: Some(row.outcome.as_str()),
            reason: row.reason,
            first_position: Some(row.first_position),
            last_position: Some(row.last_position),
            stored: row.counts.stored,
            merged: row.counts.merged,
            superseded: row.counts.superseded,
            malformed: row.counts.malformed,
            skipped_chars: row.counts.skipped_chars,
            fallback: row.is_fallback,
            attempts: row.attempts,
            next_try_at: row.next_try_at,
            model: row.model,
            tokens_in: row.counts.tokens_in,
            tokens_out: row.counts.tokens_out,
            duration_ms: row.counts.duration_ms,
            ended_at: row.ended_at,
        }
    }
}

#[derive(Serialize)]
pub struct MessagesOut {
    messages: Vec<MessageOut>,
    /// `after` of the next page; null when this was the last.
    next_after: Option<i32>,
}

#[derive(Serialize)]
pub struct MessageOut {
    position: i32,
    id: String,
    role: &'static str,
    content: String,
    tool_calls: Vec<ToolCall>,
    tool_call_id: Option<String>,
    #[serde(with = "time::serde::rfc3339::option")]
    created_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339")]
    received_at: OffsetDateTime,
}

impl MessageOut {
    fn of(message: Message) -> Self {
        Self {
            position: message.position,
            id: message.external_id,
            role: message.role.as_str(),
            content: message.content,
            tool_calls: message.tool_calls,
            tool_call_id: message.tool_call_id,
            created_at: message.sent_at,
            received_at: message.created_at,
        }
    }
}
