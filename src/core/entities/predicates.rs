//! The fixed list of relation predicates. Anything else is `related_to` with its own words.

use std::fmt;

use sqlx::Postgres;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgValueRef;

use crate::memories::mentions::EntityType;

/// An entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Predicate(&'static PredicateEntry);

#[derive(Debug, PartialEq, Eq, Hash)]
struct PredicateEntry {
    name: &'static str,
    /// Wording from the object's side: "home of".
    inverse: &'static str,
    /// A subject has one object at a time.
    is_single: bool,
    /// Symmetric.
    is_mutual: bool,
    /// Type of the object; `None`: a plain value, such as a job or a language.
    object: Option<EntityType>,
}

const fn of(
    name: &'static str,
    inverse: &'static str,
    object: Option<EntityType>,
) -> PredicateEntry {
    PredicateEntry { name, inverse, is_single: false, is_mutual: false, object }
}

const fn single(entry: PredicateEntry) -> PredicateEntry {
    PredicateEntry { is_single: true, ..entry }
}

const fn mutual(entry: PredicateEntry) -> PredicateEntry {
    PredicateEntry { is_mutual: true, ..entry }
}

use EntityType::{Location, Organization, Other, Person, Product, Project};

static LIST: [PredicateEntry; 32] = [
    single(of("lives_in", "home of", Some(Location))),
    single(of("born_in", "birthplace of", Some(Location))),
    single(of("born_on", "birthday of", None)),
    of("works_at", "employs", Some(Organization)),
    single(of("works_as", "work of", None)),
    of("works_on", "worked on by", Some(Project)),
    of("studies_at", "attended by", Some(Organization)),
    mutual(single(of("married_to", "married to", Some(Person)))),
    mutual(of("partner_of", "partner of", Some(Person))),
    of("parent_of", "child of", Some(Person)),
    of("child_of", "parent of", Some(Person)),
    mutual(of("sibling_of", "sibling of", Some(Person))),
    mutual(of("friend_of", "friend of", Some(Person))),
    mutual(of("colleague_of", "colleague of", Some(Person))),
    mutual(of("knows", "known by", Some(Person))),
    single(of("reports_to", "manages", Some(Person))),
    of("member_of", "has member", Some(Organization)),
    of("leads", "led by", Some(Other)),
    of("founded", "founded by", Some(Organization)),
    of("created", "created by", Some(Other)),
    of("owns", "owned by", Some(Other)),
    of("uses", "used by", Some(Product)),
    of("prefers", "preferred by", None),
    of("likes", "liked by", None),
    of("dislikes", "disliked by", None),
    of("speaks", "spoken by", None),
    of("allergic_to", "allergy of", None),
    single(of("located_in", "location of", Some(Location))),
    of("part_of", "has part", Some(Other)),
    of("depends_on", "needed by", Some(Other)),
    of("visited", "visited by", Some(Location)),
    of(RELATED_TO, "related to", Some(Other)),
];

const RELATED_TO: &str = "related_to";

impl Predicate {
    pub fn all() -> impl Iterator<Item = Self> {
        LIST.iter().map(Self)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase().replace([' ', '-'], "_");
        Self::all().find(|p| p.as_str() == text)
    }

    pub fn related_to() -> Self {
        Self(&LIST[LIST.len() - 1])
    }

    pub fn as_str(self) -> &'static str {
        self.0.name
    }

    /// "lives in"; from the object's side "home of".
    pub fn in_words(self, is_inverse: bool) -> String {
        match is_inverse {
            true => self.0.inverse.to_owned(),
            false => self.0.name.replace('_', " "),
        }
    }

    pub fn is_single(self) -> bool {
        self.0.is_single
    }

    pub fn is_mutual(self) -> bool {
        self.0.is_mutual
    }

    pub fn needs_words(self) -> bool {
        self.0.name == RELATED_TO
    }

    pub fn object(self) -> Option<EntityType> {
        self.0.object
    }
}

/// One that is not in the list relates.
impl sqlx::Decode<'_, Postgres> for Predicate {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(Self::parse(value.as_str()?).unwrap_or_else(Self::related_to))
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read_as_it_is_written() {
        for one in Predicate::all() {
            assert_eq!(Predicate::parse(one.as_str()), Some(one));
        }
        assert_eq!(Predicate::parse(" Lives in ").map(Predicate::as_str), Some("lives_in"));
        assert_eq!(Predicate::parse("eats"), None);
        assert!(Predicate::related_to().needs_words());
    }
}
