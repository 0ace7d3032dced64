//! `memory_correct`: replace a wrong memory with the right one.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::memory_add::AddOutput;
use super::project::ProjectInput;
use super::values::{
    DateText, ToolItemType, WholeNumber, check_said, provenance, required_key, theme_filter,
    zone_of,
};
use super::{Services, Tool, ToolError, lent};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::clock::Zone;
use crate::input::{Invalid, required_text};
use crate::memories::model::{CONTENT_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX, THEME_CHARS_MAX};
use crate::memories::provenance::{
    CONFIDENCE_MAX, EXPIRES_IN_DAYS_MAX, KEY_CHARS_MAX, SOURCE_CONTEXT_CHARS_MAX,
};
use crate::memories::{
    self, Correction, CorrectionTarget, Day, Expiry, ItemId, ItemKey, ItemSource, ItemType,
    MemoryError, Period, ThemeSlug,
};

pub struct MemoryCorrect;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrectInput {
    /// The item's id; or give its `key`.
    #[schemars(range(min = 1))]
    item_id: Option<WholeNumber>,
    /// The item's key; with item_id, its new key.
    #[schemars(length(max = KEY_CHARS_MAX))]
    key: Option<String>,
    /// Theme of the key; with item_id, the new theme.
    #[schemars(length(max = THEME_CHARS_MAX))]
    theme: Option<String>,
    project: Option<ProjectInput>,
    /// The correct text: one self-contained statement.
    #[schemars(length(min = 1, max = CONTENT_CHARS_MAX))]
    content: String,
    /// New type.
    #[serde(rename = "type")]
    item_type: Option<ToolItemType>,
    /// New tags.
    #[schemars(length(max = TAGS_MAX), inner(length(min = 1, max = TAG_CHARS_MAX)))]
    tags: Option<Vec<String>>,
    /// How you know it.
    source: Option<ItemSource>,
    /// Percent; default by source.
    #[schemars(range(min = 0, max = CONFIDENCE_MAX))]
    confidence: Option<WholeNumber>,
    /// 0: it never expires.
    #[schemars(range(min = 0, max = EXPIRES_IN_DAYS_MAX))]
    expires_in_days: Option<WholeNumber>,
    /// As in memory_add; "none" removes it.
    valid_from: Option<DateText>,
    /// "none" removes it.
    valid_until: Option<DateText>,
    /// Verbatim source quote.
    #[schemars(length(max = SOURCE_CONTEXT_CHARS_MAX))]
    source_context: Option<String>,
}

#[async_trait]
impl Tool for MemoryCorrect {
    const NAME: &'static str = "memory_correct";
    const TITLE: &'static str = "Correct a memory";
    const DESCRIPTION: &'static str = "Replace an item's text. Use it when the user corrects something or an item \
        has become wrong. A new item replaces the old one, which is archived. Key, theme, type and tags \
        stay unless given. If the user confirmed it, the change is only proposed. Example: {\"item_id\": 42, \"content\": \"Lives in Porto.\", \"source\": \"user_explicit\"}";
    const SCOPE: Scope = Scope::MemoryWrite;
    type Input = CorrectInput;
    type Output = AddOutput;

    fn not_stored(input: &CorrectInput) -> &'static [&'static str] {
        match input.item_id {
            Some(_) => &[],
            None => &["key", "theme", "project"],
        }
    }

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: CorrectInput,
    ) -> Result<AddOutput, ToolError> {
        let user = call.viewer.user_id;
        let theme = theme_filter(&context.db, user, input.theme.as_deref()).await?;
        let dates = [&input.valid_from, &input.valid_until];
        let zone = zone_of(&context.db, user, &dates).await?;
        let (target, mut correction) = input.parse(theme, &zone)?;
        let of_item = match (&correction.key, &target) {
            (None, CorrectionTarget::Item(id)) => key_of(context, call, *id).await?,
            _ => None,
        };
        let key = match &target {
            CorrectionTarget::Key(key, ..) => Some(key),
            CorrectionTarget::Item(_) => correction.key.as_ref().or(of_item.as_ref()),
        };
        let said = (correction.item_type, key, correction.content.as_str());
        check_said(&context.db, user, said, &mut correction.provenance).await?;
        context.adding.take_room(user).await?;
        let added = memories::correct(
            &context.db,
            &context.clock,
            &context.embeddings,
            call,
            &target,
            &correction,
        )
        .await;
        match (added, target) {
            (Ok(added), _) => Ok(AddOutput::new(added, &correction.provenance)),
            (Err(error), CorrectionTarget::Item(id)) => {
                Err(lent::refused(context, call, id, error).await)
            }
            (Err(error), CorrectionTarget::Key(..)) => Err(error.into()),
        }
    }

    fn touched(output: &AddOutput) -> Vec<i64> {
        output.touched()
    }
}

/// The key that an item has; `None` too where there is no such item, which is refused later.
async fn key_of(
    context: &Services,
    call: &RunningCall,
    id: ItemId,
) -> Result<Option<ItemKey>, ToolError> {
    let day = Day::default();
    let found = memories::get(&context.db, &context.embeddings, &call.viewer, id, &day);
    match found.await {
        Ok(found) => Ok(found.item.key.as_deref().map(ItemKey::parse).transpose()?.flatten()),
        Err(MemoryError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl CorrectInput {
    fn parse(
        self,
        theme: Option<ThemeSlug>,
        zone: &Zone,
    ) -> Result<(CorrectionTarget, Correction), Invalid> {
        let content = required_text("content", &self.content, CONTENT_CHARS_MAX)?.to_owned();
        let key = self.key.as_deref().unwrap_or_default();
        let (target, new_key, new_theme) = match self.item_id {
            Some(id) => {
                let new_theme = theme.is_some().then_some(self.theme).flatten();
                (CorrectionTarget::Item(ItemId(id.0)), ItemKey::parse(key)?, new_theme)
            }
            None if key.trim().is_empty() => {
                return Err(Invalid::new(
                    "item_id",
                    "required",
                    "`item_id` is missing; give it, or the `key` of the item.",
                ));
            }
            None => (
                CorrectionTarget::Key(
                    required_key(key)?,
                    theme,
                    ProjectInput::parse(&self.project)?,
                ),
                None,
                None,
            ),
        };
        let expiry = self.expires_in_days.map(|n| match n.0 {
            0 => Ok(None),
            days => Expiry::in_days(days).map(Some),
        });
        let [from, until] = [&self.valid_from, &self.valid_until].map(DateText::text);
        let is_none = |date: &&str| date.trim().eq_ignore_ascii_case("none");
        let [dated_from, dated_until] = [from, until].map(|date| date.filter(|d| !is_none(d)));
        let period = Period::parse(zone, dated_from, dated_until)?;
        let given =
            |text: Option<&str>, date| text.filter(|text| !text.trim().is_empty()).map(|_| date);
        let correction = Correction {
            content,
            item_type: self.item_type.map(ItemType::from),
            theme: new_theme,
            key: new_key,
            tags: self.tags,
            expiry: expiry.transpose()?,
            valid_from: given(from, period.from),
            valid_until: given(until, period.until),
            provenance: provenance(self.source, self.source_context.as_deref(), self.confidence)?,
        };
        Ok((target, correction))
    }
}
