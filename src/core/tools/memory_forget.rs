//! `memory_forget`: archive the items with a key, without searching first.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::ProjectInput;
use super::values::{required_key, theme_filter};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::memories;
use crate::memories::model::THEME_CHARS_MAX;
use crate::memories::provenance::KEY_CHARS_MAX;

pub struct MemoryForget;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetInput {
    /// Key of the fact, such as "home_city".
    #[schemars(length(min = 1, max = KEY_CHARS_MAX))]
    key: String,
    /// Only in this theme (slug). Default: all.
    #[schemars(length(max = THEME_CHARS_MAX))]
    theme: Option<String>,
    project: Option<ProjectInput>,
}

#[derive(Serialize, JsonSchema)]
pub struct ForgetOutput {
    /// Number of archived items; 0 if none has this key.
    #[schemars(range(min = 0))]
    count: usize,
    /// Ids of the archived items.
    archived: Vec<i64>,
}

#[async_trait]
impl Tool for MemoryForget {
    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget by key";
    const DESCRIPTION: &'static str = "Archive all active items with a key: search hides them by default, the user still sees them. \
        If the user confirmed one, the change is only proposed. Use it only when the user asks to forget. \
        Example: {\"key\": \"home_city\"}";
    const SCOPE: Scope = Scope::MemoryWrite;
    const ADDS: bool = false;
    type Input = ForgetInput;
    type Output = ForgetOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: ForgetInput,
    ) -> Result<ForgetOutput, ToolError> {
        let key = required_key(&input.key)?;
        let user = call.viewer.user_id;
        let theme = theme_filter(&context.db, user, input.theme.as_deref()).await?;
        let project = ProjectInput::parse(&input.project)?;
        let whose = (theme.as_ref(), project.as_ref());
        let forgotten = memories::forget(&context.db, &context.clock, call, &key, whose).await?;
        Ok(ForgetOutput {
            count: forgotten.len(),
            archived: forgotten.into_iter().map(|id| id.0).collect(),
        })
    }

    fn not_stored(_input: &ForgetInput) -> &'static [&'static str] {
        &["key", "theme", "project"]
    }

    fn touched(output: &ForgetOutput) -> Vec<i64> {
        output.archived.clone()
    }
}
