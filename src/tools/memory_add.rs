//! `memory_add`: remember something (Nova §3.2.2).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Tool, ToolContext, ToolEmbeddingState, ToolError, ToolItemType};
use crate::accounts::Scope;
use crate::activity::Call;
use crate::memories::{self, NewItem, Status};

pub struct MemoryAdd;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[serde(rename = "type")]
    item_type: ToolItemType,
    /// One self-contained statement, at most 20,000 characters.
    #[schemars(length(min = 1, max = 20000))]
    content: String,
    /// A group such as "work" or "health"; "general" when left out.
    #[serde(default)]
    theme: Option<String>,
    /// At most 32, of 64 characters each.
    #[serde(default)]
    tags: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {
    id: i64,
    status: &'static str,
    embedding: ToolEmbeddingState,
    /// The same text was active in its theme already; `id` is that item.
    duplicate: bool,
}

#[async_trait]
impl Tool for MemoryAdd {
    const NAME: &'static str = "memory_add";
    const DESCRIPTION: &'static str = "Remember one thing about the user that will matter later: a preference, fact, \
        instruction, summary. Use it when the user says something lasting or asks you to remember; not for small talk or \
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
