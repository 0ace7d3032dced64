//! Model calls of scheduled jobs, and how a user's round ends.

use serde_json::Value;

use super::prompt::Prompt;
use super::{Consolidation, ConsolidationError};
use crate::db::UserId;
use crate::providers::chat::{ChatError, ChatPurpose, Completion};

/// How a user's round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    Written,
    /// Nothing to do, or no model to do it: until the next round.
    Nothing(Option<&'static str>),
    /// A retry may succeed.
    Later(&'static str),
}

impl Consolidation {
    /// Why the user's model cannot be asked for this purpose; `None` if it can.
    pub(super) async fn why_not(
        &self,
        user: UserId,
        purpose: ChatPurpose,
    ) -> Result<Option<Round>, ConsolidationError> {
        match self.chat.effective(user, purpose).await {
            Ok(Some(_)) => Ok(None),
            Ok(None) => Ok(Some(Round::Nothing(Some("no chat model is set")))),
            Err(ChatError::Database(error)) => Err(error.into()),
            Err(_) => Ok(Some(Round::Later("the chat model cannot be asked"))),
        }
    }

    /// The model's answer, or how the round ends without one.
    pub(super) async fn ask_in_round(
        &self,
        user: UserId,
        purpose: ChatPurpose,
        (ask, schema): (&Prompt, Option<&Value>),
        temperature: f32,
    ) -> Result<Result<Completion, Round>, ConsolidationError> {
        match self.ask(user, purpose, ask, schema, temperature).await {
            Ok(completion) => Ok(Ok(completion)),
            Err(ChatError::Database(error)) => Err(error.into()),
            Err(ChatError::NoProvider) => Ok(Err(Round::Nothing(None))),
            Err(ChatError::CapReached(_)) => {
                Ok(Err(Round::Later("the tokens of the day are spent")))
            }
            Err(_) => Ok(Err(Round::Later("the chat model did not answer"))),
        }
    }
}
