//! Messages for the tests of this module.

use time::OffsetDateTime;

use crate::sessions::{MessageRole, StoredMessage, ToolCall};

pub fn message(position: i32, role: MessageRole, content: &str) -> StoredMessage {
    StoredMessage {
        position,
        external_id: format!("m{position}"),
        role,
        content: content.to_owned(),
        tool_calls: Vec::new(),
        tool_call_id: None,
        sent_at: None,
        created_at: OffsetDateTime::UNIX_EPOCH,
    }
}

/// An assistant message with one tool call.
pub fn call(position: i32, content: &str, id: &str, name: &str, arguments: &str) -> StoredMessage {
    let tool_calls = vec![ToolCall {
        id: Some(id.to_owned()),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }];
    StoredMessage { tool_calls, ..message(position, MessageRole::Assistant, content) }
}

/// A tool's result for the call with this id.
pub fn result(position: i32, call_id: &str, content: &str) -> StoredMessage {
    StoredMessage {
        tool_call_id: Some(call_id.to_owned()),
        ..message(position, MessageRole::Tool, content)
    }
}
