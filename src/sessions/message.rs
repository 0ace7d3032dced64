//! Parses incoming messages and names, and enforces every limit. Errors give the place, the field and the
//! limit, never the content.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::{OffsetDateTime, UtcOffset};

use crate::accounts::AgentId;
use crate::db::UserId;
use crate::input::{Invalid, check_text};
use crate::memories::Trust;
use crate::redaction::{RedactionError, Redactor, ScreenedField, SecretWarning, TextDoor};

/// For the sender's ids of sessions, messages and tool calls.
pub const EXTERNAL_ID_CHARS_MAX: usize = 128;
pub const MESSAGE_CHARS_MAX: usize = 100_000;
pub const MESSAGES_A_REQUEST_MAX: usize = 500;
pub const MESSAGES_A_SESSION_MAX: usize = 50_000;
pub const TOOL_CALLS_A_MESSAGE_MAX: usize = 64;
/// Each call costs memory when the session is read, even without arguments.
pub const TOOL_CALLS_A_SESSION_MAX: usize = 16_000;
pub const TOOL_NAME_CHARS_MAX: usize = 128;
pub const TOOL_ARGUMENTS_CHARS_MAX: usize = 100_000;
/// Years that a message's date may have.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=9999;

/// Your own id of the session, compared exactly. Each agent has its own: another agent's session of the same id is another session.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(example = "chat-7")]
pub struct SessionName(#[schemars(length(min = 1, max = EXTERNAL_ID_CHARS_MAX))] String);

impl SessionName {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        check_external_id("external_id", text)?;
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Programs drop `.` and `..` from an address, so that a session of this name could not be opened.
    pub(super) fn check_new(&self) -> Result<(), Invalid> {
        match self.0.as_str() {
            "." | ".." => Err(Invalid::new(
                "external_id",
                "invalid_id",
                "`external_id` cannot be `.` or `..`, which programs drop from an address; nothing was added: give another id.",
            )),
            _ => Ok(()),
        }
    }
}

fn check_external_id(field: &str, text: &str) -> Result<(), Invalid> {
    let length_chars = text.chars().count();
    if (1..=EXTERNAL_ID_CHARS_MAX).contains(&length_chars) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Invalid::new(
        field.to_owned(),
        "invalid_id",
        format!(
            "`{field}` is not an id; give 1 to {EXTERNAL_ID_CHARS_MAX} characters without control characters."
        ),
    ))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    User,
    Assistant,
    Tool,
}

impl MessageRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The trust of a message with this role.
    pub fn trust(self) -> Trust {
        match self {
            Self::User => Trust::User,
            Self::Assistant => Trust::Agent,
            Self::Tool => Trust::Tool,
        }
    }

    /// The column's CHECK allows only known values.
    pub(crate) fn from_column(text: &str) -> Self {
        match text {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            _ => Self::Tool,
        }
    }
}

/// A tool call, as an assistant made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The id that the tool's message refers to.
    pub id: Option<String>,
    pub name: String,
    /// JSON as text, or whatever the model wrote instead.
    pub arguments: String,
}

/// An incoming message, not yet validated.
#[derive(Debug, Default)]
pub struct RawMessage {
    pub id: String,
    pub role: String,
    pub content: Option<String>,
    pub tool_calls: Vec<ToolCall>,
    pub tool_call_id: Option<String>,
    pub created_at: Option<OffsetDateTime>,
}

/// A valid message to be added.
#[derive(Clone, Debug)]
pub struct NewMessage {
    pub(super) external_id: String,
    pub(super) role: MessageRole,
    pub(super) content: String,
    pub(super) tool_calls: Vec<ToolCall>,
    pub(super) tool_call_id: Option<String>,
    pub(super) sent_at: Option<OffsetDateTime>,
}

/// The messages of one request in order; of duplicates the first.
#[derive(Clone, Debug)]
pub struct NewMessages {
    pub(super) messages: Vec<NewMessage>,
    /// Duplicates within the request.
    pub(super) repeated: usize,
}

impl NewMessages {
    /// Of their texts, and of the names and arguments of tool calls.
    pub(super) fn bytes(&self) -> usize {
        let of_calls = |calls: &[ToolCall]| -> usize {
            calls.iter().map(|call| call.name.len() + call.arguments.len()).sum()
        };
        self.messages.iter().map(|m| m.content.len() + of_calls(&m.tool_calls)).sum()
    }

    /// Validates the messages.
    ///
    /// # Errors
    /// [`Invalid`] naming the first invalid field, such as `messages[2].role`.
    pub fn parse(raw: Vec<RawMessage>) -> Result<Self, Invalid> {
        if raw.is_empty() || raw.len() > MESSAGES_A_REQUEST_MAX {
            return Err(Invalid::new(
                "messages",
                if raw.is_empty() { "required" } else { "too_many" },
                format!(
                    "`messages` has {} entries; give 1 to {MESSAGES_A_REQUEST_MAX} messages.",
                    raw.len()
                ),
            ));
        }
        let sent = raw.len();
        let mut known = HashSet::with_capacity(sent);
        let mut messages = Vec::with_capacity(sent);
        for (at, raw) in raw.into_iter().enumerate() {
            let message = NewMessage::parse(at, raw)?;
            if known.insert(message.external_id.clone()) {
                messages.push(message);
            }
        }
        Ok(Self { repeated: sent - messages.len(), messages })
    }

    /// Screens what was said and called, and how. What a replacement makes too long is cut.
    ///
    /// # Errors
    /// Database errors.
    pub async fn screen(
        &mut self,
        redactor: &Redactor,
        user: UserId,
        agent: AgentId,
    ) -> Result<Vec<SecretWarning>, RedactionError> {
        let mut fields = Vec::new();
        for (n, message) in self.messages.iter_mut().enumerate() {
            let name = format!("messages[{n}].content");
            fields.push(ScreenedField::new(name, &mut message.content));
            for (nth, call) in message.tool_calls.iter_mut().enumerate() {
                let field = format!("messages[{n}].tool_calls[{nth}]");
                fields.push(ScreenedField::new(format!("{field}.name"), &mut call.name));
                let name = format!("{field}.arguments");
                fields.push(ScreenedField::new(name, &mut call.arguments));
            }
        }
        let door = TextDoor::Conversation;
        let warnings = redactor.screen(user, Some(agent), door, &mut fields).await?;
        for message in &mut self.messages {
            cut(&mut message.content, MESSAGE_CHARS_MAX);
            for call in &mut message.tool_calls {
                cut(&mut call.name, TOOL_NAME_CHARS_MAX);
                cut(&mut call.arguments, TOOL_ARGUMENTS_CHARS_MAX);
            }
        }
        Ok(warnings)
    }
}

fn cut(text: &mut String, limit_chars: usize) {
    if let Some((end, _)) = text.char_indices().nth(limit_chars) {
        text.truncate(end);
    }
}

impl NewMessage {
    fn parse(at: usize, raw: RawMessage) -> Result<Self, Invalid> {
        let field = |name: &str| format!("messages[{at}].{name}");
        check_external_id(&field("id"), &raw.id)?;
        let role = match raw.role.as_str() {
            "user" => MessageRole::User,
            "assistant" => MessageRole::Assistant,
            "tool" => MessageRole::Tool,
            _ => {
                return Err(Invalid::new(
                    field("role"),
                    "invalid_role",
                    format!("`{}` is not known; give user, assistant or tool.", field("role")),
                ));
            }
        };
        let content = raw.content.unwrap_or_default();
        check_named(&field("content"), &content, MESSAGE_CHARS_MAX)?;
        let is_silent = content.trim().is_empty() && raw.tool_calls.is_empty();
        if is_silent && role != MessageRole::Tool {
            return Err(Invalid::new(
                field("content"),
                "required",
                match role {
                    MessageRole::Assistant => {
                        format!("`{}` is empty; give a text, or `tool_calls`.", field("content"))
                    }
                    _ => format!(
                        "`{}` is empty; give 1 to {MESSAGE_CHARS_MAX} characters.",
                        field("content")
                    ),
                },
            ));
        }
        if role != MessageRole::Assistant && !raw.tool_calls.is_empty() {
            return Err(Invalid::new(
                field("tool_calls"),
                "unexpected",
                format!(
                    "`{}` belongs to an assistant's message; leave it out of others.",
                    field("tool_calls")
                ),
            ));
        }
        if raw.tool_calls.len() > TOOL_CALLS_A_MESSAGE_MAX {
            return Err(Invalid::new(
                field("tool_calls"),
                "too_many",
                format!(
                    "`{}` has {} entries; at most {TOOL_CALLS_A_MESSAGE_MAX} are accepted.",
                    field("tool_calls"),
                    raw.tool_calls.len()
                ),
            ));
        }
        for (nth, call) in raw.tool_calls.iter().enumerate() {
            check_tool_call(&field(&format!("tool_calls[{nth}]")), call)?;
        }
        if let Some(id) = &raw.tool_call_id {
            check_external_id(&field("tool_call_id"), id)?;
        }
        if role != MessageRole::Tool && raw.tool_call_id.is_some() {
            return Err(Invalid::new(
                field("tool_call_id"),
                "unexpected",
                format!(
                    "`{}` belongs to a tool's message; leave it out of others.",
                    field("tool_call_id")
                ),
            ));
        }
        let in_utc = |at: OffsetDateTime| at.checked_to_offset(UtcOffset::UTC);
        let is_kept = |at| in_utc(at).is_some_and(|at| YEARS.contains(&at.year()));
        if raw.created_at.is_some_and(|at| !is_kept(at)) {
            return Err(Invalid::new(
                field("created_at"),
                "out_of_range",
                format!(
                    "`{}` is out of range; give a year from {} to {}.",
                    field("created_at"),
                    YEARS.start(),
                    YEARS.end()
                ),
            ));
        }
        Ok(Self {
            external_id: raw.id,
            role,
            content,
            tool_calls: raw.tool_calls,
            tool_call_id: raw.tool_call_id,
            sent_at: raw.created_at,
        })
    }
}

fn check_tool_call(field: &str, call: &ToolCall) -> Result<(), Invalid> {
    if let Some(id) = &call.id {
        check_external_id(&format!("{field}.id"), id)?;
    }
    let name = format!("{field}.name");
    check_named(&name, &call.name, TOOL_NAME_CHARS_MAX)?;
    if call.name.trim().is_empty() || call.name.chars().any(char::is_control) {
        return Err(Invalid::new(
            name.clone(),
            "required",
            format!("`{name}` is no name; give 1 to {TOOL_NAME_CHARS_MAX} characters on one line."),
        ));
    }
    check_named(&format!("{field}.arguments"), &call.arguments, TOOL_ARGUMENTS_CHARS_MAX)
}

/// Like [`check_text`], for a field whose name is computed.
fn check_named(field: &str, text: &str, limit_chars: usize) -> Result<(), Invalid> {
    const PLACE: &str = "field";
    check_text(PLACE, text, limit_chars).map_err(|invalid| Invalid {
        field: field.to_owned().into(),
        sentence: invalid.sentence.replacen(&format!("`{PLACE}`"), &format!("`{field}`"), 1),
        ..invalid
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: &str, content: &str) -> RawMessage {
        RawMessage {
            id: "m1".to_owned(),
            role: role.to_owned(),
            content: Some(content.to_owned()),
            ..RawMessage::default()
        }
    }

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: None, name: name.to_owned(), arguments: arguments.to_owned() }
    }

    fn refused(raw: RawMessage) -> (String, &'static str) {
        let invalid = NewMessages::parse(vec![raw]).expect_err("refused");
        assert!(
            invalid.sentence.contains(&*invalid.field) && invalid.sentence.ends_with('.'),
            "{invalid:?}"
        );
        (invalid.field.into_owned(), invalid.code)
    }

    #[test]
    fn a_message_past_a_limit_is_told_by_its_place_and_field() {
        for (raw, field, code) in [
            (said("system", "x"), "role", "invalid_role"),
            (said("user", " "), "content", "required"),
            (said("assistant", ""), "content", "required"),
            (said("user", "a\0b"), "content", "invalid_text"),
            (said("user", &"x".repeat(100_001)), "content", "too_long"),
            (RawMessage { id: String::new(), ..said("user", "x") }, "id", "invalid_id"),
            (RawMessage { id: "x".repeat(129), ..said("user", "x") }, "id", "invalid_id"),
            (
                RawMessage { tool_calls: vec![call("now", "{}")], ..said("user", "x") },
                "tool_calls",
                "unexpected",
            ),
            (
                RawMessage { tool_calls: vec![call("", "{}")], ..said("assistant", "x") },
                "tool_calls[0].name",
                "required",
            ),
            (
                RawMessage { tool_calls: vec![call("now", "\0")], ..said("assistant", "x") },
                "tool_calls[0].arguments",
                "invalid_text",
            ),
            (
                RawMessage { tool_call_id: Some("c".to_owned()), ..said("user", "x") },
                "tool_call_id",
                "unexpected",
            ),
        ] {
            assert_eq!(refused(raw), (format!("messages[0].{field}"), code));
        }
        assert!(NewMessages::parse(Vec::new()).is_err());
    }

    #[test]
    fn a_tool_may_say_nothing_and_an_assistant_may_only_call() {
        let calls = RawMessage {
            content: None,
            tool_calls: vec![call("now", "{}")],
            ..said("assistant", "")
        };
        assert!(NewMessages::parse(vec![calls]).is_ok());
        assert!(NewMessages::parse(vec![said("tool", "")]).is_ok());
    }

    #[test]
    fn of_one_id_sent_twice_the_first_is_taken() {
        let parsed = NewMessages::parse(vec![said("user", "one"), said("user", "two")]);
        let parsed = parsed.expect("valid");
        assert_eq!((parsed.messages.len(), parsed.repeated), (1, 1));
        assert_eq!(parsed.messages[0].content, "one");
    }
}
