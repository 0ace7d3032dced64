//! The operations of sessions in the OpenAPI document: what an agent sends, and what it gets back. A test
//! makes these calls in this order.

use serde_json::{Map, Value, json};

use super::operations::{Access, Answer, Body, Group, Operation, Parameter};
use crate::accounts::Scope;
use crate::consolidation::episodes::SUMMARY_CHARS_MAX;
use crate::sessions::message::{
    EXTERNAL_ID_CHARS_MAX, MESSAGE_CHARS_MAX, MESSAGES_A_REQUEST_MAX, TOOL_ARGUMENTS_CHARS_MAX,
    TOOL_CALLS_A_MESSAGE_MAX, TOOL_NAME_CHARS_MAX,
};
use crate::sessions::{PAGE_DEFAULT, PAGE_MAX};

const MOMENT: &str = "2026-11-21T08:15:06.789012Z";

pub fn all() -> [Operation; 5] {
    [add(), complete(), flush(), show(), messages()]
}

fn operation(id: &'static str, method: &'static str, below: &str) -> Operation {
    Operation {
        id,
        method,
        path: format!("/api/v1/sessions/{{external_id}}{below}"),
        group: Group::Sessions,
        summary: String::new(),
        description: String::new(),
        access: Access::Scope(Scope::SessionsWrite),
        parameters: vec![Parameter {
            name: "external_id",
            place: "path",
            description: "Your own id of the session. Each agent has its own: another agent's session of the same id is another session.",
            schema: id_schema(),
            example: "chat-7",
        }],
        body: None,
        answers: vec![],
        errors: vec![400, 401, 403, 404, 405, 413, 422, 429, 503],
        links: Map::new(),
    }
}

fn add() -> Operation {
    let example = json!({ "messages": [
        { "id": "m1", "role": "user", "content": "What is in my calendar tomorrow?" },
        { "id": "m2", "role": "assistant", "content": null,
          "tool_calls": [{ "id": "call-1", "type": "function", "function": { "name": "calendar", "arguments": "{\"day\":\"tomorrow\"}" } }] },
        { "id": "m3", "role": "tool", "tool_call_id": "call-1", "content": "9:00 dentist" },
        { "id": "m4", "role": "assistant", "content": "The dentist, at nine." },
    ] });
    Operation {
        summary: "Hand over what was said.".to_owned(),
        description: "Appends messages to a session, which is made by its first. Send them as they happen, one or many \
            at once, in their order. A message whose id is known in the session is a duplicate and changes nothing, even if it \
            says something else now: what was sent without an answer is simply sent again. All of a request is kept \
            or nothing. Messages that come after the completion open the session again, and only they are read for memories then. \
            A session that the agent has left for another, and that has been still for 2 minutes, is completed by this.".to_owned(),
        body: Some(Body {
            name: "SessionMessagesRequest".to_owned(),
            schema: request_schema(),
            is_required: true,
            example,
        }),
        answers: vec![Answer {
            status: 200,
            description: "They are kept. More fields may be added in later versions.",
            media_type: "application/json",
            name: Some("SessionMessagesResponse".to_owned()),
            schema: json!({
                "type": "object",
                "required": ["accepted", "duplicates", "flush_advised"],
                "properties": {
                    "accepted": { "type": "integer", "minimum": 0, "description": "Kept now." },
                    "duplicates": { "type": "integer", "minimum": 0, "description": "Kept before, and left as they were." },
                    "flush_advised": { "type": "boolean", "description": "More than 50 messages since the last flush, or a context_used of 0.85 and more: flush before the context is compacted." },
                },
            }),
            example: json!({ "accepted": 4, "duplicates": 0, "flush_advised": false }),
        }],
        errors: vec![400, 401, 403, 405, 413, 415, 422, 429, 503],
        ..operation("session_add_messages", "POST", "/messages")
    }
}

fn complete() -> Operation {
    let summary = json!({
        "type": ["string", "null"],
        "maxLength": SUMMARY_CHARS_MAX,
        "description": "What it was about, in your own words, such as what you keep of it when you compact your context.",
    });
    Operation {
        summary: "Say that a session has ended.".to_owned(),
        body: Some(Body {
            name: "SessionCompletedRequest".to_owned(),
            schema: json!({ "type": "object", "additionalProperties": false, "properties": { "summary": summary } }),
            is_required: false,
            example: json!({ "summary": "The calendar of tomorrow: the dentist at nine." }),
        }),
        description: "What was said since the last completion is then read for memories, some time later; \
            saying it twice changes nothing. What it was about becomes an episode, which memory_search finds: in the words of `summary`, \
            else of the chat model, else in the most telling sentences. Nobody has to say it: a session that has been still for 30 minutes is completed by itself, \
            and each night after 3:00 UTC one of the day before at its first pause.".to_owned(),
        answers: vec![session_answer("It is complete.")],
        ..operation("session_complete", "POST", "/complete")
    }
}

fn flush() -> Operation {
    let text_or_null = |about: &str| json!({ "type": ["string", "null"], "description": about });
    let item = json!({
        "type": "object",
        "required": ["id", "type", "theme", "content"],
        "properties": { "id": { "type": "integer" }, "type": { "type": "string" }, "theme": { "type": "string" }, "content": { "type": "string", "description": "Its beginning." } },
    });
    let answer = |status, description| Answer {
        status,
        description,
        media_type: "application/json",
        name: Some("FlushResponse".to_owned()),
        schema: json!({
            "type": "object",
            "required": ["state", "message_count", "outcome", "reason", "items", "episode", "note"],
            "properties": {
                "state": { "type": "string", "enum": ["done", "reading"] },
                "message_count": { "type": "integer", "minimum": 0, "description": "Messages of the session that are here." },
                "outcome": text_or_null("stored, nothing, failed or skipped; null while it is read."),
                "reason": text_or_null("Why it failed or was skipped."),
                "items": { "type": "array", "items": item, "description": "What came of the session so far, the newest first." },
                "episode": text_or_null("What its newest stretch was about."),
                "note": text_or_null("The document that what was kept was noted in."),
            },
        }),
        example: json!({
            "state": "done", "message_count": 64, "outcome": "stored", "reason": null,
            "items": [{ "id": 42, "type": "other", "theme": "decisions", "content": "PostgreSQL is used for the boat register." }],
            "episode": "They chose a database for the boat register.", "note": "memory/2026-11-25.md",
        }),
    };
    Operation {
        summary: "Keep what is new of a session before its context is compacted.".to_owned(),
        body: Some(Body {
            name: "FlushRequest".to_owned(),
            schema: json!({ "type": "object", "additionalProperties": false, "properties": {
                "reason": text_or_null("Why; \"compaction\" where nothing is said."),
                "message_count": { "type": ["integer", "null"], "minimum": 0, "description": "Messages, as you count them." },
                "context_used": { "type": ["number", "null"], "minimum": 0, "maximum": 1 },
                "wait": { "type": ["boolean", "null"], "description": "false: answer at once with 202." },
            } }),
            is_required: false,
            example: json!({ "reason": "context compaction", "context_used": 0.9 }),
        }),
        description: "What was said since the last reading is read now, with what was decided and what is to be done (memories of type other that \
            expire), and noted in the document memory/<day>.md. The answer comes when that is done, at most 90 seconds later; then 202, and the \
            reading goes on. Without a chat model, or where it fails, what was said in so many words is kept. The session goes on; doing it again changes nothing.".to_owned(),
        answers: vec![answer(200, "What came of it."), answer(202, "It is being read.")],
        ..operation("session_flush", "POST", "/flush")
    }
}

fn show() -> Operation {
    Operation {
        summary: "What came of a session.".to_owned(),
        description: "Its state, and in `extraction` the newest row of its ledger: how the reading of what was said ended. \
            Each conversation ends as stored, nothing (worth storing), failed (with the next try) or skipped, and `reason` says why.".to_owned(),
        answers: vec![session_answer("The session.")],
        errors: vec![400, 401, 403, 404, 405, 422, 429, 503],
        ..operation("session_get", "GET", "")
    }
}

fn messages() -> Operation {
    let mut messages = operation("session_messages", "GET", "/messages");
    messages.parameters.extend([
        Parameter {
            name: "after",
            place: "query",
            description: "The position before the first message to give.",
            schema: json!({ "type": "integer", "minimum": 0, "maximum": i32::MAX, "default": 0 }),
            example: "0",
        },
        Parameter {
            name: "limit",
            place: "query",
            description: "Messages to give at most; fewer come where they are long.",
            schema: json!({ "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT }),
            example: "100",
        },
    ]);
    Operation {
        summary: "Read a session again.".to_owned(),
        description:
            "The messages of a session as they were kept, oldest first. `arguments` of tool calls are texts."
                .to_owned(),
        answers: vec![Answer {
            status: 200,
            description: "A page of them.",
            media_type: "application/json",
            name: Some("SessionMessages".to_owned()),
            schema: page_schema(),
            example: json!({
                "messages": [{
                    "position": 2,
                    "id": "m2",
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{ "id": "call-1", "name": "calendar", "arguments": "{\"day\":\"tomorrow\"}" }],
                    "tool_call_id": null,
                    "created_at": null,
                    "received_at": MOMENT,
                }],
                "next_after": null,
            }),
        }],
        errors: vec![400, 401, 403, 404, 405, 422, 429, 503],
        ..messages
    }
}

fn id_schema() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": EXTERNAL_ID_CHARS_MAX })
}

fn about(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

fn roles() -> Value {
    json!({ "type": "string", "enum": ["user", "assistant", "tool"] })
}

fn request_schema() -> Value {
    let nullable = |kind: &str| json!({ "type": [kind, "null"] });
    let mut answered = id_schema();
    answered["type"] = json!(["string", "null"]);
    let name = json!({ "type": ["string", "null"], "maxLength": TOOL_NAME_CHARS_MAX });
    let arguments = json!({
        "type": ["string", "object", "null"],
        "maxLength": TOOL_ARGUMENTS_CHARS_MAX,
        "description": "JSON, as a text or as it is.",
    });
    let tool_call = json!({
        "type": "object",
        "description": "As OpenAI has it, or plain, with name and arguments beside the id.",
        "properties": {
            "id": answered,
            "name": name,
            "arguments": arguments,
            "function": {
                "type": ["object", "null"],
                "properties": { "name": name, "arguments": arguments },
            },
        },
    });
    let mut content = nullable("string");
    content["maxLength"] = MESSAGE_CHARS_MAX.into();
    let message = json!({
        "type": "object",
        "required": ["id", "role"],
        "additionalProperties": false,
        "properties": {
            "id": about(id_schema(), "Your own id of the message, by which it is kept once."),
            "role": about(roles(), "Who said it."),
            "content": about(content, "What was said; an assistant that only calls tools says nothing."),
            "tool_calls": {
                "type": ["array", "null"],
                "maxItems": TOOL_CALLS_A_MESSAGE_MAX,
                "items": tool_call,
                "description": "An assistant's calls.",
            },
            "tool_call_id": about(answered, "Of a tool's message: the call that it answers."),
            "created_at": {
                "type": ["string", "null"],
                "format": "date-time",
                "description": "When it was said, if that was not now.",
            },
        },
    });
    json!({
        "type": "object",
        "required": ["messages"],
        "additionalProperties": false,
        "properties": {
            "messages": {
                "type": "array",
                "minItems": 1,
                "maxItems": MESSAGES_A_REQUEST_MAX,
                "items": message,
                "description": "In the order in which they were said.",
            },
            "context_used": { "type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "Of the model's context; the answer advises a flush from 0.85 on." },
        },
    })
}

fn page_schema() -> Value {
    let text_or_null = || json!({ "type": ["string", "null"] });
    let moment = || json!({ "type": "string", "format": "date-time" });
    let tool_call = json!({
        "type": "object",
        "required": ["id", "name", "arguments"],
        "properties": { "id": text_or_null(), "name": { "type": "string" }, "arguments": { "type": "string" } },
    });
    let message = json!({
        "type": "object",
        "required": ["position", "id", "role", "content", "tool_calls", "tool_call_id", "created_at", "received_at"],
        "properties": {
            "position": { "type": "integer", "minimum": 1, "description": "1, 2, … in the order of arrival." },
            "id": { "type": "string", "description": "The sender's." },
            "role": roles(),
            "content": { "type": "string" },
            "tool_calls": { "type": "array", "items": tool_call },
            "tool_call_id": text_or_null(),
            "created_at": { "type": ["string", "null"], "format": "date-time", "description": "As the sender said." },
            "received_at": about(moment(), "When it came in."),
        },
    });
    json!({
        "type": "object",
        "required": ["messages", "next_after"],
        "properties": {
            "messages": { "type": "array", "items": message },
            "next_after": { "type": ["integer", "null"], "description": "`after` of the next page; null where there is none." },
        },
    })
}

fn session_answer(description: &'static str) -> Answer {
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let moment = || json!({ "type": "string", "format": "date-time" });
    let maybe = |kind: &str, about: &str| json!({ "type": [kind, "null"], "description": about });
    let maybe_moment = |about: &str| json!({ "type": ["string", "null"], "format": "date-time", "description": about });
    let extraction = json!({
        "type": "object",
        "description": "Of what was said up to the last completion.",
        "required": ["outcome", "reason", "first_position", "last_position", "stored", "merged", "superseded", "malformed",
                     "skipped_chars", "fallback", "attempts", "next_try_at", "model", "tokens_in", "tokens_out", "duration_ms", "ended_at"],
        "properties": {
            "outcome": {
                "description": "Null before the first completion; pending until it was read.",
                "anyOf": [{ "type": "string", "enum": ["pending", "stored", "nothing", "failed", "skipped"] }, { "type": "null" }],
            },
            "reason": maybe("string", "Why it failed or was skipped."),
            "first_position": maybe("integer", "Of the messages that it is about."),
            "last_position": maybe("integer", "Of the messages that it is about."),
            "stored": count("Memories that were stored."),
            "merged": count("Memories that were there already."),
            "superseded": count("Memories that others took the place of."),
            "malformed": count("Parts of the model's answer that could not be read."),
            "skipped_chars": count("Characters of the middle of a very long session that were not read."),
            "fallback": { "type": "boolean", "description": "No model was there: explicit statements alone were kept." },
            "attempts": count("How often it was begun; what was skipped does not count."),
            "next_try_at": maybe_moment("When it is tried again."),
            "model": maybe("string", "Which model read it."),
            "tokens_in": count("Tokens that were sent to the model."),
            "tokens_out": count("Tokens that it answered."),
            "duration_ms": count("Milliseconds that it took."),
            "ended_at": maybe_moment("When the last attempt ended."),
        },
    });
    let schema = json!({
        "type": "object",
        "required": ["external_id", "state", "message_count", "new_count", "created_at", "last_message_at",
                     "completed_at", "completed_why", "extraction"],
        "properties": {
            "external_id": { "type": "string" },
            "state": { "type": "string", "enum": ["open", "completed"] },
            "message_count": count("All of its messages."),
            "new_count": count("Those since the last completion."),
            "created_at": moment(),
            "last_message_at": moment(),
            "completed_at": maybe_moment("Null while it is open."),
            "completed_why": {
                "description": "asked: by the agent; another: it went on in another session; still: nothing was said for a while; nightly: the night came.",
                "anyOf": [{ "type": "string", "enum": ["asked", "another", "still", "nightly"] }, { "type": "null" }],
            },
            "extraction": extraction,
        },
    });
    let example = json!({
        "external_id": "chat-7",
        "state": "completed",
        "message_count": 4,
        "new_count": 0,
        "created_at": MOMENT,
        "last_message_at": MOMENT,
        "completed_at": MOMENT,
        "completed_why": "asked",
        "extraction": {
            "outcome": "pending", "reason": null, "first_position": 1, "last_position": 4, "stored": 0, "merged": 0,
            "superseded": 0, "malformed": 0, "skipped_chars": 0, "fallback": false, "attempts": 0, "next_try_at": null,
            "model": null, "tokens_in": 0, "tokens_out": 0, "duration_ms": 0, "ended_at": null,
        },
    });
    Answer {
        status: 200,
        description,
        media_type: "application/json",
        name: Some("Session".to_owned()),
        schema,
        example,
    }
}
