//! Errors of the endpoints, as RFC 6749 and RFC 7591 shape them.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::accounts::AccountError;
use crate::accounts::oauth::{GrantRefusal, MetadataRefusal};
use crate::input::sentence;
use crate::web::error::Problem;

pub struct OauthError {
    status: StatusCode,
    code: &'static str,
    description: String,
    wait_s: Option<u64>,
}

impl OauthError {
    pub fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code,
            description: description.into(),
            wait_s: None,
        }
    }
}

impl From<Problem> for OauthError {
    fn from(problem: Problem) -> Self {
        let code = match problem.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                "temporarily_unavailable"
            }
            _ => "invalid_request",
        };
        Self {
            wait_s: problem.retry_after_s(),
            status: problem.status,
            code,
            description: problem.detail,
        }
    }
}

impl From<AccountError> for OauthError {
    fn from(error: AccountError) -> Self {
        Problem::from(error).into()
    }
}

impl From<MetadataRefusal> for OauthError {
    fn from(refusal: MetadataRefusal) -> Self {
        Self::new(refusal.code(), sentence(refusal.sentence()))
    }
}

impl From<GrantRefusal> for OauthError {
    fn from(refusal: GrantRefusal) -> Self {
        let description = match refusal {
            GrantRefusal::Invalid => {
                "It is unknown, expired, revoked or of another client, or does not fit its request."
            }
            GrantRefusal::Replayed => {
                "It was used before, so the connection was revoked; ask the person again."
            }
        };
        Self::new("invalid_grant", description)
    }
}

impl IntoResponse for OauthError {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.code, "error_description": self.description });
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.wait_s {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
