//! Messages and facts for the tests of this module.

use time::OffsetDateTime;

use super::category::Category;
use super::facts::ExtractedFact;
use super::summary::facts::PromptFact;
use crate::memories::{ItemId, ItemKey, ItemSource, Period, Trust};
use crate::sessions::{MessageRole, StoredMessage, ToolCall};

/// Said by the user, as the context quotes it.
pub fn extracted(key: &str, value: &str, context: &str) -> ExtractedFact {
    ExtractedFact {
        category: Category::Profile,
        key: ItemKey::parse(key).expect("valid").expect("a key"),
        value: value.to_owned(),
        source: ItemSource::UserExplicit,
        period: Period::default(),
        of_project: None,
        context: context.to_owned(),
    }
}

pub fn prompt_fact(id: i64, theme: &str, content: &str) -> PromptFact {
    PromptFact {
        id: ItemId(id),
        theme: theme.to_owned(),
        key: None,
        trust: Trust::Agent,
        agent: None,
        is_persons: true,
        content: content.to_owned(),
    }
}

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
