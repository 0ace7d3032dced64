//! Entities and their relations, as lines of an export and an import. Their mentions are found again in
//! imported texts; what a person or a model said about them is part of the export.

pub(super) mod store;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::fields::{agent_name, trust};
use crate::accounts::AgentName;
use crate::entities::relations::{RelationTarget, StatedRelation, VALUE_CHARS_MAX};
use crate::entities::{EntityId, ImportedEntity, Predicate, RelationEvidence, parse_name};
use crate::input::Invalid;
use crate::memories::mentions::EntityType;
use crate::memories::{ItemId, Period};

/// Maximum names of an entity that are imported.
const NAMES_MAX: usize = 100;
/// Maximum sources in a relation's line.
const SOURCES_MAX: usize = 50;
const SENTENCE_CHARS_MAX: usize = 2_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntityLine {
    pub id: i64,
    pub name: String,
    pub r#type: String,
    #[serde(default)]
    pub is_user: bool,
    #[serde(default)]
    pub protected: bool,
    #[serde(default, skip_deserializing)]
    pub summary: Option<String>,
    #[serde(default, deserialize_with = "crate::export::fields::first_of::<_, _, NAMES_MAX>")]
    pub names: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RelationLine {
    pub id: i64,
    pub subject: i64,
    pub predicate: String,
    pub words: Option<String>,
    pub object: Option<i64>,
    pub value: Option<String>,
    #[serde(default, with = "crate::export::moment::option")]
    pub valid_from: Option<OffsetDateTime>,
    #[serde(default, with = "crate::export::moment::option")]
    pub valid_until: Option<OffsetDateTime>,
    pub confidence: i16,
    pub trust: String,
    #[serde(with = "crate::export::moment")]
    pub stated_at: OffsetDateTime,
    /// The agent that owns it; null: it is shared.
    pub owner: Option<String>,
    /// When it was retired or replaced. Such a relation is exported for its owner, and not imported.
    #[serde(default, with = "crate::export::moment::option")]
    pub retired_at: Option<OffsetDateTime>,
    #[serde(default, deserialize_with = "crate::export::fields::first_of::<_, _, SOURCES_MAX>")]
    pub sources: Vec<SourceLine>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceLine {
    pub item: Option<i64>,
    pub sentence: Option<String>,
    pub trust: String,
    #[serde(with = "crate::export::moment")]
    pub at: OffsetDateTime,
}

fn invalid(field: &'static str, sentence: impl Into<String>) -> Invalid {
    Invalid::new(field, "invalid", sentence.into())
}

impl EntityLine {
    /// Checks the line.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn checked(mut self) -> Result<(Self, EntityType), Invalid> {
        self.name = parse_name("name", &self.name)?;
        let entity_type = EntityType::from_label(&self.r#type).ok_or_else(|| {
            let known: Vec<&str> = EntityType::ALL.iter().map(|t| t.as_str()).collect();
            invalid("type", format!("`type` is none of {}.", known.join(", ")))
        })?;
        self.names.truncate(NAMES_MAX);
        Ok((self, entity_type))
    }

    pub fn as_taken(&self, entity_type: EntityType) -> ImportedEntity<'_> {
        ImportedEntity {
            name: &self.name,
            entity_type,
            names: &self.names,
            is_user: self.is_user,
            is_protected: self.protected,
        }
    }
}

impl RelationLine {
    /// The statements with our ids, and the owner. Empty if an end was not imported or the relation was
    /// retired.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn stated(
        &self,
        entity: impl Fn(i64) -> Option<EntityId>,
        item: impl Fn(i64) -> Option<i64>,
    ) -> Result<(Vec<StatedRelation>, Option<AgentName>), Invalid> {
        let is_fit = |text: &Option<String>| {
            text.as_ref().is_none_or(|t| (1..=VALUE_CHARS_MAX).contains(&t.chars().count()))
        };
        if !is_fit(&self.words) || !is_fit(&self.value) {
            return Err(invalid(
                "value",
                format!("`value` and `words` have 1 to {VALUE_CHARS_MAX} characters."),
            ));
        }
        let predicate = Predicate::parse(&self.predicate)
            .ok_or_else(|| invalid("predicate", "`predicate` is none that is known."))?;
        let stated_trust = trust(&self.trust)?;
        let period = Period::new(self.valid_from, self.valid_until)?;
        let object = match (self.object, &self.value) {
            (Some(id), None) => entity(id).map(RelationTarget::Entity),
            (None, Some(value)) => Some(RelationTarget::Value(value.clone())),
            _ => {
                return Err(invalid("object", "`object` or `value` is given, and not both."));
            }
        };
        let (Some(subject), Some(object)) = (entity(self.subject), object) else {
            return Ok((Vec::new(), None));
        };
        if self.retired_at.is_some() || object == RelationTarget::Entity(subject) {
            return Ok((Vec::new(), None));
        }
        let mut evidence = vec![RelationEvidence {
            sentence: None,
            item: None,
            session: None,
            position: None,
            trust: stated_trust,
            at: self.stated_at,
        }];
        let sources = self.sources.iter().take(SOURCES_MAX);
        let told: Result<Vec<RelationEvidence>, Invalid> = sources
            .map(|source| {
                Ok(RelationEvidence {
                    sentence: source
                        .sentence
                        .as_ref()
                        .map(|s| s.chars().take(SENTENCE_CHARS_MAX).collect()),
                    item: source.item.and_then(&item).map(ItemId),
                    trust: trust(&source.trust)?,
                    at: source.at,
                    ..evidence[0].clone()
                })
            })
            .collect();
        let told = told?;
        if !told.is_empty() {
            evidence = told;
        }
        let each = evidence.into_iter().map(|evidence| StatedRelation {
            subject,
            predicate,
            words: self.words.clone(),
            object: object.clone(),
            period,
            confidence: self.confidence.clamp(0, 100),
            evidence,
        });
        Ok((each.collect(), agent_name(self.owner.as_deref())?))
    }
}
