//! `memory_recall`: the memory block that is added to a prompt automatically (GoClaw's auto-injector). For
//! the program that runs an agent, not for its model, which has `memory_search`; so no profile lists it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::ProjectPlace;
use super::values::{WholeNumber, given};
use super::{Services, Tool, ToolError};
use crate::accounts::{RECALL_TOKENS, Scope};
use crate::activity::RunningCall;
use crate::input::{Invalid, check_text, required_text};
use crate::recall::{GivenItem, Recall, RecallRequest};
use crate::sessions::SessionName;
use crate::sessions::message::MESSAGE_CHARS_MAX;

/// Only the last messages matter for this turn.
const MESSAGES_MAX: usize = 10;

pub struct MemoryRecall;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallInput {
    /// The user's current message. Give either this or `messages`.
    #[schemars(length(max = MESSAGE_CHARS_MAX))]
    message: Option<String>,
    /// The user's latest messages, newest last, at most 10. Earlier messages are used when the last is too short to search for.
    #[schemars(length(max = MESSAGES_MAX))]
    messages: Option<Vec<String>>,
    /// Your id of the session. Items are returned once per session, and items extracted from the session itself are left out. The session does not have to exist on the server.
    session: Option<String>,
    /// The current project: its name, or its repository and folder as {"repository": …, "folder": …}. Items of other projects
    /// are left out unless the message names them. Default: the session's project.
    project: Option<ProjectPlace>,
    /// Maximum tokens of the section, 30 to 4,000. Default 200, or the agent's setting.
    #[schemars(range(min = 30, max = 4_000))]
    budget_tokens: Option<WholeNumber>,
    /// Minimum relevance, 0 to 1. Default 0.3, or the agent's setting.
    #[schemars(range(min = 0, max = 1))]
    min_relevance: Option<f64>,
    /// Role of the message that you build from the section. Default user.
    #[schemars(extend("enum" = ["user", "system", "developer", null]))]
    role: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct RecallOutput {
    /// Block to insert unchanged before the user's message: data enclosed in tags. Empty if no item qualifies.
    section: String,
    /// The requested role.
    role: String,
    /// Name of the current project, as the tools accept it; null if none is known.
    project: Option<String>,
    /// Number of items in the section.
    injected: usize,
    /// Number of items that reach `min_relevance`, including those returned before.
    match_count: usize,
    /// Highest relevance found, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    top_score: f64,
    /// Approximate number of tokens of the section.
    tokens: usize,
    /// The section contains the beginning of the summary. Only at the first recall of a session.
    has_summary: bool,
    items: Vec<GivenItem>,
    /// Why the section is empty: off (for this agent), trivial (the message is too short), nothing_relevant, told (already returned in this session), in_session (extracted from this session), other_project, or budget (no item fits). Null if it is not empty.
    #[schemars(extend("enum" = ["off", "trivial", "nothing_relevant", "told", "in_session", "other_project", "budget", null]))]
    reason: Option<&'static str>,
    /// Why semantic search was not used, or covered only a part of the items; null if it was complete.
    degraded: Option<String>,
}

impl RecallInput {
    fn ask(&self) -> Result<RecallRequest, Invalid> {
        let is_left_out = |message: &&String| message.trim().is_empty() && self.messages.is_some();
        let message = self.message.as_ref().filter(|message| !is_left_out(message));
        let messages = match (message, &self.messages) {
            (Some(message), None) => {
                check_text("message", message, MESSAGE_CHARS_MAX)?;
                vec![message.clone()]
            }
            (None, Some(messages)) if (1..=MESSAGES_MAX).contains(&messages.len()) => {
                for message in messages {
                    check_text("messages", message, MESSAGE_CHARS_MAX)?;
                }
                messages.clone()
            }
            (None, Some(_)) => {
                let sentence = format!("`messages` has 1 to {MESSAGES_MAX} entries: the last few.");
                return Err(Invalid::new("messages", "invalid_messages", sentence));
            }
            _ => {
                let sentence =
                    "Give what the user wrote: `message`, or the last few as `messages`.";
                return Err(Invalid::new("message", "required", sentence));
            }
        };
        let session = given(&self.session).map(SessionName::parse).transpose();
        let session = session.map_err(|mut invalid| {
            invalid.sentence = invalid.sentence.replace("external_id", "session");
            Invalid { field: "session".into(), ..invalid }
        })?;
        let budget = self.budget_tokens.map(|n| n.0);
        if budget.is_some_and(|budget| !RECALL_TOKENS.contains(&budget)) {
            let sentence = format!(
                "`budget_tokens` is a whole number from {} to {}.",
                RECALL_TOKENS.start(),
                RECALL_TOKENS.end()
            );
            return Err(Invalid::new("budget_tokens", "out_of_range", sentence));
        }
        if self.min_relevance.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
            let sentence = "`min_relevance` is a number from 0 to 1.";
            return Err(Invalid::new("min_relevance", "out_of_range", sentence));
        }
        Ok(RecallRequest {
            messages,
            session: session.map(|name| name.as_str().to_owned()),
            budget,
            threshold: self.min_relevance,
            project: ProjectPlace::parse(&self.project)?,
        })
    }

    fn role(&self) -> Result<&str, Invalid> {
        let role = self.role.as_deref().unwrap_or("user");
        match ["user", "system", "developer"].contains(&role) {
            true => required_text("role", role, 16),
            false => {
                let sentence = "`role` is not known; give user, system or developer.";
                Err(Invalid::new("role", "invalid_role", sentence))
            }
        }
    }
}

#[async_trait]
impl Tool for MemoryRecall {
    const NAME: &'static str = "memory_recall";
    const TITLE: &'static str = "Recall for a turn";
    const DESCRIPTION: &'static str = "Return the memories that are relevant to this turn, as one block to insert before the \
        user's message. The block is usually empty. For the program that runs an agent, before each turn; the \
        model itself uses memory_search. Example: {\"message\": \"When does the boat to Bergen leave?\", \"session\": \"chat-7\"}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = RecallInput;
    type Output = RecallOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: RecallInput,
    ) -> Result<RecallOutput, ToolError> {
        let (ask, role) = (input.ask()?, input.role()?.to_owned());
        let recall = Recall::new(context.search.clone(), context.consolidation.clone());
        let recalled = recall.recall(&call.viewer, &ask).await?;
        if recalled.has_lent {
            let lent = recalled.told.iter().filter(|told| told.memory_of.is_some());
            call.read_lent(lent.map(|told| told.id.0).collect());
        }
        Ok(RecallOutput {
            section: recalled.section,
            role,
            project: recalled.project,
            injected: recalled.told.len(),
            match_count: recalled.match_count,
            top_score: recalled.top_score,
            tokens: recalled.tokens,
            has_summary: recalled.has_summary,
            items: recalled.told,
            reason: recalled.reason.map(|reason| reason.as_str()),
            degraded: recalled.degraded,
        })
    }

    fn touched(output: &RecallOutput) -> Vec<i64> {
        output.items.iter().map(|item| item.id.0).collect()
    }
}
