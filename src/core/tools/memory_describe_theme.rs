//! `memory_describe_theme`: set a theme's display name and description (Nova §3.1.1).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::values::given;
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::input::required_text;
use crate::memories::model::{DESCRIPTION_CHARS_MAX, THEME_CHARS_MAX, ThemeNames};
use crate::memories::{self, MemoryTheme};

pub struct MemoryDescribeTheme;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeThemeInput {
    /// The theme's slug.
    #[schemars(length(min = 1, max = THEME_CHARS_MAX))]
    theme: String,
    /// The new display name. Left out: unchanged.
    #[schemars(length(min = 1, max = THEME_CHARS_MAX))]
    display_name: Option<String>,
    /// The new description; "" removes it. Left out: unchanged.
    #[schemars(length(max = DESCRIPTION_CHARS_MAX))]
    description: Option<String>,
}

#[async_trait]
impl Tool for MemoryDescribeTheme {
    const NAME: &'static str = "memory_describe_theme";
    const TITLE: &'static str = "Describe a theme";
    const DESCRIPTION: &'static str = "Set the display name or the description of a theme. Its slug and items do not change. \
        Use it when the purpose of a theme is not clear from its name. \
        Example: {\"theme\": \"home-lab\", \"description\": \"Servers and devices at home.\"}";
    const SCOPE: Scope = Scope::MemoryWrite;
    type Input = DescribeThemeInput;
    type Output = MemoryTheme;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: DescribeThemeInput,
    ) -> Result<MemoryTheme, ToolError> {
        let theme = required_text("theme", &input.theme, THEME_CHARS_MAX)?;
        let names = ThemeNames::parse(given(&input.display_name), input.description.as_deref())?;
        let slug = memories::find_theme(&context.db, call.viewer.user_id, theme).await?;
        Ok(memories::describe_theme(&context.db, &context.clock, call, &slug, &names).await?)
    }

    fn not_stored(_input: &DescribeThemeInput) -> &'static [&'static str] {
        &["theme"]
    }

    fn touched(_output: &MemoryTheme) -> Vec<i64> {
        Vec::new()
    }
}
