//! Public types of entities and their relations.

use std::fmt;

use serde_json::Value;
use time::OffsetDateTime;

use super::predicates::Predicate;
use crate::input::Invalid;
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::{NAME_CHARS_MAX, visible};
use crate::memories::{Day, ItemId, Period, Trust};
use crate::search::FoundItem;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type)]
#[sqlx(transparent)]
pub struct EntityId(pub i64);

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An entity in a list.
#[derive(Clone, Debug)]
pub struct Entity {
    pub id: EntityId,
    pub name: String,
    pub entity_type: EntityType,
    /// It is the user who owns the memory.
    pub is_user: bool,
    pub is_protected: bool,
    pub summary: Option<String>,
    /// Number of mentions.
    pub mentions: i64,
    /// Dates of the first and last mention; `None` if there is none.
    pub first_seen: Option<OffsetDateTime>,
    pub last_seen: Option<OffsetDateTime>,
    /// Number of current relations, in either direction.
    pub relations: i64,
}

impl Entity {
    /// Its state on a past day with this many mentions; the summary is removed, because it is today's.
    pub(super) fn as_then(&mut self, day: &Day, mentions: usize) {
        self.summary = None;
        let Some(as_of) = day.as_of else { return };
        self.first_seen = self.first_seen.filter(|at| *at <= as_of);
        self.last_seen =
            self.last_seen.map(|at| at.min(as_of)).filter(|_| self.first_seen.is_some());
        self.mentions = mentions as i64;
    }
}

/// A name of an entity.
#[derive(Clone, Debug)]
pub struct Alias {
    pub id: i64,
    pub name: String,
    pub mentions: i64,
}

/// Combines names with the same spelling, which a merge can leave, adding up their mentions.
pub(super) fn each_once(names: Vec<Alias>) -> Vec<Alias> {
    let mut told: Vec<Alias> = Vec::new();
    for alias in names {
        match told.iter_mut().find(|other| other.name == alias.name) {
            Some(other) => other.mentions += alias.mentions,
            None => told.push(alias),
        }
    }
    told
}

/// The object of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationObject {
    Entity { id: EntityId, name: String, entity_type: EntityType },
    Value(String),
}

impl RelationObject {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Entity { name, .. } => name,
            Self::Value(value) => value,
        }
    }
}

/// A source of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationEvidence {
    pub sentence: Option<String>,
    pub item: Option<ItemId>,
    pub session: Option<i64>,
    /// Of the message in its session.
    pub position: Option<i32>,
    pub trust: Trust,
    pub at: OffsetDateTime,
}

#[derive(Clone, Debug)]
pub struct Relation {
    pub id: i64,
    pub subject: RelationObject,
    pub predicate: Predicate,
    pub words: Option<String>,
    pub object: RelationObject,
    pub period: Period,
    pub confidence: i16,
    pub trust: Trust,
    pub stated_at: OffsetDateTime,
    pub recorded_at: OffsetDateTime,
    /// When it was retired: it is not held true any more.
    pub retired_at: Option<OffsetDateTime>,
    /// The relation that replaced it.
    pub retired_for: Option<i64>,
    /// A few, newest first.
    pub evidence: Vec<RelationEvidence>,
}

impl Relation {
    /// Not retired, and valid at this time.
    pub fn is_current(&self, at: OffsetDateTime) -> bool {
        self.retired_at.is_none() && holds(self.period, at)
    }

    /// "lives in", or the relation's own words.
    pub fn in_words(&self, is_inverse: bool) -> String {
        match &self.words {
            Some(words) if self.predicate.needs_words() => words.clone(),
            _ => self.predicate.in_words(is_inverse),
        }
    }
}

pub fn holds(period: Period, at: OffsetDateTime) -> bool {
    period.from.is_none_or(|from| from <= at) && period.until.is_none_or(|until| at < until)
}

/// A decision about an entity.
#[derive(Clone, Debug)]
pub struct DecisionRecord {
    pub id: i64,
    pub event: String,
    pub by_person: bool,
    pub detail: Value,
    pub at: OffsetDateTime,
    pub undone_at: Option<OffsetDateTime>,
    /// The other entity involved, if it still exists.
    pub other_id: Option<i64>,
    pub other_name: Option<String>,
}

/// All data of an entity.
#[derive(Clone, Debug)]
pub struct Profile {
    pub entity: Entity,
    /// Most mentioned first.
    pub names: Vec<Alias>,
    /// Current first, then newest; at most [`RELATIONS_SHOWN`](super::RELATIONS_SHOWN).
    pub relations: Vec<Relation>,
    /// A few sources that name it, newest first.
    pub sources: Vec<FoundItem>,
    pub decisions: Vec<DecisionRecord>,
}

/// Two entities that may be the same.
#[derive(Clone, Debug)]
pub struct PossibleDuplicate {
    pub one: Entity,
    pub other: Entity,
    pub why: String,
}

/// Validates a name given by a user or an agent.
///
/// # Errors
/// [`Invalid`] naming `field`.
pub fn parse_name(field: &'static str, text: &str) -> Result<String, Invalid> {
    let name = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if name.is_empty() {
        return Err(Invalid::new(
            field,
            "required",
            format!("`{field}` is empty; give a name, such as Anna Berg."),
        ));
    }
    let chars = name.chars().count();
    if chars > NAME_CHARS_MAX {
        return Err(Invalid::new(
            field,
            "too_long",
            format!("`{field}` has {chars} characters; at most {NAME_CHARS_MAX} are accepted."),
        ));
    }
    Ok(name)
}
