//! Contents of a message: texts, and blocks of the kinds that providers and frameworks have.

use serde_json::{Map, Value};

use crate::sessions::ToolCall;

/// Blocks with what somebody said. In a person's message, others have what a page or a search brought, and leave their kind alone.
const SAID: [&str; 9] = [
    "",
    "text",
    "input_text",
    "output_text",
    "plain_text",
    "multimodal_text",
    "user_prompt",
    "refusal",
    "cache",
];
/// Blocks within blocks.
const DEPTH_MAX: usize = 6;
/// Characters of a file's name or of an unknown block's kind in a mark.
const NAME_CHARS_MAX: usize = 80;

#[derive(Default)]
pub(super) struct Parts {
    pub texts: Vec<String>,
    pub calls: Vec<ToolCall>,
    /// Each with the id of the call that it answers.
    pub results: Vec<(Option<String>, String)>,
    pub has_thought: bool,
    /// They stand in a message of the person.
    pub is_persons: bool,
}

impl Parts {
    pub fn add(&mut self, content: &Value) {
        self.add_at(content, 0);
    }

    fn add_at(&mut self, content: &Value, depth: usize) {
        match content {
            Value::String(text) if !text.is_empty() => self.texts.push(text.clone()),
            Value::Array(all) if depth < DEPTH_MAX => {
                all.iter().for_each(|one| self.add_at(one, depth + 1));
            }
            Value::Object(block) if depth < DEPTH_MAX => self.add_block(block, depth + 1),
            Value::Number(_) | Value::Bool(_) => self.texts.push(content.to_string()),
            _ => {}
        }
    }

    fn add_block(&mut self, block: &Map<String, Value>, depth: usize) {
        let kind = text(block, &["type", "block_type", "content_type", "part_kind", "kind"])
            .unwrap_or_default();
        let kind = kind.to_lowercase().replace('-', "_");
        let is_thought = block.get("thought") == Some(&Value::Bool(true));
        if is_thought
            || kind.contains("thinking")
            || kind.starts_with("reasoning")
            || block.contains_key("reasoningContent")
        {
            self.has_thought = true;
            return;
        }
        // Bedrock and Gemini name a block by its only member.
        let member = |names: &[&str]| names.iter().find_map(|name| block.get(*name)?.as_object());
        if let Some(call) = member(&["toolUse", "functionCall", "function_call", "toolInvocation"])
        {
            self.add_call(call);
            return;
        }
        if let Some(result) = member(&["toolResult", "functionResponse", "function_response"]) {
            self.add_result(result);
            return;
        }
        match kind.as_str() {
            "system_prompt" => {}
            "tool_result"
            | "tool_return"
            | "retry_prompt"
            | "function_call_output"
            | "custom_tool_call_output" => self.add_result(block),
            _ if kind.ends_with("_tool_result") => self.add_result(block),
            "tool_use" | "server_tool_use" | "mcp_tool_use" | "tool_call" | "function_call"
            | "function" => {
                self.calls.extend(call_of(block));
            }
            // The Vercel AI SDK: "tool-weather", with its result once it is there.
            "dynamic_tool" => self.add_call(block),
            _ if kind.starts_with("tool_") && block.contains_key("toolCallId") => {
                let mut call = block.clone();
                call.entry("toolName").or_insert_with(|| kind["tool_".len()..].into());
                self.add_call(&call);
            }
            _ => self.add_said(block, &kind, depth),
        }
    }

    fn add_said(&mut self, block: &Map<String, Value>, kind: &str, depth: usize) {
        let inner = [
            "text",
            "content",
            "citationsContent",
            "parts",
            "refusal",
            "transcript",
            "code",
            "output",
        ];
        if let Some(mark) = mark_of(block, kind) {
            let media = ["mediaType", "mimeType", "mime_type", "media_type", "mimetype"];
            let inner = [
                "source",
                "file",
                "inlineData",
                "inline_data",
                "fileData",
                "file_data",
                "document",
                "metadata",
            ];
            let layers = || {
                [block]
                    .into_iter()
                    .chain(inner.iter().filter_map(|name| block.get(*name)?.as_object()))
            };
            let is_image = layers()
                .any(|layer| text(layer, &media).is_some_and(|media| media.starts_with("image/")));
            let names = ["filename", "file_name", "displayName", "display_name", "title", "name"];
            let name = layers().find_map(|layer| text(layer, &names));
            let name = name.map(|name| format!(" {}", shortened(&name))).unwrap_or_default();
            self.texts.push(match (mark, is_image) {
                ("file", false) => format!("[file{name}]"),
                ("file", true) => "[image]".to_owned(),
                _ => format!("[{mark}]"),
            });
            return;
        }
        if self.is_persons && !SAID.contains(&kind) {
            self.texts.push(format!("[{}]", shortened(kind)));
            return;
        }
        let code =
            ["executableCode", "codeExecutionResult"].iter().find_map(|name| block.get(*name));
        let said = inner.iter().find_map(|name| block.get(*name).filter(|v| !v.is_null())).or(code);
        match said {
            // OpenAI's assistants: {"text": {"value": "…"}}.
            Some(Value::Object(said)) if said.contains_key("value") => {
                self.add_at(&said["value"], depth)
            }
            Some(said) => self.add_at(said, depth),
            None if block.contains_key("json") => self.texts.push(block["json"].to_string()),
            None if kind.ends_with("search_result") => self.texts.extend(text(block, &["title"])),
            None if kind.starts_with("source") => {}
            None if kind.is_empty() || kind.starts_with("step") || kind.starts_with("data_") => {}
            None => self.texts.push(format!("[{}]", shortened(kind))),
        }
    }

    /// With its result, if that stands beside it.
    pub fn add_call(&mut self, call: &Map<String, Value>) {
        self.calls.extend(call_of(call));
        let is_answered = ["output", "result", "errorText"]
            .iter()
            .any(|name| call.get(*name).is_some_and(|v| !v.is_null()));
        if is_answered {
            self.add_result(call);
        }
    }

    fn add_result(&mut self, block: &Map<String, Value>) {
        let said = ["content", "output", "result", "response", "errorText", "error"];
        let said = said.iter().find_map(|name| block.get(*name).filter(|v| !v.is_null()));
        let id = text(
            block,
            &["tool_use_id", "tool_call_id", "toolCallId", "toolUseId", "call_id", "id"],
        );
        self.results.push((id, said.map(text_in).unwrap_or_default()));
    }
}

/// The word for a picture, sound or file: by a block's kind or its only member.
fn mark_of(block: &Map<String, Value>, kind: &str) -> Option<&'static str> {
    const MARKS: [(&str, &str); 5] = [
        ("image", "image"),
        ("audio", "audio"),
        ("video", "video"),
        ("file", "file"),
        ("document", "file"),
    ];
    const MEMBERS: [(&str, &str); 9] = [
        ("image", "image"),
        ("image_url", "image"),
        ("audio", "audio"),
        ("video", "video"),
        ("document", "file"),
        ("inlineData", "file"),
        ("inline_data", "file"),
        ("fileData", "file"),
        ("file_data", "file"),
    ];
    let of_kind = MARKS.iter().find(|(word, _)| kind.contains(word));
    let of_member = || MEMBERS.iter().find(|(name, _)| block.contains_key(*name));
    of_kind.or_else(of_member).map(|(_, mark)| *mark)
}

/// A call, if the object has its name.
pub(super) fn call_of(call: &Map<String, Value>) -> Option<ToolCall> {
    let inner = ["function", "custom"].iter().find_map(|name| call.get(*name)?.as_object());
    let inner = inner.unwrap_or(call);
    let arguments = ["arguments", "args", "input", "parameters"];
    let arguments = arguments.iter().find_map(|name| inner.get(*name).filter(|v| !v.is_null()));
    Some(ToolCall {
        id: text(
            call,
            &["call_id", "id", "toolCallId", "tool_call_id", "toolUseId", "tool_use_id"],
        ),
        name: text(inner, &["name", "toolName", "tool_name"])?,
        arguments: match arguments {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        },
    })
}

/// What a tool's result says: its texts, or itself as JSON.
pub(super) fn text_in(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Object(object) if object.contains_key("value") && object.contains_key("type") => {
            text_in(&object["value"])
        }
        // Gemini's.
        Value::Object(object)
            if object.len() == 1
                && ["output", "error", "result"]
                    .iter()
                    .any(|name| object.get(*name).is_some_and(Value::is_string)) =>
        {
            object.values().next().map(text_in).unwrap_or_default()
        }
        Value::Object(object) if !object.contains_key("type") && !object.contains_key("text") => {
            value.to_string()
        }
        _ => {
            let mut parts = Parts::default();
            parts.add(value);
            match parts.texts.is_empty() {
                true => value.to_string(),
                false => parts.texts.join("\n"),
            }
        }
    }
}

fn text(block: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match block.get(*name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && !"[]<>".contains(*c)).take(NAME_CHARS_MAX).collect()
}
