//! The types of Settings › Chat model, and of what the admin page says of it. A key
//! is never among them: only that there is one.

use super::{EffectiveProvider, EndpointView};

/// What one day cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayTokens {
    /// "21 November"
    pub day: String,
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// Of both, in the order of [`ChatPage::purposes`] and after them what is of before.
    pub by_purpose: Vec<i64>,
    /// Those that failed too.
    pub calls: i64,
    pub failed_calls: i64,
}

impl DayTokens {
    pub fn tokens(&self) -> i64 {
        self.tokens_in + self.tokens_out
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatPage {
    /// `false`: this user has switched chat off.
    pub is_enabled: bool,
    pub effective: EffectiveProvider,
    pub own: EndpointView,
    /// Tokens a day that hold now.
    pub cap: i64,
    /// What holds where the user has set none.
    pub server_cap: i64,
    /// What the user has set.
    pub own_cap: Option<i64>,
    /// What the model may be called for.
    pub purposes: Vec<PurposeView>,
    /// The last 30, the oldest first; today is the last.
    pub days: Vec<DayTokens>,
    pub is_admin: bool,
}

/// One thing that the model may be called for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurposeView {
    /// As the form names it: `facts`.
    pub name: &'static str,
    /// "Reading sessions"
    pub title: &'static str,
    pub is_on: bool,
    /// Of the day's cap, in percent.
    pub share: i64,
}
