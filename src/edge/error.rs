//! Maps errors to responses, in one table, and logs them once, here. Domain errors are small enums; an API
//! endpoint answers `application/problem+json` (RFC 9457) with a stable `code`, and a page shows the same
//! sentence beside its form.
//!
//! Handlers of the API return [`Problem`]; `?` converts domain errors into it. Nothing here may repeat what
//! the caller sent.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::accounts::{AccountError, TokenRefusal};
use crate::db::actor::ActorRefusal;
use crate::db::{self, constraint_of};
use crate::embedding::EmbeddingError;
use crate::input::{Invalid, sentence};
use crate::memories::feed::CursorError;
use crate::providers::chat::ChatError;
use crate::quota::QuotaError;
use crate::redaction::RedactionError;
use crate::sessions::SessionError;
use crate::tools::ToolError;
use crate::webhooks::WebhookError;

pub const DATABASE_SENTENCE: &str =
    "The database cannot be reached right now; nothing was changed. Try again in a moment.";

const TIMEOUT_SENTENCE: &str = "The database took too long for this and was stopped; nothing was changed. Try again in a moment, or ask for less at once.";

pub fn database_timeout() -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "database_timeout", TIMEOUT_SENTENCE)
}

/// An error response: what is wrong, and what is accepted.
#[derive(Clone, Debug)]
pub struct Problem {
    pub status: StatusCode,
    pub code: &'static str,
    pub detail: String,
    pub field: Option<String>,
    /// When a throttled caller may retry.
    pub wait_s: Option<u64>,
    /// The current state, if it differs from the expected one.
    pub current: Option<Box<Value>>,
}

/// A problem document (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemDocument<'a> {
    /// Always about:blank. `code` identifies the problem.
    #[serde(rename = "type")]
    #[schemars(extend("format" = "uri-reference"))]
    kind: &'static str,
    /// Name of the HTTP status.
    title: &'static str,
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// Stable identifier of the problem for programs.
    #[schemars(regex(pattern = "^[a-z_]+$"))]
    code: &'static str,
    /// One sentence for people: what is wrong, and what is accepted.
    detail: &'a str,
    /// The invalid field or parameter, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    field: Option<&'a str>,
    /// The current state, if it differs from the state that the request expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    current: Option<&'a Value>,
}

/// Retry delay while the server is busy or cannot reach its database.
pub const RETRY_AFTER_S: u64 = 2;
/// Retry delay while too many texts wait for their embedding, or the disk is full.
const PENDING_WAIT_S: u64 = 60;

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), field: None, wait_s: None, current: None }
    }

    pub fn throttled(sentence: &str, wait_s: u64) -> Self {
        Self {
            wait_s: Some(wait_s),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "throttled", sentence)
        }
    }

    /// The value of `Retry-After`, if any.
    pub fn retry_after_s(&self) -> Option<u64> {
        let is_passing = self.status == StatusCode::SERVICE_UNAVAILABLE;
        self.wait_s.or(is_passing.then_some(RETRY_AFTER_S))
    }

    pub fn document(&self) -> Value {
        json!(ProblemDocument {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            field: self.field.as_deref(),
            current: self.current.as_deref(),
        })
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.document())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"keepsake\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            code: invalid.code,
            detail: invalid.sentence,
            field: Some(invalid.field.into_owned()).filter(|f| !f.is_empty()),
            wait_s: None,
            current: None,
        }
    }
}

impl From<ActorRefusal> for Problem {
    fn from(refusal: ActorRefusal) -> Self {
        let status = match refusal {
            ActorRefusal::Unknown
            | ActorRefusal::Revoked
            | ActorRefusal::Expired
            | ActorRefusal::Disabled
            | ActorRefusal::SignedOut => StatusCode::UNAUTHORIZED,
            ActorRefusal::MemoryOffForUser
            | ActorRefusal::MemoryOffForAgent
            | ActorRefusal::NotAdmin
            | ActorRefusal::ReadOnlyBrowser
            | ActorRefusal::ReadOnlyTeam => StatusCode::FORBIDDEN,
        };
        let said = match refusal {
            ActorRefusal::ReadOnlyTeam => refusal.to_string(),
            _ => sentence(&refusal.to_string()),
        };
        Self::new(status, refusal.code(), said)
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        if let Some(refusal) = ActorRefusal::of(&error) {
            return refusal.into();
        }
        log_database_error(&error);
        if db::is_statement_timeout(&error) {
            return database_timeout();
        }
        if db::is_disk_full(&error) {
            return QuotaError::DatabaseDisk.into();
        }
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", DATABASE_SENTENCE)
    }
}

impl From<QuotaError> for Problem {
    fn from(error: QuotaError) -> Self {
        let (said, code) = (error.to_string(), error.code());
        let wait_s = match error {
            QuotaError::Database(error) => return error.into(),
            // Only its person or an admin makes room.
            QuotaError::Storage { .. } => None,
            QuotaError::Disk { .. } | QuotaError::DatabaseDisk => Some(PENDING_WAIT_S),
        };
        Self { wait_s, ..Self::new(StatusCode::INSUFFICIENT_STORAGE, code, sentence(&said)) }
    }
}

impl From<RedactionError> for Problem {
    fn from(error: RedactionError) -> Self {
        ToolError::from(error).into()
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        let code = error.code();
        let status = match error {
            ToolError::Invalid(invalid) => return invalid.into(),
            ToolError::Files { code, words } => {
                let status = match code {
                    "not_found" => StatusCode::NOT_FOUND,
                    _ => StatusCode::CONFLICT,
                };
                return Self::new(status, code, words);
            }
            ToolError::Lent(words) => return Self::new(StatusCode::FORBIDDEN, code, words),
            ToolError::Database(error) => return error.into(),
            ToolError::NotAllowedAnyMore(refusal) => return refusal.into(),
            ToolError::UnknownTool { .. }
            | ToolError::NoSuchItem { .. }
            | ToolError::NoSuchKey
            | ToolError::NoSuchEntity(_)
            | ToolError::NoSuchTheme => StatusCode::NOT_FOUND,
            ToolError::Conflict { .. } => StatusCode::CONFLICT,
            ToolError::Proposed { code, sentence: said, proposal } => {
                let current = json!({ "proposal_id": proposal });
                let problem = Self::new(StatusCode::CONFLICT, code, sentence(&said));
                return Self { current: Some(Box::new(current)), ..problem };
            }
            ToolError::AccountErased => StatusCode::UNAUTHORIZED,
            ToolError::MissingScope(_) | ToolError::MemoryOff(_) | ToolError::TooManyUsers(_) => {
                StatusCode::FORBIDDEN
            }
            ToolError::NotJson(_) => StatusCode::BAD_REQUEST,
            ToolError::Embedding(error) => return error.into(),
            ToolError::Quota(error) => return error.into(),
            ToolError::Output(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, code, sentence(&error.to_string()))
    }
}

/// The answer to a cursor that is too old.
pub fn cursor_expired() -> Problem {
    let said = CursorError::Expired.to_string();
    Problem::new(StatusCode::GONE, "cursor_expired", sentence(&said))
}

impl From<CursorError> for Problem {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::Invalid(invalid) => invalid.into(),
            CursorError::Expired => cursor_expired(),
        }
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        let said = sentence(&error.to_string());
        let (status, code) = match error {
            SessionError::Invalid(invalid) => return invalid.into(),
            SessionError::Quota(error) => return error.into(),
            SessionError::Database(error) => return error.into(),
            SessionError::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            SessionError::Full | SessionError::TooManyCalls => {
                (StatusCode::UNPROCESSABLE_ENTITY, "session_full")
            }
            SessionError::AccountErased => (StatusCode::UNAUTHORIZED, "erased_user"),
        };
        Self::new(status, code, said)
    }
}

impl From<EmbeddingError> for Problem {
    fn from(error: EmbeddingError) -> Self {
        let (said, code) = (error.to_string(), error.code());
        let status = match error {
            EmbeddingError::Invalid(invalid) => return invalid.into(),
            EmbeddingError::Database(error) => return error.into(),
            EmbeddingError::TooManyPending => {
                return Self {
                    wait_s: Some(PENDING_WAIT_S),
                    ..Self::new(StatusCode::TOO_MANY_REQUESTS, code, sentence(&said))
                };
            }
            EmbeddingError::Provider(_) => StatusCode::UNPROCESSABLE_ENTITY,
            EmbeddingError::Seal(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, code, sentence(&said))
    }
}

impl From<ChatError> for Problem {
    fn from(error: ChatError) -> Self {
        let (said, code) = (error.to_string(), error.code());
        let status = match error {
            ChatError::Invalid(invalid) => return invalid.into(),
            ChatError::Database(error) => return error.into(),
            ChatError::CapReached(_) => StatusCode::TOO_MANY_REQUESTS,
            ChatError::NoProvider | ChatError::Provider(_) | ChatError::Seal(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
        };
        Self::new(status, code, sentence(&said))
    }
}

impl From<WebhookError> for Problem {
    fn from(error: WebhookError) -> Self {
        let said = sentence(&error.to_string());
        let (status, code) = match error {
            WebhookError::Invalid(invalid) => return invalid.into(),
            WebhookError::Database(error) => return error.into(),
            WebhookError::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            WebhookError::Full => (StatusCode::UNPROCESSABLE_ENTITY, "too_many_webhooks"),
            WebhookError::Seal(_) => (StatusCode::UNPROCESSABLE_ENTITY, "sealed_secret"),
        };
        Self::new(status, code, said)
    }
}

impl From<TokenRefusal> for Problem {
    fn from(refusal: TokenRefusal) -> Self {
        let unauthorized = |code, detail| Self::new(StatusCode::UNAUTHORIZED, code, detail);
        match refusal {
            TokenRefusal::Unknown => unauthorized("unknown_token", "This token is not known here."),
            TokenRefusal::Expired => unauthorized("expired_token", "This token has expired."),
            TokenRefusal::Revoked => unauthorized("revoked_token", "This token was revoked."),
            TokenRefusal::UserDisabled => unauthorized(
                "disabled_user",
                "The account that this token acts for is disabled; an admin of this server can say why.",
            ),
            TokenRefusal::UserNeeded => Self::new(
                StatusCode::BAD_REQUEST,
                "user_needed",
                "This is a service token: say for which of your users with the header `Keepsake-User`.",
            ),
            TokenRefusal::UserNotAllowed => Self::new(
                StatusCode::BAD_REQUEST,
                "user_not_allowed",
                "This token is an agent's and acts for its one user; leave out the header `Keepsake-User`, or use a service token.",
            ),
        }
    }
}

/// The error for a refused token, with the page where a new one is made.
pub fn token_refused(refusal: TokenRefusal, server: &str) -> Problem {
    let problem = Problem::from(refusal);
    if !refusal.asks_for_a_new_token() {
        return problem;
    }
    let detail = format!("{} Make a new one at {server}/agents.", problem.detail);
    Problem { detail, ..problem }
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        let said = error.to_string();
        match error {
            AccountError::Invalid(invalid) => invalid.into(),
            AccountError::Database(error) => error.into(),
            AccountError::SignUpClosed => {
                Self::new(StatusCode::FORBIDDEN, "sign_up_closed", sentence(&said))
            }
            AccountError::WrongPassword => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong_password", sentence(&said))
            }
            AccountError::InvitationOver => {
                Self::new(StatusCode::NOT_FOUND, "invitation_over", sentence(&said))
            }
            AccountError::ResetLinkOver => {
                Self::new(StatusCode::NOT_FOUND, "reset_link_over", sentence(&said))
            }
            AccountError::Busy => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", sentence(&said))
            }
            AccountError::NotFound => {
                Self::new(StatusCode::NOT_FOUND, "not_found", sentence(&said))
            }
            AccountError::Hash(_) | AccountError::Randomness(_) => {
                tracing::error!(error = said, "an account operation failed");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Try again in a moment.")
            }
        }
    }
}

/// Logs the kind of error and where it occurred; never PostgreSQL's message, which quotes values.
fn log_database_error(error: &sqlx::Error) {
    match error {
        sqlx::Error::Database(e) => tracing::error!(
            sqlstate = e.code().as_deref(),
            constraint = constraint_of(error),
            table = e.table(),
            "PostgreSQL refused a statement"
        ),
        sqlx::Error::PoolTimedOut => tracing::warn!("no database connection became free in time"),
        sqlx::Error::Io(e) => tracing::warn!(error = %e, "the connection to PostgreSQL was lost"),
        other => tracing::error!(kind = %kind(other), "a database call failed"),
    }
}

fn kind(error: &sqlx::Error) -> String {
    let shown = format!("{error:?}");
    shown.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
}

/// For errors that occur before a page can be rendered.
pub fn in_plain_text(problem: Problem) -> Response {
    let retry_after = problem.retry_after_s().unwrap_or_default().to_string();
    let headers = [(header::RETRY_AFTER, retry_after)];
    (problem.status, headers, problem.detail).into_response()
}

pub fn wrong_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "This endpoint does not accept this method; tools are called with POST.",
    )
}
