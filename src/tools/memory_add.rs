//! `memory_add`: remember something (Nova §3.2.2).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{ToolEmbeddingState, ToolItemType};
use super::{Tool, ToolContext, ToolError};
use crate::accounts::Scope;
use crate::activity::Call;
use crate::memories::model::{CONTENT_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX, THEME_CHARS_MAX};
use crate::memories::{self, NewItem, Status};

pub struct MemoryAdd;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What kind of memory it is.
    #[serde(rename = "type")]
    item_type: ToolItemType,
    /// One self-contained statement.
    #[schemars(length(min = 1, max = CONTENT_CHARS_MAX))]
    content: String,
    /// A group such as "work" or "health"; "general" when left out.
    #[schemars(length(max = THEME_CHARS_MAX))]
    theme: Option<String>,
    /// Words to group it by.
    #[schemars(length(max = TAGS_MAX), inner(length(min = 1, max = TAG_CHARS_MAX)))]
    tags: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {
    id: i64,
    #[schemars(extend("const" = "active"))]
    status: &'static str,
    embedding: ToolEmbeddingState,
    /// The same text was active in its theme already; `id` is that item.
    duplicate: bool,
}

#[async_trait]
impl Tool for MemoryAdd {
    const NAME: &'static str = "memory_add";
    const TITLE: &'static str = "Remember";
    const DESCRIPTION: &'static str = "Remember one thing about the user that will matter later. Use it when the user says something lasting or asks you to remember; not for small talk or \
        secrets. To correct an item, add the new one and archive the old. Example: {\"type\": \"preference\", \
        \"content\": \"Prefers tea over coffee.\", \"theme\": \"food\"}";
    const SCOPE: Scope = Scope::MemoryWrite;
    type Input = Input;
    type Output = Output;

    async fn run(context: &ToolContext, call: &Call, input: Input) -> Result<Output, ToolError> {
        let tags = input.tags.unwrap_or_default();
        let item = NewItem::parse(
            input.item_type.into(),
            &input.content,
            input.theme.as_deref(),
            &tags,
        )?;
        let added = memories::add(
            &context.db,
            &context.clock,
            &context.embeddings,
            call,
            &item,
        )
        .await?;
        Ok(Output {
            id: added.id.0,
            status: Status::Active.as_str(),
            embedding: added.embedding.into(),
            duplicate: added.duplicate,
        })
    }

    fn touched(output: &Output) -> Vec<i64> {
        vec![output.id]
    }
}
