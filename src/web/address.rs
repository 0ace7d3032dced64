//! Refuses tokens in the URL of an API request, since URLs are kept in logs and histories. Even a valid token
//! is refused, so that nobody comes to rely on it.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::Problem;
use super::{AppState, mcp};
use crate::accounts::Token;

const TOKEN_KEYS: [&str; 2] = ["token", "access_token"];

pub async fn refuse_tokens(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if !has_token(request.uri().query().unwrap_or_default()) {
        return next.run(request).await;
    }
    let detail = format!(
        "A token must not stand in an address, where logs and histories keep it: send it as `Authorization: Bearer ks_…`, \
         and revoke this one at {}/agents.",
        state.public_url.as_str()
    );
    let problem = Problem::new(StatusCode::BAD_REQUEST, "token_in_address", detail);
    if mcp::is_path(request.uri().path()) {
        return mcp::Refusal::from(problem).into_response();
    }
    problem.into_response()
}

fn has_token(query: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes()).any(|(key, value)| {
        let is_key = TOKEN_KEYS.iter().any(|name| key.eq_ignore_ascii_case(name));
        is_key || [key, value].iter().any(|text| Token::is_like(text))
    })
}
