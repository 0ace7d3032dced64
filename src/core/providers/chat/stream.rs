//! An answer that comes in parts although none were asked for: events (`data: …`) or a JSON object a line. The
//! parts are put together to the answer that they are of.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::providers::NotChat;

/// The body as one JSON value.
pub(super) fn whole(body: &[u8]) -> Result<Value, NotChat> {
    let error = match serde_json::from_slice(body) {
        Ok(whole) => return Ok(whole),
        Err(error) => error,
    };
    match events(body) {
        Some(events) => together(&events),
        None if error.is_eof() => Err(NotChat::HalfABody),
        None => Err(NotChat::Shape),
    }
}

/// `None`: these are no parts of an answer.
fn events(body: &[u8]) -> Option<Vec<Value>> {
    let text = std::str::from_utf8(body).ok()?;
    let mut events = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if ["event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field)) {
            continue;
        }
        match line.strip_prefix("data:").unwrap_or(line).trim() {
            "[DONE]" => events.push(json!({ "done": true })),
            data => match serde_json::from_str::<Value>(data) {
                Ok(event) if event.is_object() => events.push(event),
                // Broken off in the middle of a part.
                Err(error) if error.is_eof() && !events.is_empty() => break,
                _ => return None,
            },
        }
    }
    (!events.is_empty()).then_some(events)
}

/// In OpenAI's form, with what else the last parts said.
fn together(events: &[Value]) -> Result<Value, NotChat> {
    let mut answer = Map::new();
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut calls: Vec<String> = Vec::new();
    let (mut finish, mut is_done) = (Value::Null, false);
    for event in events {
        // The whole answer at the end of OpenAI's responses, and the beginning of Anthropic's.
        for (name, value) in [&event["response"], &event["message"], event]
            .into_iter()
            .filter_map(Value::as_object)
            .flatten()
        {
            if !["choices", "message", "delta", "type", "content"].contains(&name.as_str()) {
                merge(answer.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        let choice = &event["choices"][0];
        for part in [&choice["delta"], &choice["message"], &event["message"], &event["delta"]] {
            for (name, value) in part.as_object().into_iter().flatten() {
                let name = match name.as_str() {
                    "text" => "content",
                    "tool_calls" => {
                        append_calls(&mut calls, value);
                        continue;
                    }
                    "partial_json" => {
                        let at = event["index"].as_u64().unwrap_or_default();
                        append(&mut calls, at, value.as_str().unwrap_or_default());
                        continue;
                    }
                    "stop_reason" if value.is_string() => {
                        finish = value.clone();
                        continue;
                    }
                    "content" | "reasoning_content" | "reasoning" | "thinking" => name,
                    _ => continue,
                };
                if let Some(text) = value.as_str() {
                    texts.entry(name).or_default().push_str(text);
                }
            }
        }
        if choice["finish_reason"].is_string() {
            finish = choice["finish_reason"].clone();
        }
        let ends = ["message_stop", "response.completed", "response.incomplete"];
        is_done |= event["done"] == true
            || !finish.is_null()
            || ends.iter().any(|end| event["type"] == *end);
    }
    if answer.get("error").is_some_and(|error| !error.is_null()) {
        return Ok(Value::Object(answer));
    }
    if !is_done {
        return Err(NotChat::HalfABody);
    }
    if !answer.contains_key("output") {
        let mut message = json!(texts);
        let calls = calls.into_iter().map(|text| json!({ "function": { "arguments": text } }));
        message["tool_calls"] = calls.collect();
        let choice = json!({ "message": message, "finish_reason": finish });
        answer.insert("choices".to_owned(), json!([choice]));
    }
    Ok(Value::Object(answer))
}

/// The newer value, and of objects what both have.
fn merge(known: &mut Value, newer: &Value) {
    match (known, newer) {
        (Value::Object(known), Value::Object(newer)) => known.extend(newer.clone()),
        (_, Value::Null) => {}
        (known, newer) => known.clone_from(newer),
    }
}

fn append_calls(calls: &mut Vec<String>, parts: &Value) {
    for (n, part) in parts.as_array().into_iter().flatten().enumerate() {
        let at = part["index"].as_u64().unwrap_or(n as u64);
        match &part["function"]["arguments"] {
            Value::String(text) => append(calls, at, text),
            arguments @ Value::Object(_) => append(calls, at, &arguments.to_string()),
            _ => {}
        }
    }
}

/// Calls of one answer; more are not read.
const CALLS_MAX: u64 = 64;

fn append(calls: &mut Vec<String>, at: u64, text: &str) {
    if at < CALLS_MAX {
        let at = at as usize;
        if calls.len() <= at {
            calls.resize(at + 1, String::new());
        }
        calls[at].push_str(text);
    }
}
