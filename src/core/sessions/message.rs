//! Incoming messages and names of sessions, and their limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::accounts::AgentId;
use crate::db::{UserId, labels};
use crate::input::Invalid;
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

/// Your own id of the session. It is compared exactly. Ids are separate for each agent.
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

labels! {
    #[derive(JsonSchema)]
    pub enum MessageRole {
        User = "user",
        Assistant = "assistant",
        Tool = "tool",
    }
}

impl MessageRole {
    /// The trust of a message with this role.
    pub fn trust(self) -> Trust {
        match self {
            Self::User => Trust::User,
            Self::Assistant => Trust::Agent,
            Self::Tool => Trust::Tool,
        }
    }
}

/// A tool call of an assistant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Id of the call, which the tool message refers to.
    pub id: Option<String>,
    pub name: String,
    /// Arguments as a JSON string, or the text that the model wrote instead.
    pub arguments: String,
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
    /// What is not kept, in order.
    pub skipped: Vec<SkippedMessage>,
}

/// A message that was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedMessage {
    /// Index in the request, from 0.
    pub index: usize,
    /// The reason, in one sentence.
    pub why: &'static str,
}

impl NewMessages {
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Of their texts, and of the names and arguments of tool calls.
    pub(super) fn bytes(&self) -> usize {
        let of_calls = |calls: &[ToolCall]| -> usize {
            calls.iter().map(|call| call.name.len() + call.arguments.len()).sum()
        };
        self.messages.iter().map(|m| m.content.len() + of_calls(&m.tool_calls)).sum()
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
