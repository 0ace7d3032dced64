//! Requests that wait for a database that does not answer: they are ended and told so, within 8 s. What a response
//! streams, its body, is not cut.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::AppState;
use super::error::{DATABASE_SENTENCE, Problem, in_plain_text};
use crate::tools::guidance;

const PROMPT: &str = "/api/v1/prompt";
const UNKNOWN_SENTENCE: &str = "The database stopped answering, so it is not known whether this was done. Try again in a moment; look first if it must not be done twice.";

/// For programs.
pub async fn end_calls(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let is_prompt = request.uri().path() == PROMPT;
    let problem = unanswered(&request);
    tokio::select! {
        biased;
        response = next.run(request) => response,
        () = state.db.given_up() => match is_prompt {
            true => guidance::UNAVAILABLE.into_response(),
            false => problem.into_response(),
        },
    }
}

/// For people.
pub async fn end_visits(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let problem = unanswered(&request);
    tokio::select! {
        biased;
        response = next.run(request) => response,
        () = state.db.given_up() => in_plain_text(problem),
    }
}

fn unanswered(request: &Request) -> Problem {
    let sentence = match request.method().is_safe() {
        true => DATABASE_SENTENCE,
        false => UNKNOWN_SENTENCE,
    };
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", sentence)
}
