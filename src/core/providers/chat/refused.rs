//! What to leave out, or to ask elsewhere, after a refusal. What a refusal names is left out first; one that
//! names nothing is taken for the schema, which most servers lack.

use super::message::{ChatRequest, ChatRole};
use crate::providers::dialect::{Certainty, Dialect, Served};
use crate::providers::thinking::Thinking;
use crate::providers::wire::EndpointRefusal;
use crate::providers::{Endpoint, NotChat, ProviderError};

const SCHEMA: &[&str] = &[
    "response_format",
    "json_schema",
    "json schema",
    "grammar",
    "guided",
    "structured output",
    "tool_choice",
    "tools",
];
const THINKING: &[&str] = &[
    "chat_template_kwargs",
    "enable_thinking",
    "reasoning",
    "thinking",
    "\"think\"",
    "does not support think",
];
const SYSTEM: &[&str] = &[
    "system role",
    "system message",
    "system prompt",
    "system instruction",
    "developer instruction",
    "roles must alternate",
    "role: system",
    "'system'",
    "\"system\"",
    "`system`",
];

/// The dialect for a retry after this refusal; `None`: a retry would not help. `has_other`: the address can be
/// completed in another way, which was not tried.
pub(super) fn after(
    dialect: Dialect,
    refusal: &EndpointRefusal,
    request: &ChatRequest<'_>,
    endpoint: &Endpoint,
    has_other: bool,
) -> Option<(Dialect, Certainty)> {
    use Certainty::{Sure, Suspected};
    let is_nothing_there =
        matches!(refusal.error, ProviderError::NotChat(NotChat::NothingThere | NotChat::Html));
    if refusal.may_be_of_a_parameter()
        && refusal.error != ProviderError::NotChat(NotChat::NoChatModel)
    {
        let named = named(dialect, refusal, request, endpoint);
        if let Some(named) = named {
            return Some((named, Sure));
        }
    }
    if is_nothing_there && has_other {
        let served = match dialect.served {
            Served::OtherPath => Served::Usual,
            _ => Served::OtherPath,
        };
        return Some((Dialect { served, ..dialect }, Sure));
    }
    let certainty = match (&refusal.error, refusal.status) {
        (ProviderError::BadInput, _) | (_, 501) => Sure,
        // Also what any failure of the moment looks like.
        (ProviderError::Server { .. }, 500) => Suspected,
        _ => return None,
    };
    if let Some(thinking) = dialect.thinking.and_then(|thinking| thinking.next(endpoint)) {
        return Some((Dialect { thinking: Some(thinking), ..dialect }, certainty));
    }
    let has_schema = request.schema.is_some() && !dialect.no_schema;
    has_schema.then_some((Dialect { no_schema: true, ..dialect }, certainty))
}

/// Without what the refusal names.
fn named(
    dialect: Dialect,
    refusal: &EndpointRefusal,
    request: &ChatRequest<'_>,
    endpoint: &Endpoint,
) -> Option<Dialect> {
    if !dialect.says_completion_tokens && refusal.says(&["max_completion_tokens"]) {
        return Some(Dialect { says_completion_tokens: true, ..dialect });
    }
    if let Some(thinking) = dialect.thinking.and_then(|thinking| thinking.next(endpoint))
        && refusal.says(THINKING)
    {
        return Some(Dialect { thinking: Some(thinking), ..dialect });
    }
    if !dialect.no_temperature && refusal.says(&["temperature"]) {
        return Some(Dialect { no_temperature: true, ..dialect });
    }
    let has_system = request.messages.iter().any(|message| message.role == ChatRole::System);
    if has_system && !dialect.no_system_role && refusal.says(SYSTEM) {
        return Some(Dialect { no_system_role: true, ..dialect });
    }
    let has_schema = request.schema.is_some() && !dialect.no_schema;
    (has_schema && refusal.says(SCHEMA)).then_some(Dialect { no_schema: true, ..dialect })
}

/// The dialect for the next call, if the model reasoned although it was asked not to.
pub(super) fn after_reasoning(dialect: Dialect, endpoint: &Endpoint) -> Dialect {
    let next = dialect.thinking.and_then(|thinking| thinking.next(endpoint));
    // To send nothing would help less than what was sent.
    match next.filter(|next| *next != Thinking::Unsaid) {
        Some(next) => Dialect { thinking: Some(next), ..dialect },
        None => dialect,
    }
}
