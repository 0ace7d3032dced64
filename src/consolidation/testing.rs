//! Messages for the tests of this module.

use time::OffsetDateTime;

use crate::sessions::{Message, Role, ToolCall};

pub fn message(position: i32, role: Role, content: &str) -> Message {
    Message {
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
pub fn call(position: i32, content: &str, id: &str, name: &str, arguments: &str) -> Message {
    let tool_calls = vec![ToolCall {
        id: Some(id.to_owned()),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }];
    Message {
        tool_calls,
        ..message(position, Role::Assistant, content)
    }
}

/// A tool's result for the call with this id.
pub fn result(position: i32, call_id: &str, content: &str) -> Message {
    Message {
        tool_call_id: Some(call_id.to_owned()),
        ..message(position, Role::Tool, content)
    }
}
