//! `memory_list_themes`: list the themes (Nova §3.2.5).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::WholeNumber;
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::input::Invalid;
use crate::memories::{self, MemoryTheme};

const THEMES_LISTED: i64 = 100;
const THEMES_LISTED_MAX: i64 = 1_000;

pub struct MemoryListThemes;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListThemesInput {
    /// Default 100.
    #[schemars(range(min = 1, max = THEMES_LISTED_MAX))]
    limit: Option<WholeNumber>,
}

#[derive(Serialize, JsonSchema)]
pub struct ListThemesOutput {
    /// Themes with the most active items first.
    themes: Vec<MemoryTheme>,
    /// There are more themes than `limit`.
    truncated: bool,
}

impl ListThemesInput {
    fn limit(&self) -> Result<usize, Invalid> {
        let limit = self.limit.as_ref().map_or(THEMES_LISTED, |n| n.0);
        let limit = usize::try_from(limit).ok();
        limit.filter(|limit| (1..=THEMES_LISTED_MAX as usize).contains(limit)).ok_or_else(|| {
            let sentence = format!("`limit` is out of range; give 1 to {THEMES_LISTED_MAX}.");
            Invalid::new("limit", "out_of_range", sentence)
        })
    }
}

#[async_trait]
impl Tool for MemoryListThemes {
    const NAME: &'static str = "memory_list_themes";
    const TITLE: &'static str = "List themes";
    const DESCRIPTION: &'static str =
        "List themes with item counts, largest first. Use it to choose a theme. Example: {}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = ListThemesInput;
    type Output = ListThemesOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: ListThemesInput,
    ) -> Result<ListThemesOutput, ToolError> {
        let now = context.clock.now();
        let limit = input.limit()?;
        let (themes, truncated) =
            memories::list_themes(&context.db, &call.viewer, limit, now).await?;
        Ok(ListThemesOutput { themes, truncated })
    }

    fn touched(_output: &ListThemesOutput) -> Vec<i64> {
        Vec::new()
    }
}
