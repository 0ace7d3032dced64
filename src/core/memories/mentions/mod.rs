//! Names in a source: people, projects, organizations, places, addresses, dates. Rules without a model find them in the
//! transaction that writes the source. Each name belongs to an entity, which can have several; see `crate::entities`.

mod judge;
mod lists;
pub mod normal;
mod patterns;
mod rules;
pub mod store;
mod text;

use std::collections::{HashMap, HashSet};

use sqlx::PgConnection;
use time::OffsetDateTime;

pub use rules::find;

use crate::db::{UserId, labels};
use crate::json::json_labels;

/// Limit per source; later names in the text are ignored.
pub const MENTIONS_MAX: usize = 64;
/// Limit per user; beyond it, names are still found but no entities are created.
pub const ENTITIES_MAX: i64 = 100_000;

labels! {
    #[derive(PartialOrd, Ord)]
    pub enum EntityType {
        Person = "person",
        Project = "project",
        Organization = "organization",
        Location = "location",
        Product = "product",
        Date = "date",
        Email = "email",
        Url = "url",
        Other = "other",
    }
}

json_labels!(EntityType: EntityType::ALL);

impl EntityType {
    /// Whether both can be one entity: `Other` fits any type, and texts call the same thing a project, an organization and a
    /// product.
    pub fn may_be(self, other: Self) -> bool {
        let is_thing = |t| matches!(t, Self::Project | Self::Organization | Self::Product);
        self == other
            || self == Self::Other
            || other == Self::Other
            || is_thing(self) && is_thing(other)
    }

    /// Whether a name found with type `found` is that of an entity of this type. A type that a person has set stays.
    pub fn takes(self, is_by_person: bool, found: Self) -> bool {
        self.may_be(found) || is_by_person && !matches!(found, Self::Date | Self::Email | Self::Url)
    }
}

labels! {
    /// How a mention was found.
    pub enum FoundBy {
        Rules = "rules",
        Model = "model",
        /// It matches the name of a known entity, ignoring case.
        Known = "known",
    }
}

/// A name found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundName {
    pub name: String,
    pub entity_type: EntityType,
    /// Offset and length in characters.
    pub start: usize,
    pub length: usize,
    /// 0 to 100
    pub confidence: i16,
    /// Whether it is certain enough to create an entity. Otherwise it counts only if the name is already known.
    pub is_sure: bool,
}

/// A source with the names in it.
pub struct NamingSource {
    pub id: i64,
    pub at: OffsetDateTime,
    pub named: Vec<FoundName>,
    pub by: FoundBy,
}

impl NamingSource {
    pub fn of_text(id: i64, at: OffsetDateTime, text: &str) -> Self {
        Self { id, at, named: find(text), by: FoundBy::Rules }
    }
}

/// Merges the results of several finders: of overlapping names, keeps the most certain, then the longest.
pub fn merged(mut found: Vec<FoundName>) -> Vec<FoundName> {
    found.sort_by_key(|n| (std::cmp::Reverse((n.confidence, n.length)), n.start));
    let mut kept: Vec<FoundName> = Vec::new();
    for named in found {
        let (begins, ends) = (named.start, named.start + named.length);
        let overlaps = |k: &FoundName| begins < k.start + k.length && k.start < ends;
        if !kept.iter().any(overlaps) {
            kept.push(named);
        }
    }
    kept.sort_by_key(|n| n.start);
    kept
}

/// Writes which entities the sources mention, in the caller's write transaction. A known name is linked to its entity; a
/// certain unknown one creates an entity. For existing sources, only missing mentions are added.
pub async fn write(
    conn: &mut PgConnection,
    user: UserId,
    sources: &[NamingSource],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let wanted: Vec<(&NamingSource, Vec<(&FoundName, String)>)> = sources
        .iter()
        .map(|source| (source, distinct(&source.named)))
        .filter(|(_, named)| !named.is_empty())
        .collect();
    let normals: HashSet<&str> = wanted
        .iter()
        .flat_map(|(_, named)| named.iter().map(|(_, normal)| normal.as_str()))
        .collect();
    if normals.is_empty() {
        return Ok(());
    }
    let normals: Vec<String> = normals.into_iter().map(str::to_owned).collect();
    let known = store::find_names(conn, user, &normals).await?;
    let Some(known) = known else {
        // The user has switched entities off.
        return Ok(());
    };
    let mut by_normal: HashMap<&str, Vec<&store::KnownName>> = HashMap::new();
    for name in &known.names {
        by_normal.entry(&name.normal).or_default().push(name);
    }
    let mut new: Vec<store::NewEntity> = Vec::new();
    let mut places: HashMap<(String, EntityType), usize> = HashMap::new();
    let mut mentions: Vec<store::NewMention> = Vec::new();
    for (source, named) in &wanted {
        for (one, normal) in named {
            let of_name = by_normal.get(normal.as_str()).map_or(&[][..], Vec::as_slice);
            let name = match best(of_name, one.entity_type) {
                Some(name) => store::NameRef::Known(name.id),
                None if !one.is_sure || known.is_full => continue,
                None => {
                    let key = (normal.clone(), one.entity_type);
                    let place = *places.entry(key).or_insert_with(|| {
                        new.push(store::NewEntity {
                            name: one.name.clone(),
                            normal: normal.clone(),
                            entity_type: one.entity_type,
                        });
                        new.len() - 1
                    });
                    store::NameRef::New(place)
                }
            };
            mentions.push(store::NewMention {
                source_id: source.id,
                at: source.at,
                name,
                start: i32::try_from(one.start).unwrap_or(i32::MAX),
                length: i32::try_from(one.length).unwrap_or(i32::MAX),
                by: source.by,
                confidence: one.confidence,
            });
        }
    }
    if mentions.is_empty() {
        return Ok(());
    }
    store::insert_mentions(conn, user, &new, &mentions, now).await
}

/// The first occurrence of each distinct name, with its normal form, at most [`MENTIONS_MAX`].
fn distinct(named: &[FoundName]) -> Vec<(&FoundName, String)> {
    let mut seen = HashSet::new();
    named
        .iter()
        .map(|one| (one, normal::normal(&one.name, one.entity_type)))
        .filter(|(_, normal)| !normal.is_empty() && seen.insert(normal.clone()))
        .take(MENTIONS_MAX)
        .collect()
}

/// The best entity with this name: of the same type, then with a type that a person has set, then the most mentioned.
fn best<'a>(
    names: &[&'a store::KnownName],
    entity_type: EntityType,
) -> Option<&'a store::KnownName> {
    let fitting = names.iter().filter(|n| n.entity_type.takes(n.is_by_person, entity_type));
    fitting
        .max_by_key(|n| {
            (n.entity_type == entity_type, n.is_by_person, n.mentions, std::cmp::Reverse(n.id))
        })
        .copied()
}

/// Whether it is a known place, or one of several words that begins as one does: "Bad Ischl".
pub fn is_place(name: &str) -> bool {
    let words = normal::words(name);
    let joined = words.concat();
    let first = words.first().map(String::as_str).unwrap_or_default();
    lists::PLACES.contains(first)
        || lists::LONG_PLACES.contains(joined.as_str())
        || words.len() == 2 && lists::GERMAN_PLACES.contains(first)
}

/// Whether it is a country or a continent, as far as it is known.
pub fn is_country(name: &str) -> bool {
    const ENDS: [&str; 4] = ["国", "國", "ии", "ії"];
    const OTHERS: [&str; 8] =
        ["奥地利", "日本", "意大利", "西班牙", "オーストリア", "ドイツ", "독일", "오스트리아"];
    let words = normal::words(name);
    ENDS.iter().any(|end| name.ends_with(end))
        || OTHERS.contains(&name)
        || matches!(words.as_slice(), [one] if lists::COUNTRIES.contains(one.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(start: usize, length: usize, confidence: i16) -> FoundName {
        FoundName {
            name: "x".repeat(length),
            entity_type: EntityType::Other,
            start,
            length,
            confidence,
            is_sure: true,
        }
    }

    #[test]
    fn of_overlapping_results_the_surest_then_the_longest_wins() {
        let found = vec![named(0, 4, 70), named(0, 9, 90), named(12, 3, 60), named(12, 8, 60)];
        let kept: Vec<_> = merged(found).iter().map(|n| (n.start, n.length)).collect();
        assert_eq!(kept, [(0, 9), (12, 8)]);
    }
}
