//! The graph of the MCP reference server (`memory.jsonl`), and relations in the same shape: entities, what was observed of
//! them, and relations.

use std::collections::HashMap;

use time::OffsetDateTime;

use super::draft::Draft;
use super::entry::{EntryFields, each_of, text};
use super::{ForeignReader, ReadResult};
use crate::entities::Predicate;
use crate::entities::relations::VALUE_CHARS_MAX;
use crate::export::entities::{EntityLine, RelationLine, SourceLine};
use crate::export::read::ImportRecord;
use crate::input::Invalid;
use crate::memories::Trust;
use crate::memories::mentions::EntityType;

/// Entities and relations of one import that a file or folder brings.
pub const ENTITIES_MAX: usize = 10_000;
pub const RELATIONS_MAX: usize = 20_000;
const CONFIDENCE: i16 = 100;

/// The entities that were passed on, by name.
#[derive(Default)]
pub struct PassedEntities {
    ids: HashMap<String, i64>,
    relations: usize,
}

/// One end of a relation, the other, and how they relate in its own words.
pub struct RelationText {
    pub subject: String,
    pub words: String,
    pub object: String,
    pub sentence: Option<String>,
    pub at: Option<OffsetDateTime>,
}

/// As the MCP server and mem0 name the ends of a relation.
const FROM: [&str; 2] = ["from", "source"];
const TO: [&str; 3] = ["to", "target", "destination"];
const WORDS: [&str; 2] = ["relationtype", "relationship"];

pub fn is_graph(fields: &EntryFields<'_>) -> bool {
    let is = |name: &str| fields.text("type").as_deref() == Some(name);
    is_relation(fields)
        || is("entity") && (fields.has("name") || fields.has("observations"))
        || is("relation") && (fields.first(&FROM).is_some() || fields.first(&TO).is_some())
        || fields.has("entitytype")
        || fields.has("observations") && fields.has("name")
}

fn is_relation(fields: &EntryFields<'_>) -> bool {
    [&FROM[..], &TO, &WORDS].iter().all(|names| fields.first(names).is_some())
}

/// A type of ours for a word that programs use.
pub fn entity_type_of(word: &str) -> Option<EntityType> {
    let word = word.trim().to_lowercase();
    let like = match word.as_str() {
        "people" | "human" | "user" | "contact" => Some(EntityType::Person),
        "organisation" | "company" | "team" | "institution" => Some(EntityType::Organization),
        "place" | "city" | "country" => Some(EntityType::Location),
        "tool" | "software" | "technology" | "library" => Some(EntityType::Product),
        _ => None,
    };
    EntityType::from_label(&word).or(like)
}

impl ForeignReader<'_> {
    pub(super) fn read_graph(&mut self, place: &str, fields: &EntryFields<'_>) -> ReadResult {
        let is_line_of_relation = fields.text("type").as_deref() == Some("relation");
        if is_relation(fields) || is_line_of_relation && !fields.has("observations") {
            let of = |names: &[&'static str]| fields.first(names).and_then(|(_, json)| text(json));
            let (Some(subject), Some(words), Some(object)) = (of(&FROM), of(&WORDS), of(&TO))
            else {
                let sentence =
                    "`from`, `to` and `relationType` are texts, and one of them is missing.";
                return self.refuse(place, Invalid::new("from", "required", sentence));
            };
            return self.relate(
                place,
                RelationText {
                    subject: subject.into_owned(),
                    words: words.into_owned(),
                    object: object.into_owned(),
                    sentence: None,
                    at: None,
                },
            );
        }
        let Some(name) = fields.text("name").filter(|name| !name.trim().is_empty()) else {
            let sentence = "`name` is missing; it names the entity.";
            return self.refuse(place, Invalid::new("name", "required", sentence));
        };
        let word = fields.text("entitytype").unwrap_or_default();
        self.entity(place, &name, entity_type_of(&word).unwrap_or(EntityType::Other), &[])?;
        let mut observations = Vec::new();
        let json = fields.get("observations").unwrap_or("[]");
        let is_list = json.starts_with('[')
            && each_of(json, |one| observations.push(text(one).map(String::from))).is_ok();
        if !is_list {
            let sentence = "`observations` is not a list of texts: left out.";
            self.skip(place, sentence)?;
        }
        let tag = Some(word).filter(|word| !word.trim().is_empty());
        for (number, observation) in (1..).zip(observations) {
            let place = format!("{place}, observation {number}");
            let Some(observation) = observation.filter(|text| !text.trim().is_empty()) else {
                let sentence = "It is not a text.";
                self.refuse(&place, Invalid::new("observations", "invalid_value", sentence))?;
                continue;
            };
            // Without its entity, "speaks Spanish" says nothing.
            let whole = match observation.to_lowercase().contains(&name.to_lowercase()) {
                true => observation,
                false => format!("{name}: {observation}"),
            };
            let mut draft = Draft::new("mcp_memory", whole);
            draft.tag_all(
                "entityType",
                vec![tag.clone()].into_iter().filter(Option::is_some).collect(),
            );
            self.draft(&place, draft)?;
        }
        Ok(())
    }

    /// Passes on an entity once; its number in the import. `None` if it cannot be one.
    pub(super) fn entity(
        &mut self,
        place: &str,
        name: &str,
        entity_type: EntityType,
        names: &[String],
    ) -> ReadResult<Option<i64>> {
        if let Some(id) = self.graph.ids.get(name) {
            return Ok(Some(*id));
        }
        if self.graph.ids.len() >= ENTITIES_MAX {
            let sentence = format!("An import brings at most {ENTITIES_MAX} entities.");
            self.refuse(place, Invalid::new("name", "too_many", sentence))?;
            return Ok(None);
        }
        let id = self.graph.ids.len() as i64 + 1;
        let line = EntityLine {
            id,
            name: name.to_owned(),
            r#type: entity_type.as_str().to_owned(),
            is_user: false,
            protected: false,
            summary: None,
            names: names.to_vec(),
        };
        match line.checked() {
            Ok((line, entity_type)) => {
                self.graph.ids.insert(name.to_owned(), id);
                self.pass_on(place, ImportRecord::Entity(line, entity_type))?;
                Ok(Some(id))
            }
            Err(invalid) => {
                self.refuse(place, invalid)?;
                Ok(None)
            }
        }
    }

    /// A relation of ours if its words are one, else in its words.
    pub(super) fn relate(&mut self, place: &str, text: RelationText) -> ReadResult {
        if self.graph.relations >= RELATIONS_MAX {
            let sentence = format!("An import brings at most {RELATIONS_MAX} relations.");
            return self.refuse(place, Invalid::new("relationType", "too_many", sentence));
        }
        self.graph.relations += 1;
        let words = text.words.trim().to_owned();
        let is_fit = |text: &str| (1..=VALUE_CHARS_MAX).contains(&text.trim().chars().count());
        if !is_fit(&words) || !is_fit(&text.object) {
            let sentence =
                format!("A relation and its ends have 1 to {VALUE_CHARS_MAX} characters.");
            return self.refuse(place, Invalid::new("relationType", "too_long", sentence));
        }
        let named = Predicate::parse(&words).filter(|named| !named.needs_words());
        let predicate = named.unwrap_or(Predicate::related_to());
        let is_value = named.is_some_and(|named| named.object().is_none());
        let object_type = predicate.object().unwrap_or(EntityType::Other);
        let Some(subject) = self.entity(place, &text.subject, EntityType::Other, &[])? else {
            return Ok(());
        };
        let object = match is_value {
            true => None,
            false => match self.entity(place, &text.object, object_type, &[])? {
                Some(id) => Some(id),
                None => return Ok(()),
            },
        };
        // Whose word it is decides the import; a file that its person vouches for is an agent's.
        let trust = Trust::Agent.as_str().to_owned();
        let at = text.at.unwrap_or(self.now);
        let source = SourceLine { item: None, sentence: text.sentence, trust: trust.clone(), at };
        let line = RelationLine {
            id: self.graph.relations as i64,
            subject,
            predicate: predicate.as_str().to_owned(),
            words: predicate.needs_words().then_some(words),
            object,
            value: is_value.then(|| text.object.trim().to_owned()),
            valid_from: None,
            valid_until: None,
            confidence: CONFIDENCE,
            trust,
            stated_at: at,
            owner: None,
            retired_at: None,
            sources: vec![source],
        };
        self.pass_on(place, ImportRecord::Relation(Box::new(line)))
    }
}
