//! Reads a message as a program has it: in our own shape, in those of OpenAI (chat, Responses), Anthropic, Gemini and Bedrock, of
//! LangChain, LlamaIndex and the Vercel AI SDK, or of an export. Texts, calls and results are kept, pictures and files leave a
//! mark, thinking is dropped. Nothing here fails but for a message that is none, that nobody known said, or that has no id.

mod blocks;
mod moments;

use std::collections::HashSet;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use self::blocks::{Parts, text_in};
use super::message::{
    EXTERNAL_ID_CHARS_MAX, MESSAGE_CHARS_MAX, MESSAGES_A_REQUEST_MAX, MessageRole, NewMessage,
    NewMessages, SkippedMessage, TOOL_ARGUMENTS_CHARS_MAX, TOOL_CALLS_A_MESSAGE_MAX,
    TOOL_NAME_CHARS_MAX, ToolCall,
};
use crate::input::Invalid;
use crate::texts::is_blank;

/// Ends a text of which the rest is not kept.
const CUT: &str = "\n[cut]";

/// With the results of tools that stand in other messages.
const PARTS_A_REQUEST_MAX: usize = 2_000;
const TOO_MANY_PARTS: &str = "The request has too many parts: send it again with fewer messages.";

const NO_OBJECT: &str = "It is not a JSON object.";
const NO_ID: &str = "It has no `id`: give your own id of the message, by which it is kept once.";
const NO_ROLE: &str = "Its `role` is not known: give user, assistant or tool.";
const SYSTEM: &str = "System messages are not kept.";
const THINKING: &str = "Thinking is not kept.";
const SILENT: &str = "It says nothing.";

impl NewMessages {
    /// Reads what programs send. What is no message that can be kept is left out, and told.
    ///
    /// # Errors
    /// [`Invalid`] for none, or too many.
    pub fn read(sent: &[Value]) -> Result<Self, Invalid> {
        if sent.is_empty() || sent.len() > MESSAGES_A_REQUEST_MAX {
            return Err(Invalid::new(
                "messages",
                if sent.is_empty() { "required" } else { "too_many" },
                format!(
                    "`messages` has {} entries; give 1 to {MESSAGES_A_REQUEST_MAX} messages.",
                    sent.len()
                ),
            ));
        }
        let mut known = HashSet::with_capacity(sent.len());
        let mut all = Self { messages: Vec::new(), repeated: 0, skipped: Vec::new() };
        for (index, entry) in sent.iter().enumerate() {
            match read(entry) {
                Ok(messages) if all.messages.len() + messages.len() > PARTS_A_REQUEST_MAX => {
                    all.skipped.push(SkippedMessage { index, why: TOO_MANY_PARTS });
                }
                Ok(messages) => {
                    for message in messages {
                        match known.insert(message.external_id.clone()) {
                            true => all.messages.push(message),
                            false => all.repeated += 1,
                        }
                    }
                }
                Err(why) => all.skipped.push(SkippedMessage { index, why }),
            }
        }
        Ok(all)
    }
}

/// The messages of one entry, usually one: results of tools that stand in another's message become messages of their own.
/// `Err`: why it is not kept.
fn read(entry: &Value) -> Result<Vec<NewMessage>, &'static str> {
    let fields = EntryLayers::of(entry).ok_or(NO_OBJECT)?;
    let role = match fields.speaker() {
        Some(Speaker::Of(role)) => role,
        Some(Speaker::System) => return Err(SYSTEM),
        Some(Speaker::Thinking) => return Err(THINKING),
        None => return Err(NO_ROLE),
    };
    let mut parts = fields.parts(role);
    let call_id = fields.text(&["tool_call_id", "toolCallId", "call_id", "tool_use_id"]);
    let id = fields.text(&["id", "uuid", "message_id", "messageId", "_id"]).or_else(|| {
        let call = call_id.as_ref()?;
        Some(if role == MessageRole::Tool { format!("{call}#result") } else { call.clone() })
    });
    let id = id.ok_or(NO_ID)?;
    if role == MessageRole::Tool && parts.results.is_empty() {
        parts.results.push((call_id, std::mem::take(&mut parts.texts).join("\n")));
    }
    let sent_at = fields
        .value(&["created_at", "createdAt", "timestamp", "create_time", "time", "date", "ts"])
        .and_then(moments::moment);
    let new = |id: String, role, content: String| NewMessage {
        external_id: bounded_id(id),
        role,
        content: cut(content, MESSAGE_CHARS_MAX),
        tool_calls: Vec::new(),
        tool_call_id: None,
        sent_at,
    };
    let text = parts.texts.join("\n").replace('\0', "");
    let is_silent = is_blank(&text) && (parts.calls.is_empty() || role != MessageRole::Assistant);
    let is_only = is_silent && parts.results.len() == 1;
    let results = parts.results.into_iter().enumerate().map(|(n, (call, content))| {
        let own = match (is_only, &call) {
            (true, _) => id.clone(),
            (false, Some(call)) => format!("{id}#{call}"),
            (false, None) => format!("{id}#{n}"),
        };
        let answered = call.map(bounded_id);
        NewMessage { tool_call_id: answered, ..new(own, MessageRole::Tool, content) }
    });
    let mut messages: Vec<NewMessage> = results.collect();
    if !is_silent {
        let calls: Vec<ToolCall> = match role {
            MessageRole::Assistant => parts.calls.into_iter().map(bounded_call).collect(),
            _ => Vec::new(),
        };
        let mut chunks = calls.chunks(TOOL_CALLS_A_MESSAGE_MAX);
        let first = chunks.next().unwrap_or_default().to_vec();
        let mut own = vec![NewMessage { tool_calls: first, ..new(id.clone(), role, text) }];
        own.extend(chunks.enumerate().map(|(n, calls)| NewMessage {
            tool_calls: calls.to_vec(),
            ..new(format!("{id}#calls{n}"), role, String::new())
        }));
        // An assistant calls before it is answered; a person's message brings the answers first.
        match role {
            MessageRole::Assistant => messages.splice(0..0, own).for_each(drop),
            _ => messages.append(&mut own),
        }
    }
    match messages.is_empty() {
        true if parts.has_thought => Err(THINKING),
        true => Err(SILENT),
        false => Ok(messages),
    }
}

enum Speaker {
    Of(MessageRole),
    System,
    Thinking,
}

/// An object, and those around it that say more of the same message.
struct EntryLayers<'v> {
    /// The innermost first.
    layers: Vec<&'v Map<String, Value>>,
    /// What LangChain and LlamaIndex keep as the provider wrote it.
    more: Option<&'v Map<String, Value>>,
}

impl<'v> EntryLayers<'v> {
    fn of(entry: &'v Value) -> Option<Self> {
        let mut layers = vec![entry.as_object()?];
        for _ in 0..2 {
            // Of a message that has a role, "data" is what a tool or a page brought.
            if layers[0].contains_key("role") {
                break;
            }
            let inner = ["message", "kwargs", "data"]
                .iter()
                .find_map(|name| layers[0].get(*name)?.as_object());
            let Some(inner) = inner else { break };
            layers.insert(0, inner);
        }
        let more = layers[0].get("additional_kwargs").and_then(Value::as_object);
        Some(Self { layers, more })
    }

    fn all(&self) -> impl Iterator<Item = &'v Map<String, Value>> {
        self.layers.iter().copied().chain(self.more)
    }

    fn value(&self, names: &[&str]) -> Option<&'v Value> {
        self.all().find_map(|layer| {
            names.iter().find_map(|name| layer.get(*name).filter(|v| !v.is_null()))
        })
    }

    /// A text that is not empty, or a number.
    fn text(&self, names: &[&str]) -> Option<String> {
        let is_given = |value: &Value| match value {
            Value::String(text) if !is_blank(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        self.all().find_map(|layer| names.iter().find_map(|name| is_given(layer.get(*name)?)))
    }

    /// As the outermost that knows says.
    fn speaker(&self) -> Option<Speaker> {
        self.layers.iter().rev().find_map(|layer| {
            let text = |name| layer.get(name).and_then(Value::as_str);
            let author = layer.get("author").and_then(|author| author.get("role")?.as_str());
            // LangChain writes a path: ["langchain", "schema", "messages", "HumanMessage"].
            let path = layer.get("id").and_then(|id| id.as_array()?.last()?.as_str());
            let words = [text("role"), author, text("sender"), text("type"), text("kind"), path];
            words.into_iter().flatten().find_map(speaker_of)
        })
    }

    fn parts(&self, role: MessageRole) -> Parts {
        let mut parts = Parts { is_persons: role == MessageRole::User, ..Parts::default() };
        let is_filled =
            |value: &&Value| !value.as_array().is_some_and(Vec::is_empty) && *value != "";
        let whole = ["parts", "blocks", "content", "content_blocks", "text"];
        let content = whole.iter().find_map(|name| self.value(&[name]).filter(is_filled));
        let answer = || match role {
            MessageRole::Tool => self.value(&["output", "result", "response"]),
            _ => None,
        };
        match content.or_else(answer) {
            Some(content) if role == MessageRole::Tool && !content.is_array() => {
                parts.texts.push(text_in(content));
            }
            Some(content) => parts.add(content),
            // An item that is a call itself.
            None if role == MessageRole::Assistant && self.value(&["role"]).is_none() => {
                self.layers.iter().for_each(|layer| parts.add_call(layer));
            }
            None => {}
        }
        if parts.texts.is_empty()
            && let Some(refusal) = self.value(&["refusal"])
        {
            parts.texts.push(text_in(refusal));
        }
        let given = ["tool_calls", "toolCalls", "toolInvocations", "function_call"];
        let calls = given.iter().find_map(|name| self.value(&[name]).filter(is_filled));
        match calls {
            // Some have them in the content as well.
            _ if !parts.calls.is_empty() => {}
            Some(Value::Array(calls)) => {
                calls.iter().filter_map(Value::as_object).for_each(|call| parts.add_call(call));
            }
            Some(call) => call.as_object().into_iter().for_each(|call| parts.add_call(call)),
            None => {}
        }
        if self.value(&["images"]).and_then(Value::as_array).is_some_and(|all| !all.is_empty()) {
            parts.texts.push("[image]".to_owned());
        }
        parts
    }
}

fn speaker_of(word: &str) -> Option<Speaker> {
    let word = word.to_lowercase();
    let word = word.trim_end_matches("chunk").trim_end_matches("message");
    Some(match word {
        "user" | "human" | "request" => Speaker::Of(MessageRole::User),
        "assistant" | "model" | "ai" | "bot" | "chatbot" | "function_call" | "custom_tool_call"
        | "tool_use" | "tool_call" | "mcp_call" | "response" => Speaker::Of(MessageRole::Assistant),
        "tool"
        | "function"
        | "ipython"
        | "tool_result"
        | "function_call_output"
        | "custom_tool_call_output" => Speaker::Of(MessageRole::Tool),
        "system" | "developer" => Speaker::System,
        "reasoning" | "thinking" => Speaker::Thinking,
        _ => return None,
    })
}

/// Of one that cannot be stored, its beginning and its hash.
fn bounded_id(id: String) -> String {
    const KEPT: usize = 80;
    if id.chars().count() <= EXTERNAL_ID_CHARS_MAX && !id.contains(char::is_control) {
        return id;
    }
    let hash = Sha256::digest(&id);
    let hash: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let kept: String = id.chars().filter(|c| !c.is_control()).take(KEPT).collect();
    format!("{kept}#{hash}")
}

fn bounded_call(call: ToolCall) -> ToolCall {
    let name: String = call.name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let name: String = name.trim().chars().take(TOOL_NAME_CHARS_MAX).collect();
    ToolCall {
        id: call.id.map(bounded_id),
        name: if name.is_empty() { "tool".to_owned() } else { name },
        arguments: cut(call.arguments, TOOL_ARGUMENTS_CHARS_MAX),
    }
}

/// Without NUL, which PostgreSQL cannot store, and not longer than this.
fn cut(text: String, limit_chars: usize) -> String {
    let mut text = if text.contains('\0') { text.replace('\0', "") } else { text };
    if text.char_indices().nth(limit_chars).is_some() {
        let kept = limit_chars - CUT.len();
        let end = text.char_indices().nth(kept).map_or(text.len(), |(end, _)| end);
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests;
