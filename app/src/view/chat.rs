//! What the admin page says of the chat model. A key is never part of it: only that there is one.

use super::EndpointView;

/// What an admin has set for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemChatView {
    pub endpoint: EndpointView,
    /// Host and port, and the model; `None` where none is set.
    pub in_force: Option<(String, String)>,
    /// Tokens a person and day.
    pub cap: i64,
}
