//! Parses one incoming JSON-RPC message. Its shape is checked here, so that each mistake gets its own
//! message. A tool's arguments are taken out unparsed: the registry parses them, as it does for REST.

use std::collections::BTreeMap;

use axum::body::{Body, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::Response;
use rmcp::model::InitializeRequestParams;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Refusal};
use crate::web::error::Problem;

type Object = BTreeMap<String, Box<RawValue>>;

/// A request's id, unparsed; `null` if there is none.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Id(Option<Box<RawValue>>);

/// rmcp knows whole numbers of 64 bits alone: any other number is put into its answer afterwards.
const STAND_IN: i64 = 1;

impl Id {
    fn is_foreign(&self) -> bool {
        let id = self.0.as_ref().map_or("", |id| id.get());
        !id.is_empty() && !id.starts_with('"') && serde_json::from_str::<i64>(id).is_err()
    }

    /// The answer with this id.
    pub async fn put_into(self, response: Response) -> Response {
        if !self.is_foreign() {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        let answer = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let Ok(mut answer) = serde_json::from_slice::<Object>(&answer) else {
            return Response::from_parts(parts, Body::from(answer));
        };
        answer.extend(self.0.map(|id| ("id".to_owned(), id)));
        parts.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(parts, Body::from(serde_json::to_vec(&answer).unwrap_or_default()))
    }
}

pub struct Message {
    pub id: Id,
    /// The whole message without the tool's arguments.
    pub envelope: Vec<u8>,
    /// JSON text; `None` unless a tool is called with arguments.
    pub arguments: Option<Box<RawValue>>,
}

impl Message {
    pub fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let mut message = parse_object(body)?;
        let id = id_of(&message)?;
        if id.is_foreign() {
            message.insert("id".to_owned(), raw(&STAND_IN)?);
        }
        if message.get("params").is_some_and(|params| params.get() == "null") {
            message.remove("params");
        }
        let refuse = |code, problem_code, sentence: &str| Refusal {
            id: id.clone(),
            code,
            problem: Problem::new(StatusCode::BAD_REQUEST, problem_code, sentence),
        };
        if text(&message, "jsonrpc").as_deref() != Some("2.0") {
            return Err(refuse(INVALID_REQUEST, "invalid_message", "`jsonrpc` must be \"2.0\"."));
        }
        let is_answer = message.contains_key("result") || message.contains_key("error");
        let method = match text(&message, "method") {
            Some(method) => method,
            None if is_answer => String::new(),
            None => {
                return Err(refuse(
                    INVALID_REQUEST,
                    "invalid_message",
                    "`method` must be the name of a method, such as tools/call.",
                ));
            }
        };
        let is_notification = method.starts_with("notifications/");
        if id.0.is_none() && !is_answer && !is_notification {
            return Err(refuse(
                INVALID_REQUEST,
                "invalid_message",
                "`id` is missing; a request without one would get no answer.",
            ));
        }
        if method == "initialize" && !names_version(&message) {
            return Err(refuse(
                INVALID_PARAMS,
                "invalid_params",
                "`params.protocolVersion` must be a version such as \"2025-11-25\", beside `capabilities` and `clientInfo`.",
            ));
        }
        let mut arguments = None;
        if let Some(params) = message.get_mut("params") {
            let mut object: Object = serde_json::from_str(params.get()).map_err(|_| {
                refuse(INVALID_PARAMS, "invalid_params", "`params` must be a JSON object.")
            })?;
            if method == "tools/call" {
                arguments = object.remove("arguments").filter(|given| given.get() != "null");
                if text(&object, "name").is_none() {
                    return Err(refuse(
                        INVALID_PARAMS,
                        "invalid_params",
                        "`params.name` must be the name of a tool; tools/list lists them.",
                    ));
                }
                *params = raw(&object)?;
            }
        } else if method == "tools/call" {
            return Err(refuse(
                INVALID_PARAMS,
                "invalid_params",
                "`params` is missing; give the `name` of a tool and its `arguments`.",
            ));
        }
        let envelope = raw(&message)?.get().as_bytes().to_vec();
        Ok(Self { id, envelope, arguments })
    }
}

fn parse_object(body: &[u8]) -> Result<Object, Refusal> {
    let refuse = |code, problem_code, sentence: String| Refusal {
        id: Id::default(),
        code,
        problem: Problem::new(StatusCode::BAD_REQUEST, problem_code, sentence),
    };
    let not_json = |sentence| refuse(PARSE_ERROR, "invalid_json", sentence);
    let body =
        str::from_utf8(body).map_err(|_| not_json("The body is not valid UTF-8.".to_owned()))?;
    if body.trim_start().starts_with('[') {
        return Err(refuse(
            INVALID_REQUEST,
            "batch",
            "Batches are not taken; send each message in a request of its own.".to_owned(),
        ));
    }
    serde_json::from_str(body).map_err(|error| {
        if error.is_data() {
            let sentence = "The body must be one JSON-RPC message, a JSON object.".to_owned();
            return refuse(INVALID_REQUEST, "invalid_message", sentence);
        }
        not_json(format!(
            "The body is not valid JSON (line {}, column {}).",
            error.line(),
            error.column()
        ))
    })
}

/// A string or a number: with anything else, rmcp would take the request for a notification and not
/// answer.
fn id_of(message: &Object) -> Result<Id, Refusal> {
    let Some(id) = message.get("id") else {
        return Ok(Id::default());
    };
    // It is JSON: a number is what begins as one.
    let is_number = id.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if is_number || text(message, "id").is_some() {
        return Ok(Id(Some(id.clone())));
    }
    Err(Refusal {
        id: Id::default(),
        code: INVALID_REQUEST,
        problem: Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_message",
            "`id` must be a string or a number.",
        ),
    })
}

/// rmcp treats an invalid `initialize` as an unknown method.
fn names_version(message: &Object) -> bool {
    let params = message.get("params").map(|params| params.get());
    params.is_some_and(|params| serde_json::from_str::<InitializeRequestParams>(params).is_ok())
}

fn text(object: &Object, key: &str) -> Option<String> {
    serde_json::from_str(object.get(key)?.get()).ok()
}

fn raw(object: &impl Serialize) -> Result<Box<RawValue>, Refusal> {
    serde_json::value::to_raw_value(object).map_err(|_| {
        let sentence = "The message could not be read.";
        Problem::new(StatusCode::BAD_REQUEST, "invalid_message", sentence).into()
    })
}
