//! `memory_list_themes`: what groups there are (Nova §3.2.5).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Tool, ToolContext, ToolError};
use crate::accounts::Scope;
use crate::activity::Call;
use crate::memories;

pub struct MemoryListThemes;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

#[derive(Serialize, JsonSchema)]
pub struct Output {
    themes: Vec<Theme>,
}

#[derive(Serialize, JsonSchema)]
pub struct Theme {
    /// What `theme` of the other tools takes.
    slug: String,
    /// As it was first written, or set since.
    display_name: String,
    /// What belongs in it, where somebody said so.
    description: String,
    /// Active items in it.
    #[schemars(range(min = 0))]
    active_count: i64,
}

impl From<memories::Theme> for Theme {
    fn from(theme: memories::Theme) -> Self {
        Self {
            slug: theme.slug,
            display_name: theme.display_name,
            description: theme.description,
            active_count: theme.active_count,
        }
    }
}

#[async_trait]
impl Tool for MemoryListThemes {
    const NAME: &'static str = "memory_list_themes";
    const TITLE: &'static str = "List themes";
    const DESCRIPTION: &'static str = "List the themes that remembered items are grouped in, with counts of active \
        items. Use it to choose a theme for a search or a new item. Example: {}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = Input;
    type Output = Output;

    async fn run(context: &ToolContext, call: &Call, _input: Input) -> Result<Output, ToolError> {
        let now = context.clock.now();
        let themes = memories::list_themes(&context.db, &call.viewer, now).await?;
        Ok(Output {
            themes: themes.into_iter().map(Theme::from).collect(),
        })
    }

    fn touched(_output: &Output) -> Vec<i64> {
        Vec::new()
    }
}
