//! `memory_list_themes`: list the themes (Nova §3.2.5).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::WholeNumber;
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::input::Invalid;
use crate::memories;

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
    themes: Vec<ListedTheme>,
    /// There are more themes than `limit`.
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct ListedTheme {
    /// Value for `theme` of the other tools.
    slug: String,
    /// Display name.
    display_name: String,
    /// What belongs in the theme; empty if not described.
    description: String,
    /// The agent that wrote the description. Omitted if the user wrote it, or there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    described_by: Option<String>,
    /// Number of active items.
    #[schemars(range(min = 0))]
    active_count: i64,
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

impl From<memories::MemoryTheme> for ListedTheme {
    fn from(theme: memories::MemoryTheme) -> Self {
        Self {
            slug: theme.slug,
            display_name: theme.display_name,
            description: theme.description,
            described_by: theme.described_by,
            active_count: theme.active_count,
        }
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
        let listed = memories::list_themes(&context.db, &call.viewer, limit, now).await?;
        let (themes, truncated) = listed;
        Ok(ListThemesOutput {
            themes: themes.into_iter().map(ListedTheme::from).collect(),
            truncated,
        })
    }

    fn touched(_output: &ListThemesOutput) -> Vec<i64> {
        Vec::new()
    }
}
