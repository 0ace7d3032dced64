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
            401 => ("WWW-Authenticate", "Which scheme is taken: Bearer."),
            405 => ("Allow", "The methods that this path takes."),
            _ if waits > 0 => ("Retry-After", "Seconds after which to try again."),
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
            "The body is no JSON object, a service token does not say for whom it acts, or a token stands in the address.",
            vec![
                ToolError::NotJson(NOT_AN_OBJECT.to_owned()).into(),
                TokenRefusal::UserNeeded.into(),
                TokenRefusal::UserNotAllowed.into(),
            ],
        ),
        ErrorAnswer::new(
            "Unauthorized",
            "The token is missing, mistyped, unknown, expired or revoked.",
            vec![
                token_refused(TokenRefusal::Unknown, server),
                token_refused(TokenRefusal::Revoked, server),
            ],
        ),
        ErrorAnswer::new(
            "Forbidden",
            "The token is not for this, memory is switched off, or the operator has as many users as it may.",
            vec![
                ToolError::MissingScope(Scope::MemoryWrite).into(),
                ToolError::MemoryOff(MemoryOff::Agent).into(),
                ToolError::TooManyUsers(TooManyUsers { users_max: 10_000 }).into(),
            ],
        ),
        ErrorAnswer::new(
            "NotFound",
            "There is no such item in this user's memory, or no such session of this agent.",
            vec![ToolError::NoSuchItem { item_id: 42 }.into()],
        ),
        ErrorAnswer::new(
            "Conflict",
            "What is asked for does not go with what is there: the item is archived or has expired, the user has confirmed it (`current` names the proposal that waits for them), or several items have the key.",
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
            "The path does not take this method.",
            vec![wrong_method()],
        ),
        ErrorAnswer::new("Gone", "The cursor is too old to go on from.", vec![cursor_expired()]),
        ErrorAnswer::new(
            "PayloadTooLarge",
            "The body is over 1 MiB.",
            vec![body_too_large(BODY_BYTES_MAX)],
        ),
        ErrorAnswer::new(
            "UnsupportedMediaType",
            "The body is not JSON, or compressed.",
            vec![not_json_type(), encoded_body()],
        ),
        ErrorAnswer::new(
            "UnprocessableContent",
            "A field or a parameter is not what is accepted; `field` names it.",
            vec![past_the_limit()],
        ),
        ErrorAnswer::new(
            "TooManyRequests",
            "More calls of this user or operator are under way than may be, or more is waiting for its vectors than this server takes on.",
            vec![too_many_calls(), EmbeddingError::TooManyPending.into()],
        ),
        ErrorAnswer::new(
            "ServiceUnavailable",
            "The database cannot be reached, or took too long; nothing was changed.",
            vec![unavailable, database_timeout()],
        ),
        ErrorAnswer::new(
            "InsufficientStorage",
            "There is no room: the user's storage limit is reached, and trying again is of no use until something is deleted or an admin raises it; or the server's disk is nearly full. Nothing was added; reading and deleting go on.",
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
