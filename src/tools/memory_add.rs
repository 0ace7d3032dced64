//! `memory_add`: remember something (Nova §3.2.2).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{ToolEmbeddingState, ToolItemType, ToolSource, Whole, provenance};
use super::{Tool, ToolContext, ToolError};
use crate::accounts::Scope;
use crate::activity::Call;
use crate::memories::model::{CONTENT_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX, THEME_CHARS_MAX};
use crate::memories::provenance::{
    CONFIDENCE_MAX, EXPIRES_IN_DAYS_MAX, KEY_CHARS_MAX, SOURCE_CONTEXT_CHARS_MAX,
};
use crate::memories::{Added, Expiry, ItemKey, NewItem, Status};

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
    /// Name of a changing fact: the next of this key takes its place.
    #[schemars(length(max = KEY_CHARS_MAX))]
    key: Option<String>,
    /// How you know it.
    source: Option<ToolSource>,
    /// Default by source: tool 95, user 80, web 50, guess 30, else 70.
    #[schemars(range(min = 0, max = CONFIDENCE_MAX))]
    confidence: Option<Whole>,
    /// For what holds only so long.
    #[schemars(range(min = 1, max = EXPIRES_IN_DAYS_MAX))]
    expires_in_days: Option<Whole>,
    /// The words it came from.
    #[schemars(length(max = SOURCE_CONTEXT_CHARS_MAX))]
    source_context: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {
    id: i64,
    #[schemars(extend("const" = "active"))]
    status: &'static str,
    embedding: ToolEmbeddingState,
    /// The same was active in its theme already; `id` is that item, which took over the tags and the expiry.
    duplicate: bool,
    /// The item of the same key whose place it took; it is kept, archived.
    superseded: Option<i64>,
}

impl Output {
    pub(super) fn new(added: Added) -> Self {
        Self {
            id: added.id.0,
            status: Status::Active.as_str(),
            embedding: added.embedding.into(),
            duplicate: added.duplicate,
            superseded: added.superseded.map(|id| id.0),
        }
    }

    pub(super) fn touched(&self) -> Vec<i64> {
        [Some(self.id), self.superseded]
            .into_iter()
            .flatten()
            .collect()
    }
}

#[async_trait]
impl Tool for MemoryAdd {
    const NAME: &'static str = "memory_add";
    const TITLE: &'static str = "Remember";
    const DESCRIPTION: &'static str = "Remember one thing about the user that will matter later. Use it when the user says something lasting or asks you to remember; not for small talk or \
        secrets. To correct an item, add the new one under its key, or archive the old. Example: {\"type\": \"fact\", \
        \"content\": \"Lives in Lisbon.\", \"theme\": \"profile\", \"key\": \"home_city\"}";
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
        let expiry = input.expires_in_days.map(|n| Expiry::in_days(n.0));
        let item = item
            .with_key(ItemKey::parse(input.key.as_deref().unwrap_or_default())?)
            .with_expiry(expiry.transpose()?)
            .with_provenance(provenance(
                input.source,
                input.source_context.as_deref(),
                input.confidence,
            )?);
        let added = context.adding.add(call, &item).await?;
        Ok(Output::new(added))
    }

    fn touched(output: &Output) -> Vec<i64> {
        output.touched()
    }
}
