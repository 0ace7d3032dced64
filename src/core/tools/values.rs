//! Values that several tools accept or return, with their JSON Schemas, independent of what a tool does with
//! them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::accounts::store::find_time_zone;
use crate::clock::Zone;
use crate::consolidation;
use crate::db::{Db, UserId};
use crate::entities::Relation;
use crate::input::Invalid;
use crate::memories::derived::Outdated;
use crate::memories::provenance::{parse_confidence, parse_source_context};
use crate::memories::{
    self, ItemKey, ItemSource, ItemType, MemoryError, Provenance, ThemeSlug, Trust,
};
use crate::texts::is_blank;

// An item type in tools. Its schema has no description, which would cost tokens in every call of a model.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ToolItemType {
    Preference,
    Fact,
    Instruction,
    Summary,
    Other,
}

impl From<ToolItemType> for ItemType {
    fn from(item_type: ToolItemType) -> Self {
        match item_type {
            ToolItemType::Preference => Self::Preference,
            ToolItemType::Fact => Self::Fact,
            ToolItemType::Instruction => Self::Instruction,
            ToolItemType::Summary => Self::Summary,
            ToolItemType::Other => Self::Other,
        }
    }
}

/// The provenance of an item, as an agent states it.
pub fn provenance(
    source: Option<ItemSource>,
    context: Option<&str>,
    confidence: Option<WholeNumber>,
) -> Result<Provenance, Invalid> {
    Ok(Provenance {
        source: source.unwrap_or_default(),
        context: parse_source_context(context.unwrap_or_default())?,
        confidence: confidence.map(|n| parse_confidence(n.0)).transpose()?,
        ..Provenance::default()
    })
}

/// Raises the trust to the user's if a stored message has the quote and proves that the user said this. An agent's instruction
/// is never the user's word: it is read as an order.
pub async fn check_said(
    db: &Db,
    user: UserId,
    (item_type, key, content): (Option<ItemType>, Option<&ItemKey>, &str),
    provenance: &mut Provenance,
) -> Result<(), sqlx::Error> {
    if provenance.source == ItemSource::UserExplicit
        && item_type != Some(ItemType::Instruction)
        && let Some(quote) = &provenance.context
        && consolidation::is_said_by_user(db, user, quote, key, content).await?
    {
        provenance.trust = Some(Trust::User);
    }
    Ok(())
}

/// A key that must not be empty.
pub fn required_key(key: &str) -> Result<ItemKey, Invalid> {
    ItemKey::parse(key)?.ok_or_else(|| {
        Invalid::new(
            "key",
            "required",
            "`key` is empty; give the name of a fact, such as home_city.",
        )
    })
}

/// Models send an empty text for what they leave out.
pub fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !is_blank(text))
}

/// The theme of this slug or display name; blank means all themes.
pub async fn theme_filter(
    db: &Db,
    user: UserId,
    theme: Option<&str>,
) -> Result<Option<ThemeSlug>, MemoryError> {
    match theme.filter(|theme| !theme.trim().is_empty()) {
        Some(theme) => memories::find_theme(db, user, theme).await.map(Some),
        None => Ok(None),
    }
}

/// The user's time zone, in which dates without an offset are. Read only if there is one.
pub async fn zone_of(
    db: &Db,
    user: UserId,
    dates: &[&Option<DateText>],
) -> Result<Zone, sqlx::Error> {
    let is_given = |date: &&Option<DateText>| date.is_some();
    match dates.iter().any(is_given) {
        true => time_zone(db, user).await,
        false => Ok(Zone::utc()),
    }
}

/// The user's time zone.
pub async fn time_zone(db: &Db, user: UserId) -> Result<Zone, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let zone = find_time_zone(&mut tx, user).await?;
    Ok(zone.unwrap_or_else(Zone::utc))
}

// A date as people write it. Its schema is a string's, which all clients know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(inline)]
pub struct DateText(String);

impl DateText {
    pub fn text(date: &Option<Self>) -> Option<&str> {
        date.as_ref().map(|date| date.0.as_str())
    }
}

/// A year may come as a number, 800 for 0800.
impl From<String> for DateText {
    fn from(text: String) -> Self {
        match text.bytes().all(|b| b.is_ascii_digit()) {
            true if !text.is_empty() => Self(format!("{text:0>4}")),
            _ => Self(text),
        }
    }
}

/// A whole number, whose schema has no format.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct WholeNumber(pub i64);

impl JsonSchema for WholeNumber {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Whole".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer" })
    }
}

/// A relation between two entities.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RelationOut {
    subject: String,
    relation: String,
    object: String,
    /// Period, such as "since 2019" or "until May 2024"; null if unknown.
    when: Option<String>,
    /// It was archived or replaced.
    retired: bool,
    trust: Trust,
    /// The sentence that states it.
    sentence: Option<String>,
    /// Id of the memory that contains the sentence.
    item_id: Option<i64>,
}

impl RelationOut {
    pub fn new(relation: Relation, zone: &Zone) -> Self {
        let evidence = relation.evidence.first();
        Self {
            relation: relation.in_words(false),
            when: Some(relation.period.told(zone)).filter(|when| !when.is_empty()),
            retired: relation.retired_at.is_some(),
            trust: relation.trust,
            sentence: evidence.and_then(|e| e.sentence.clone()),
            item_id: evidence.and_then(|e| e.item).map(|id| id.0),
            subject: relation.subject.as_str().to_owned(),
            object: relation.object.as_str().to_owned(),
        }
    }
}

/// Whether a message, an episode or a derived text states something that is no longer true.
#[derive(Serialize, JsonSchema)]
pub struct OutdatedText {
    /// Its statement was replaced. Id of the memory that is true instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<i64>,
    /// Its statement is no longer true, and no memory replaces it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    no_longer_held: bool,
}

impl From<Option<Outdated>> for OutdatedText {
    fn from(outdated: Option<Outdated>) -> Self {
        Self {
            replaced_by: match outdated {
                Some(Outdated::ReplacedBy(newer)) => Some(newer.0),
                _ => None,
            },
            no_longer_held: outdated == Some(Outdated::NotHeld),
        }
    }
}
