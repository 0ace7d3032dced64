//! Parses the entities and relations that a model finds in texts. Parsing is lenient, and keeps only what the
//! text supports. An unusable part does not affect the others and is never an error.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::facts::without_thoughts;
use crate::db::UserId;
use crate::entities::relations::{self, RelationTarget, StatedRelation, VALUE_CHARS_MAX};
use crate::entities::{self, EntityId, Predicate, RelationEvidence};
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::{NAME_CHARS_MAX, words};
use crate::memories::{Period, Trust};

/// Maximum entries per answer.
const ENTITIES_MAX: usize = 100;
const CONNECTIONS_MAX: usize = 100;
const SENTENCE_CHARS_MAX: usize = 500;
/// The model's name for the user.
pub const USER: &str = "user";

/// One end of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtractedEnd {
    /// The owner of the memory.
    User,
    Named(String, EntityType),
    Value(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractedRelation {
    pub subject: ExtractedEnd,
    pub predicate: Predicate,
    pub words: Option<String>,
    pub object: ExtractedEnd,
    pub period: Period,
    /// The sentence, as the model quotes it.
    pub sentence: String,
    /// The number of the text it was read from, starting at 1.
    pub text: usize,
}

impl ExtractedEnd {
    fn as_str(&self) -> &str {
        match self {
            Self::User => USER,
            Self::Named(text, _) | Self::Value(text) => text,
        }
    }
}

impl ExtractedRelation {
    /// Such as "Anna lives in Lyon".
    pub fn in_words(&self) -> String {
        let relation = self.words.clone().unwrap_or_else(|| self.predicate.in_words(false));
        format!("{} {relation} {}", self.subject.as_str(), self.object.as_str())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractedNames {
    /// Each with the number of its text.
    pub entities: Vec<(usize, String, EntityType)>,
    pub connections: Vec<ExtractedRelation>,
}

/// Parses the entities and relations that an answer finds in these texts.
pub fn read(answer: &str, texts: &[&str]) -> ExtractedNames {
    let mut names = ExtractedNames::default();
    let answer = without_thoughts(answer);
    let Some(object) = first_object(answer) else {
        return names;
    };
    let texts: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    let list = |name: &str| object[name].as_array().cloned().unwrap_or_default();
    let place = |value: &Value| match value["text"].as_u64() {
        Some(n) if (1..=texts.len() as u64).contains(&n) => Some(n as usize),
        _ => (texts.len() == 1).then_some(1),
    };
    for one in list("entities").iter().take(ENTITIES_MAX) {
        let Some(text) = place(one) else { continue };
        let Some(name) = text_of(one, "name", NAME_CHARS_MAX) else {
            continue;
        };
        let entity_type = read_type(&one["type"]);
        if stands_in(&name, &texts[text - 1]) && !is_user(&name) {
            names.entities.push((text, name, entity_type));
        }
    }
    for one in list("connections").iter().take(CONNECTIONS_MAX) {
        let Some(text) = place(one) else { continue };
        let read = connection(one, text, &texts[text - 1], &names.entities);
        names.connections.extend(read);
    }
    names
}

fn connection(
    value: &Value,
    text: usize,
    words: &[String],
    entities: &[(usize, String, EntityType)],
) -> Option<ExtractedRelation> {
    let relation = text_of(value, "relation", VALUE_CHARS_MAX)?;
    let predicate = Predicate::parse(&relation).unwrap_or_else(Predicate::related_to);
    let own_words = predicate.needs_words().then(|| relation.replace('_', " "));
    if own_words.as_deref() == Some("related to") {
        // "Related to" says nothing.
        return None;
    }
    let type_of = |name: &str| {
        let same = |n: &String| n.to_lowercase() == name.to_lowercase();
        entities.iter().find(|(_, known, _)| same(known)).map(|(_, _, t)| *t)
    };
    let end = |field: &str, default: Option<EntityType>| -> Option<ExtractedEnd> {
        let name = text_of(value, field, VALUE_CHARS_MAX)?;
        if is_user(&name) {
            return Some(ExtractedEnd::User);
        }
        if !stands_in(&name, words) {
            return None;
        }
        Some(match type_of(&name).or(default) {
            Some(entity_type) => ExtractedEnd::Named(name, entity_type),
            None => ExtractedEnd::Value(name),
        })
    };
    let subject = end("subject", Some(EntityType::Person))?;
    let object = end("object", predicate.object())?;
    (subject != object && !matches!(subject, ExtractedEnd::Value(_))).then(|| ExtractedRelation {
        subject,
        predicate,
        words: own_words,
        object,
        period: Period::read(
            text_of(value, "valid_from", VALUE_CHARS_MAX),
            text_of(value, "valid_until", VALUE_CHARS_MAX),
        ),
        sentence: text_of(value, "sentence", SENTENCE_CHARS_MAX).unwrap_or_default(),
        text,
    })
}

fn is_user(name: &str) -> bool {
    matches!(name.to_lowercase().as_str(), USER | "the user" | "me" | "i" | "ich" | "myself")
}

fn read_type(value: &Value) -> EntityType {
    let text = value.as_str().unwrap_or_default().trim().to_lowercase();
    match text.as_str() {
        "organisation" | "company" => EntityType::Organization,
        "place" | "city" | "country" => EntityType::Location,
        "tool" | "software" => EntityType::Product,
        known => EntityType::from_label(known).unwrap_or(EntityType::Other),
    }
}

fn text_of(value: &Value, field: &str, chars_max: usize) -> Option<String> {
    let text = value[field].as_str()?;
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text.trim();
    (!text.is_empty() && text.chars().count() <= chars_max).then(|| text.to_owned())
}

/// Whether the name's words occur in the text in sequence; for scripts without blanks, within a word.
fn stands_in(name: &str, text: &[String]) -> bool {
    let name = words(name);
    let is_unspaced = |word: &String| !word.is_ascii() && word.chars().count() <= 12;
    match name.as_slice() {
        [] => false,
        [one] if is_unspaced(one) => text.iter().any(|word| word.contains(one.as_str())),
        many => text.windows(many.len()).any(|some| some == many),
    }
}

/// The first object with entities or relations, whatever surrounds it.
fn first_object(text: &str) -> Option<Value> {
    const STARTS_MAX: usize = 100;
    let starts = text.match_indices('{').take(STARTS_MAX);
    starts
        .filter_map(|(at, _)| {
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
            values.next()?.ok()
        })
        .find(|value| value["entities"].is_array() || value["connections"].is_array())
}

/// Creates missing entities; the upkeep job finds their mentions.
pub async fn note_names(
    conn: &mut PgConnection,
    user: UserId,
    named: Vec<(&str, EntityType)>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    for (name, entity_type) in named {
        entities::ensure(&mut *conn, user, name, entity_type, now).await?;
    }
    Ok(())
}

/// Stores a relation and the entities at its ends, in a transaction that has raised the user's revision.
pub async fn note_connection(
    conn: &mut PgConnection,
    user: UserId,
    said: &ExtractedRelation,
    evidence: RelationEvidence,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let Some(subject) = entity_of(&mut *conn, user, &said.subject, now).await? else {
        return Ok(());
    };
    let object = match &said.object {
        ExtractedEnd::Value(value) => RelationTarget::Value(value.clone()),
        named => match entity_of(&mut *conn, user, named, now).await? {
            Some(id) => RelationTarget::Entity(id),
            None => return Ok(()),
        },
    };
    if object == RelationTarget::Entity(subject) {
        return Ok(());
    }
    let stated = StatedRelation {
        subject,
        predicate: said.predicate,
        words: said.words.clone(),
        object,
        period: said.period,
        confidence: match evidence.trust {
            Trust::User => 90,
            _ => 70,
        },
        evidence,
    };
    relations::note(conn, user, &stated, now).await?;
    Ok(())
}

async fn entity_of(
    conn: &mut PgConnection,
    user: UserId,
    said: &ExtractedEnd,
    now: OffsetDateTime,
) -> Result<Option<EntityId>, sqlx::Error> {
    match said {
        ExtractedEnd::User => entities::ensure_user(conn, user, now).await.map(Some),
        ExtractedEnd::Named(name, entity_type) => {
            entities::ensure(conn, user, name, *entity_type, now).await
        }
        ExtractedEnd::Value(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Zone;

    const TEXT: &str = "User: Anna Berg moved to Lyon in May. She works at Acme GmbH as a baker.";

    #[test]
    fn what_the_text_bears_out_is_read_and_nothing_else() {
        let answer = r#"Sure: {"facts": [], "entities": [{"name": "Anna Berg", "type": "person"}, {"name": "Acme GmbH", "type": "company"},
            {"name": "Bob", "type": "person"}, {"name": "user", "type": "person"}, 7, {"name": ""}],
            "connections": [
              {"subject": "Anna Berg", "relation": "lives_in", "object": "Lyon", "valid_from": "2024-05", "sentence": "moved to Lyon in May"},
              {"subject": "Anna Berg", "relation": "works as", "object": "a baker"},
              {"subject": "Anna Berg", "relation": "works_at", "object": "Globex"},
              {"subject": "user", "relation": "met at the market", "object": "Anna Berg"},
              {"subject": "Anna Berg", "relation": "related_to", "object": "Lyon"},
              {"subject": "Anna Berg", "relation": "knows", "object": "Anna Berg"}]}"#;
        let read = read(answer, &[TEXT]);
        let entities: Vec<_> = read.entities.iter().map(|(_, n, t)| (n.as_str(), *t)).collect();
        assert_eq!(
            entities,
            [("Anna Berg", EntityType::Person), ("Acme GmbH", EntityType::Organization)]
        );
        let connections: Vec<_> = read
            .connections
            .iter()
            .map(|c| (c.predicate.as_str(), c.words.as_deref(), c.object.clone()))
            .collect();
        let anna = ExtractedEnd::Named("Anna Berg".to_owned(), EntityType::Person);
        assert_eq!(
            connections,
            [
                ("lives_in", None, ExtractedEnd::Named("Lyon".to_owned(), EntityType::Location)),
                ("works_as", None, ExtractedEnd::Value("a baker".to_owned())),
                ("related_to", Some("met at the market"), anna),
            ]
        );
        assert_eq!(read.connections[0].period.told(&Zone::utc()), "since May 2024");
    }

    #[test]
    fn nonsense_names_nothing() {
        for answer in [
            "",
            "no",
            "[]",
            "{\"entities\": 7}",
            "{\"entities\": [{\"name\": \"Anna",
            &"{".repeat(50_000),
        ] {
            assert_eq!(read(answer, &[TEXT]), ExtractedNames::default(), "{}", answer.len());
        }
    }

    #[test]
    fn of_several_texts_each_part_says_which() {
        let answer = r#"{"entities": [{"text": 2, "name": "Oslo", "type": "place"}, {"text": 1, "name": "Oslo", "type": "place"}, {"name": "Rome"}]}"#;
        let read = read(answer, &["Rome", "to Oslo"]);
        assert_eq!(read.entities, [(2, "Oslo".to_owned(), EntityType::Location)]);
    }
}
