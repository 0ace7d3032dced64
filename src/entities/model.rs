//! What an entity is, and a relation between two, as everybody else sees them.

use std::fmt;

use serde_json::Value;
use time::OffsetDateTime;

use super::predicates::Predicate;
use crate::input::Invalid;
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::{NAME_CHARS_MAX, visible};
use crate::memories::{Day, ItemId, Period, Trust};
use crate::search::FoundItem;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// The person whose memory it is.
    pub is_user: bool,
    pub is_protected: bool,
    pub summary: Option<String>,
    /// Sources that name it.
    pub mentions: i64,
    /// Dates of these; `None` where nothing names it.
    pub first_seen: Option<OffsetDateTime>,
    pub last_seen: Option<OffsetDateTime>,
    /// Current ones, at either end.
    pub relations: i64,
}

impl Entity {
    /// On another day than today, on which so many sources named it: its summary is of today.
    pub(super) fn as_then(&mut self, day: &Day, mentions: usize) {
        self.summary = None;
        let Some(as_of) = day.as_of else { return };
        self.first_seen = self.first_seen.filter(|at| *at <= as_of);
        self.last_seen = self
            .last_seen
            .map(|at| at.min(as_of))
            .filter(|_| self.first_seen.is_some());
        self.mentions = mentions as i64;
    }
}

/// One of the names of an entity.
#[derive(Clone, Debug)]
pub struct Alias {
    pub id: i64,
    pub name: String,
    pub mentions: i64,
}

/// After a merge two may be written alike: told once, with the mentions of both.
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

/// What stands at the end of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Entity {
        id: EntityId,
        name: String,
        entity_type: EntityType,
    },
    Value(String),
}

impl End {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Entity { name, .. } => name,
            Self::Value(value) => value,
        }
    }
}

/// The words that a relation was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub sentence: Option<String>,
    pub item: Option<ItemId>,
    pub session: Option<i64>,
    /// Of the message in the session.
    pub position: Option<i32>,
    pub trust: Trust,
    pub at: OffsetDateTime,
}

#[derive(Clone, Debug)]
pub struct Relation {
    pub id: i64,
    pub subject: End,
    pub predicate: Predicate,
    pub words: Option<String>,
    pub object: End,
    pub period: Period,
    pub confidence: i16,
    pub trust: Trust,
    pub stated_at: OffsetDateTime,
    pub recorded_at: OffsetDateTime,
    /// Since when it is held for true no more.
    pub retired_at: Option<OffsetDateTime>,
    /// The relation that stands in its place.
    pub retired_for: Option<i64>,
    /// Newest first, a few.
    pub evidence: Vec<Evidence>,
}

impl Relation {
    /// Held for true, and true at this time.
    pub fn is_current(&self, at: OffsetDateTime) -> bool {
        self.retired_at.is_none() && holds(self.period, at)
    }

    /// "lives in", or the words of one that has its own.
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

/// What was decided about an entity.
#[derive(Clone, Debug)]
pub struct Decision {
    pub id: i64,
    pub event: String,
    pub by_person: bool,
    pub detail: Value,
    pub at: OffsetDateTime,
    pub undone_at: Option<OffsetDateTime>,
    /// The other entity that it is about, while there is one.
    pub other_id: Option<i64>,
    pub other_name: Option<String>,
}

/// All of an entity.
#[derive(Clone, Debug)]
pub struct Profile {
    pub entity: Entity,
    /// Most mentioned first.
    pub names: Vec<Alias>,
    /// Current first, then newest; [`RELATIONS_SHOWN`](super::RELATIONS_SHOWN) at most.
    pub relations: Vec<Relation>,
    /// Of sources that name it, newest first, a few.
    pub sources: Vec<FoundItem>,
    pub decisions: Vec<Decision>,
}

/// Two that may be one.
#[derive(Clone, Debug)]
pub struct Pair {
    pub one: Entity,
    pub other: Entity,
    pub why: String,
}

/// A name as a person or an agent gives it.
///
/// # Errors
/// [`Invalid`] naming `field`.
pub fn parse_name(field: &'static str, text: &str) -> Result<String, Invalid> {
    let name = visible(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
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
