//! `memory_add`: remember something (Nova §3.2.2).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::{ProjectInput, known_project, project_of};
use super::values::{DateText, ToolItemType, WholeNumber, check_said, provenance, zone_of};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::embedding::EmbeddingState;
use crate::memories::model::{CONTENT_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX, THEME_CHARS_MAX};
use crate::memories::provenance::{
    CONFIDENCE_MAX, EXPIRES_IN_DAYS_MAX, KEY_CHARS_MAX, SOURCE_CONTEXT_CHARS_MAX,
};
use crate::memories::{
    AddedItem, Expiry, ItemKey, ItemSource, NewItem, Period, Provenance, Status, Trust,
    theme_of_key,
};

pub struct MemoryAdd;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddInput {
    /// Kind of memory.
    #[serde(rename = "type")]
    item_type: ToolItemType,
    /// One self-contained statement.
    #[schemars(length(min = 1, max = CONTENT_CHARS_MAX))]
    content: String,
    /// Group. Default: the key's theme, or general.
    #[schemars(length(max = THEME_CHARS_MAX))]
    theme: Option<String>,
    /// Labels.
    #[schemars(length(max = TAGS_MAX), inner(length(min = 1, max = TAG_CHARS_MAX)))]
    tags: Option<Vec<String>>,
    /// Name of a fact that may change; a new value replaces the old.
    #[schemars(length(max = KEY_CHARS_MAX))]
    key: Option<String>,
    /// How you know it.
    source: Option<ItemSource>,
    /// Percent; default by source, 30 to 95.
    #[schemars(range(min = 0, max = CONFIDENCE_MAX))]
    confidence: Option<WholeNumber>,
    /// Days until it expires.
    #[schemars(range(min = 1, max = EXPIRES_IN_DAYS_MAX))]
    expires_in_days: Option<WholeNumber>,
    /// Valid from: 2019, 2019-05 or 2019-05-17.
    valid_from: Option<DateText>,
    /// Valid until, inclusive.
    valid_until: Option<DateText>,
    /// Only if it belongs to one project.
    project: Option<ProjectInput>,
    /// Verbatim source quote; user_explicit needs it.
    #[schemars(length(max = SOURCE_CONTEXT_CHARS_MAX))]
    source_context: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AddOutput {
    id: i64,
    /// archived: an existing item of the key was kept instead (`put_aside_for`).
    status: Status,
    embedding: EmbeddingState,
    /// Trust class. Items from tools or web pages never replace items from the user or an agent.
    trust: Trust,
    /// The same text was already active in its theme. `id` is the existing item, which takes over the new tags and expiry.
    duplicate: bool,
    /// Id of the item that it replaced: the corrected item, or the one with the same key and period. That item is archived.
    superseded: Option<i64>,
    /// Ids of all items that it archived.
    archived: Vec<i64>,
    /// Id of the item with the same key that stays active. The new item is stored as archived.
    put_aside_for: Option<i64>,
    /// Remarks about the result, in sentences: for example, why trust is lower than requested, or which input fields were ignored.
    note: Option<String>,
}

/// For `user_explicit`, when no stored message of the user confirms it.
const NOT_SAID: &str = "No stored message of the user contains the source_context in the user's own words, so the trust class is agent.";
const NO_CONTEXT: &str = "Without the user's words as source_context, the trust class is agent.";

impl AddOutput {
    pub(super) fn new(added: AddedItem, provenance: &Provenance) -> Self {
        let is_claimed =
            provenance.source == ItemSource::UserExplicit && added.trust != Trust::User;
        let mut notes: Vec<String> = Vec::new();
        if let Some(stays) = added.stays {
            notes.push(format!(
                "Item {} has the same text with the type {} and keeps it; no item of another type was added.",
                added.id.0,
                stays.as_str()
            ));
        }
        match (added.put_aside_for, is_claimed) {
            (Some(holder), _) => notes.push(format!(
                "Item {} with the same key stays active, because it is more trusted, confirmed or newer; the new item is stored as archived.",
                holder.0
            )),
            (None, true) if provenance.context.is_none() => notes.push(NO_CONTEXT.to_owned()),
            (None, true) => notes.push(NOT_SAID.to_owned()),
            (None, false) => {}
        }
        let note = Some(notes.join(" ")).filter(|note| !note.is_empty());
        let status = match added.put_aside_for {
            Some(_) => Status::Archived,
            None => Status::Active,
        };
        Self {
            id: added.id.0,
            status,
            embedding: added.embedding,
            trust: added.trust,
            put_aside_for: added.put_aside_for.map(|id| id.0),
            note,
            duplicate: added.duplicate,
            superseded: added.corrected.or(added.superseded).map(|id| id.0),
            archived: added.archived().map(|id| id.0).collect(),
        }
    }

    pub(super) fn touched(&self) -> Vec<i64> {
        std::iter::once(self.id).chain(self.archived.iter().copied()).collect()
    }
}

#[async_trait]
impl Tool for MemoryAdd {
    const NAME: &'static str = "memory_add";
    const TITLE: &'static str = "Remember";
    const DESCRIPTION: &'static str = "Store one fact about the user for later conversations. Use it when the user says something lasting or asks you to remember; not for small talk or \
        secrets. To correct an item, add the new one with the same key, or archive the old. Example: {\"type\": \"fact\", \
        \"content\": \"Lives in Lisbon.\", \"theme\": \"profile\", \"key\": \"home_city\"}";
    const SCOPE: Scope = Scope::MemoryWrite;
    type Input = AddInput;
    type Output = AddOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: AddInput,
    ) -> Result<AddOutput, ToolError> {
        let tags = input.tags.unwrap_or_default();
        let key = ItemKey::parse(input.key.as_deref().unwrap_or_default())?;
        let mut theme = input.theme.filter(|theme| !theme.trim().is_empty());
        if let Some(key) = key.as_ref().filter(|_| theme.is_none()) {
            let project = known_project(context, call, &input.project).await?;
            theme = theme_of_key(&context.db, call.viewer.user_id, key, project).await?;
        }
        let item = NewItem::parse(input.item_type.into(), &input.content, theme.as_deref(), &tags)?;
        let (from, until) = (&input.valid_from, &input.valid_until);
        let zone = zone_of(&context.db, call.viewer.user_id, &[from, until]).await?;
        let period = Period::parse(&zone, DateText::text(from), DateText::text(until))?;
        let expiry = input.expires_in_days.map(|n| Expiry::in_days(n.0));
        let mut provenance =
            provenance(input.source, input.source_context.as_deref(), input.confidence)?;
        let item = item.with_key(key).with_expiry(expiry.transpose()?).with_period(period);
        let said = (Some(item.item_type()), item.key(), item.content());
        check_said(&context.db, call.viewer.user_id, said, &mut provenance).await?;
        // Last, so that nothing is made for what is refused.
        let project = project_of(context, call, &input.project).await?;
        let item = item.with_provenance(provenance).in_project(project);
        let added = context.adding.add(call, &item).await?;
        Ok(AddOutput::new(added, item.provenance()))
    }

    fn touched(output: &AddOutput) -> Vec<i64> {
        output.touched()
    }
}
