//! The text of a model's message: servers and models put it into different fields. A reasoning is no answer,
//! unless it contains the JSON that was asked for.

use serde_json::Value;

use crate::providers::{NotChat, ProviderError};

/// JSON is looked for behind this many braces of a text.
const BRACES_MAX: usize = 64;
/// Parts within parts.
const DEPTH_MAX: usize = 8;

/// The texts of a message by the field that they stand in.
#[derive(Default)]
pub(super) struct Said {
    /// `None`: there is no such field.
    content: Option<String>,
    /// Arguments of a function, a parsed answer: JSON where there is any.
    others: Vec<String>,
    reasoning: Vec<String>,
}

impl Said {
    pub(super) fn of(message: &Value) -> Self {
        let mut said = Self::default();
        for name in ["content", "parts", "output", "text", "output_text", "response"] {
            said.add(&message[name], 0);
        }
        if message["parsed"].is_object() {
            said.others.push(message["parsed"].to_string());
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        for call in calls.chain([message]) {
            for function in [&call["function"], &call["function_call"]] {
                said.others.extend(as_text(&function["arguments"]));
            }
        }
        for name in ["reasoning_content", "reasoning", "thinking"] {
            said.reasoning.extend(message[name].as_str().map(str::to_owned));
        }
        if let Some((before, call)) = said.content.as_deref().and_then(called_in) {
            (said.content, said.others) = (Some(before), [vec![call], said.others].concat());
        }
        said
    }

    /// A text, a list of its parts, or an object with one of them.
    fn add(&mut self, content: &Value, depth: usize) {
        if depth == DEPTH_MAX {
            return;
        }
        match content {
            Value::String(text) => self.content.get_or_insert_default().push_str(text),
            Value::Array(parts) => {
                self.content.get_or_insert_default();
                parts.iter().for_each(|part| self.add(part, depth + 1));
            }
            Value::Object(part) => match part.get("type").and_then(Value::as_str) {
                Some("thinking" | "reasoning" | "redacted_thinking") => {
                    let mut thought = Self::default();
                    for name in ["thinking", "text", "summary", "content"] {
                        thought.add(&content[name], depth + 1);
                    }
                    self.reasoning.extend(thought.content);
                }
                Some("tool_use") => self.others.extend(as_text(&content["input"])),
                Some("function_call") => self.others.extend(as_text(&content["arguments"])),
                _ if content["thought"] == true => {
                    self.reasoning.extend(as_text(&content["text"]));
                }
                _ => {
                    for name in ["text", "content", "parts"] {
                        self.add(&content[name], depth + 1);
                    }
                    if content["functionCall"].is_object() {
                        self.others.extend(as_text(&content["functionCall"]["args"]));
                    }
                }
            },
            _ => {}
        }
    }

    pub(super) fn has_reasoned(&self) -> bool {
        let is_thought = self.content.as_deref().is_some_and(|text| text.contains("</think>"));
        is_thought || self.reasoning.iter().any(|text| !text.trim().is_empty())
    }

    /// The answer. With a schema the text that has its JSON, without one the first that is not empty.
    pub(super) fn text(
        self,
        schema: Option<&Value>,
        is_cut_off: bool,
    ) -> Result<String, ProviderError> {
        let content = self.content.as_deref().unwrap_or_default();
        if let Some(schema) = schema
            && json_in(content, schema).is_none()
        {
            let mut others = self.others.iter();
            let found = others.find_map(|text| json_in(text, schema));
            let thought = || {
                let mut thoughts = self.reasoning.iter().filter(|_| !content.contains(['{', '[']));
                thoughts.find_map(|text| json_in(text, schema))
            };
            if let Some(json) = found.or_else(thought) {
                return Ok(json);
            }
        }
        let is_said = |text: &&String| !text.trim().is_empty();
        let first = self.content.iter().chain(&self.others).find(is_said);
        match (first, &self.content) {
            (Some(text), _) => Ok(text.clone()),
            // A reasoning model may use up its tokens before it answers.
            (None, _) if is_cut_off => Ok(String::new()),
            (None, _) if self.has_reasoned() => Err(ProviderError::NoAnswer),
            (None, Some(_)) => Ok(String::new()),
            (None, None) => Err(ProviderError::NotChat(NotChat::NoText)),
        }
    }
}

/// A text as it is, an object as JSON.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The arguments of the call that a model wrote into its text, `<tool_call>{"arguments": …}</tool_call>`, and
/// what stands before it.
fn called_in(text: &str) -> Option<(String, String)> {
    let (before, call) = text.split_once("<tool_call>")?;
    let call: Value = serde_json::Deserializer::from_str(call).into_iter().next()?.ok()?;
    let arguments = ["arguments", "parameters"].iter().find_map(|name| as_text(&call[*name]));
    Some((before.to_owned(), arguments.unwrap_or_else(|| call.to_string())))
}

/// The last JSON object of a text that has all that the schema requires: a model's drafts come first.
fn json_in(text: &str, schema: &Value) -> Option<String> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (mut found, mut from) = (None, 0);
    for _ in 0..BRACES_MAX {
        let Some(at) = text[from..].find('{').map(|at| from + at) else {
            break;
        };
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        from = at + 1;
        if let Some(Ok(Value::Object(object))) = values.next() {
            let end = at + values.byte_offset();
            if required.iter().all(|name| object.contains_key(*name)) {
                found = Some(text[at..end].to_owned());
                from = end;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_read_wherever_it_stands() {
        let schema = json!({ "required": ["city"] });
        const CITY: &str = "{\"city\":\"Paris\"}";
        let draft = "Perhaps {\"city\":\"Lyon\"}? No: {\"city\":\"Paris\"}.";
        for message in [
            json!({ "content": CITY }),
            json!({ "content": [{ "type": "text", "text": CITY }] }),
            json!({ "content": ["{\"city\":", "\"Paris\"}"] }),
            json!({ "content": { "text": CITY } }),
            json!({ "content": null, "parsed": { "city": "Paris" } }),
            json!({ "content": "Here it is.", "parsed": { "city": "Paris" } }),
            json!({ "content": "", "reasoning_content": draft }),
            json!({ "content": null, "reasoning": draft }),
            json!({ "reasoning_content": "{\"a\": 1}", "content": CITY }),
            json!({ "content": null, "tool_calls": [{ "function": { "name": "answer", "arguments": CITY } }] }),
            json!({ "content": "", "tool_calls": [{ "function": { "arguments": { "city": "Paris" } } }] }),
            json!({ "content": null, "function_call": { "arguments": CITY } }),
            json!({ "content": [{ "type": "thinking", "thinking": "France…" }, { "type": "tool_use", "input": { "city": "Paris" } }] }),
            json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "France…" }] }, { "type": "text", "text": CITY }] }),
            json!({ "parts": [{ "text": "France…", "thought": true }, { "text": CITY }] }),
            json!({ "output": [{ "type": "reasoning", "summary": [] }, { "type": "message", "content": [{ "type": "output_text", "text": CITY }] }] }),
            json!({ "text": CITY }),
            json!({ "content": "<tool_call>\n{\"name\":\"answer\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>" }),
        ] {
            let text = Said::of(&message).text(Some(&schema), false);
            assert_eq!(text.as_deref(), Ok(CITY), "{message}");
        }
    }

    #[test]
    fn a_reasoning_alone_is_no_answer() {
        let schema = json!({ "required": ["city"] });
        for (message, asks_json, expected) in [
            (json!({ "reasoning": "Paris, I think." }), true, Err(ProviderError::NoAnswer)),
            (
                json!({ "content": "", "reasoning": "{\"a\":1}" }),
                true,
                Err(ProviderError::NoAnswer),
            ),
            (
                json!({ "content": null, "reasoning": "{\"city\":\"Paris\"}" }),
                false,
                Err(ProviderError::NoAnswer),
            ),
            (json!({ "content": "" }), true, Ok("")),
            (json!({ "content": null }), true, Err(ProviderError::NotChat(NotChat::NoText))),
            (json!({ "content": "Paris.", "reasoning": "France…" }), false, Ok("Paris.")),
            (json!({ "content": "[1]", "reasoning": "{\"city\":\"Lyon\"}" }), true, Ok("[1]")),
        ] {
            let text = Said::of(&message).text(asks_json.then_some(&schema), false);
            assert_eq!(text.as_deref(), expected.as_ref().map(|text| *text), "{message}");
        }
    }
}
