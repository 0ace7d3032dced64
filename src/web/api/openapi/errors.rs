//! The errors that a program can get: status, condition, and the sentences, taken from the code that creates
//! them, so that they cannot differ.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::super::tools::{BODY_BYTES_MAX, body_too_large, encoded_body, not_json_type};
use crate::accounts::{MemoryOff, Scope, TokenRefusal, TooManyUsers};
use crate::embedding::EmbeddingError;
use crate::memories::proposals::ProposalReason;
use crate::memories::{ItemId, MemoryError};
use crate::quota::QuotaError;
use crate::search::{RawQuery, SearchQuery};
use crate::tools::{NOT_AN_OBJECT, ToolError};
use crate::web::calls::too_many_calls;
use crate::web::error::{
    DATABASE_SENTENCE, Problem, cursor_expired, database_timeout, token_refused, wrong_method,
};

const ERROR_MEDIA_TYPE: &str = "application/problem+json";

pub struct ErrorAnswer {
    pub status: u16,
    /// The component's name in the document.
    pub name: &'static str,
    pub when: &'static str,
    pub examples: Vec<Problem>,
}

impl ErrorAnswer {
    fn new(name: &'static str, when: &'static str, examples: Vec<Problem>) -> Self {
        Self { status: examples.first().map_or(0, |p| p.status.as_u16()), name, when, examples }
    }

    pub fn title(&self) -> &'static str {
        let problem = self.examples.first();
        problem.and_then(|p| p.status.canonical_reason()).unwrap_or("Error")
    }

    pub(super) fn response(&self) -> Value {
        let examples = self.examples.iter().map(|problem| {
            let example = json!({ "value": problem.document() });
            (problem.code.to_owned(), example)
        });
        let mut response = json!({
            "description": self.when,
            "content": {
                ERROR_MEDIA_TYPE: {
                    "schema": super::reference("schemas", "Problem"),
                    "examples": Map::from_iter(examples),
                },
            },
        });
        if let Some((name, about, is_required)) = self.header() {
            response["headers"] = json!({ name: { "description": about, "required": is_required, "schema": { "type": "string" } } });
        }
        response
    }

    /// Its name, its meaning, and whether each of these answers has it.
    fn header(&self) -> Option<(&'static str, &'static str, bool)> {
        let waits = self.examples.iter().filter(|p| p.retry_after_s().is_some());
        let (waits, all) = (waits.count(), self.examples.len());
        let (name, about) = match self.status {
            401 => ("WWW-Authenticate", "The accepted authentication scheme: Bearer."),
            405 => ("Allow", "The methods that this path accepts."),
            _ if waits > 0 => ("Retry-After", "Seconds to wait before a retry."),
            _ => return None,
        };
        Some((name, about, waits == 0 || waits == all))
    }
}

/// `server` is the server's address, where tokens are made.
pub fn all(server: &str) -> Vec<ErrorAnswer> {
    let unavailable =
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", DATABASE_SENTENCE);
    vec![
        ErrorAnswer::new(
            "BadRequest",
            "The body is not a JSON object, a service token is sent without the header Keepsake-User, an agent token is sent with it, or the address contains a token.",
            vec![
                ToolError::NotJson(NOT_AN_OBJECT.to_owned()).into(),
                TokenRefusal::UserNeeded.into(),
                TokenRefusal::UserNotAllowed.into(),
            ],
        ),
        ErrorAnswer::new(
            "Unauthorized",
            "The token is missing, malformed, unknown, expired or revoked.",
            vec![
                token_refused(TokenRefusal::Unknown, server),
                token_refused(TokenRefusal::Revoked, server),
            ],
        ),
        ErrorAnswer::new(
            "Forbidden",
            "The token lacks the required scope, memory is switched off, or the operator has reached its limit of users.",
            vec![
                ToolError::MissingScope(Scope::MemoryWrite).into(),
                ToolError::MemoryOff(MemoryOff::Agent).into(),
                ToolError::TooManyUsers(TooManyUsers { users_max: 10_000 }).into(),
            ],
        ),
        ErrorAnswer::new(
            "NotFound",
            "This user has no such item or document, or this agent has no such session.",
            vec![ToolError::NoSuchItem { item_id: 42 }.into()],
        ),
        ErrorAnswer::new(
            "Conflict",
            "The request conflicts with the current state: the item is archived or expired, the user confirmed it (`current` contains the id of the proposal to the user), several items have the key, or the document has changed.",
            vec![
                of_memory(MemoryError::NotActive {
                    id: ItemId(42),
                    superseded_by: Some(ItemId(57)),
                }),
                of_memory(MemoryError::Confirmed { id: ItemId(42) }),
                of_memory(MemoryError::Proposed {
                    id: ItemId(42),
                    proposal: 7,
                    reason: ProposalReason::Locked,
                }),
                of_memory(MemoryError::KeyInThemes { count: 2 }),
            ],
        ),
        ErrorAnswer::new(
            "MethodNotAllowed",
            "The path does not accept this method.",
            vec![wrong_method()],
        ),
        ErrorAnswer::new("Gone", "The cursor has expired.", vec![cursor_expired()]),
        ErrorAnswer::new(
            "PayloadTooLarge",
            "The body exceeds 1 MiB (8 MiB for documents).",
            vec![body_too_large(BODY_BYTES_MAX)],
        ),
        ErrorAnswer::new(
            "UnsupportedMediaType",
            "The body is not JSON, or it is compressed.",
            vec![not_json_type(), encoded_body()],
        ),
        ErrorAnswer::new(
            "UnprocessableContent",
            "A field or parameter is invalid; `field` names it.",
            vec![past_the_limit()],
        ),
        ErrorAnswer::new(
            "TooManyRequests",
            "Too many concurrent calls of this user or operator, or too many pending embeddings on this server.",
            vec![too_many_calls(), EmbeddingError::TooManyPending.into()],
        ),
        ErrorAnswer::new(
            "ServiceUnavailable",
            "The database is unavailable, or the request timed out. Nothing was changed.",
            vec![unavailable, database_timeout()],
        ),
        ErrorAnswer::new(
            "InsufficientStorage",
            "The user's storage limit is reached, or the server's disk is nearly full. Nothing was added. Retry only after data was deleted, an admin raised the limit, or disk space was freed. Reading and deleting still work.",
            vec![
                QuotaError::Storage { used: 4 << 30, limit: 4 << 30 }.into(),
                QuotaError::Disk { free: 512 << 20, floor: 1 << 30 }.into(),
            ],
        ),
    ]
}

fn of_memory(error: MemoryError) -> Problem {
    ToolError::from(error).into()
}

/// The error for a field beyond its limit.
fn past_the_limit() -> Problem {
    let query = RawQuery { limit: Some(500), ..RawQuery::default() };
    match SearchQuery::parse(query) {
        Err(invalid) => invalid.into(),
        Ok(_) => unreachable!("no search gives 500 results"),
    }
}
