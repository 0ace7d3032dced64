//! Parses one line of an export: a pure function from text to a record within all limits, or to one sentence
//! that says why not. The sentence never contains text of the line.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;

use super::FORM_VERSION;
use super::documents::{DocumentLine, NoteRecord, RevisionLine};
use super::entities::{EntityLine, RelationLine};
use super::episodes::EpisodeLine;
use super::fields::{agent_name, attributes, date};
use super::kinds::{KINDS, RecordKind};
use super::lines::{EventLine, ItemLine, ThemeLine};
use super::moment::OUT_OF_RANGE;
use super::origins::{OriginsLine, UnwantedLine};
use super::projects::{self, ProjectLine};
use crate::accounts::AgentName;
use crate::input::{Invalid, check_text, required_text};
use crate::memories::mentions::EntityType;
use crate::memories::period::YEARS;
use crate::memories::provenance::{CONFIDENCE_MAX, parse_confidence, parse_source_context};
use crate::memories::{
    ItemKey, ItemType, NewItem, Period, ProjectRef, Status, ThemeSlug, Trust, fading,
};

pub const SOURCE_CHARS_MAX: usize = 64;
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;
pub const DISPLAY_NAME_CHARS_MAX: usize = 200;
const NOT_JSON: &str = "It is not a whole line of JSON.";
const ACCESS_COUNT_MAX: i64 = 1_000_000_000;
/// The newest events of an item that go out and come in.
pub const EVENTS_MAX: usize = 1_000;
/// Known events of an item's history; events of a newer version are skipped.
pub const EVENTS: [&str; 18] = [
    "began",
    "ended",
    "faded",
    "merged",
    "read_again",
    "added",
    "archived",
    "imported",
    "superseded",
    "put_aside",
    "confirmed",
    "expired",
    "named",
    "restored",
    "unconfirmed",
    "shared",
    "owned",
    "changed",
];

/// The content of one line.
#[derive(Clone, Debug)]
pub enum ImportRecord {
    Header,
    Project(ProjectLine),
    Theme(ThemeRecord),
    Agent(AgentName, Option<OffsetDateTime>),
    Item(Box<ItemRecord>),
    Entity(EntityLine, EntityType),
    Relation(Box<RelationLine>),
    Document(DocumentLine),
    Revision(Box<RevisionLine>),
    Episode(Box<EpisodeLine>),
    Origins(OriginsLine),
    Unwanted(UnwantedLine),
    /// A document of another program, with its text.
    Note(Box<NoteRecord>),
    /// Sessions, calls and settings are exported for their owner, and not imported.
    NotImported,
    /// Something that is not imported, and why.
    Skipped(String),
    /// A file that was read otherwise than it was written, and how.
    Adapted(String),
    End {
        items: i64,
    },
}

impl ImportRecord {
    /// Takes its word for nothing: not whose word a text is, not that a person confirmed it, not that it was used.
    pub(super) fn of_unknown_origin(self) -> Self {
        let external = || Trust::External.as_str().to_owned();
        match self {
            Self::Item(item) => Self::Item(Box::new(ItemRecord {
                events: item
                    .events
                    .iter()
                    .filter(|one| one.event != "confirmed")
                    .cloned()
                    .collect(),
                trust: Trust::External,
                protected: false,
                locked: false,
                access_count: 0,
                last_accessed: None,
                decay_rate: None,
                ..*item
            })),
            Self::Entity(line, entity_type) => {
                Self::Entity(EntityLine { protected: false, is_user: false, ..line }, entity_type)
            }
            Self::Relation(mut line) => {
                line.trust = external();
                line.sources.iter_mut().for_each(|source| source.trust = external());
                Self::Relation(line)
            }
            Self::Revision(line) => {
                Self::Revision(Box::new(RevisionLine { trust: external(), ..*line }))
            }
            Self::Note(note) => {
                Self::Note(Box::new(NoteRecord { trust: Trust::External, ..*note }))
            }
            Self::Episode(line) => {
                Self::Episode(Box::new(EpisodeLine { trust: external(), ..*line }))
            }
            Self::Theme(theme) => Self::Theme(ThemeRecord { description: String::new(), ..theme }),
            // It would be told to the model that reads conversations.
            Self::Unwanted(_) => Self::NotImported,
            other => other,
        }
    }
}

#[derive(Clone, Debug)]
pub struct ThemeRecord {
    pub slug: ThemeSlug,
    pub display_name: String,
    pub description: String,
    pub created_at: OffsetDateTime,
}

/// An item as it was at its origin: a checked [`ItemLine`], with the ids and names of the file.
#[derive(Clone, Debug)]
pub struct ItemRecord {
    /// Its id there.
    pub id: Option<i64>,
    pub item: NewItem,
    pub key: Option<ItemKey>,
    pub status: Status,
    pub source: String,
    pub trust: Trust,
    pub source_context: Option<String>,
    pub confidence: i16,
    pub protected: bool,
    pub locked: bool,
    pub expires_at: Option<OffsetDateTime>,
    pub period: Period,
    pub last_verified_at: Option<OffsetDateTime>,
    pub access_count: i64,
    pub last_accessed: Option<OffsetDateTime>,
    /// Decay per day; `None`: the default of its type.
    pub decay_rate: Option<f64>,
    /// A JSON object.
    pub attributes: Value,
    /// The id, there, of the item that replaced it.
    pub superseded_by: Option<i64>,
    pub agent: Option<AgentName>,
    /// The agent that owns it; `None`: it is shared.
    pub owner: Option<AgentName>,
    /// By its name in the file.
    pub project: Option<ProjectRef>,
    /// `None`: the date of the import.
    pub created_at: Option<OffsetDateTime>,
    pub updated_at: Option<OffsetDateTime>,
    pub events: Vec<EventRecord>,
}

impl ItemRecord {
    /// How often it was used, and when last. Without that in the file, the import counts as a use.
    pub fn uses(&self, now: OffsetDateTime) -> (i64, OffsetDateTime) {
        (self.access_count, self.last_accessed.unwrap_or(now))
    }
}

#[derive(Clone, Debug)]
pub struct EventRecord {
    pub event: &'static str,
    pub agent: Option<AgentName>,
    pub at: OffsetDateTime,
}

#[derive(Deserialize)]
struct LineHead {
    keepsake_export: Option<i64>,
    record: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct AgentStart {
    name: String,
    #[serde(default, with = "crate::export::moment::option")]
    created_at: Option<OffsetDateTime>,
}

#[derive(Deserialize)]
struct RawEnd {
    counts: RawCounts,
}

#[derive(Deserialize)]
struct RawCounts {
    items: i64,
}

/// The kind of a line, with its name; `None`: it is the header.
fn kind_of(line: &str) -> Result<Option<(RecordKind, &'static str)>, Invalid> {
    let head: LineHead = parse(line)?;
    match head.keepsake_export {
        Some(FORM_VERSION) => return Ok(None),
        Some(_) => {
            return Err(Invalid::new(
                "keepsake_export",
                "unknown_version",
                format!(
                    "`keepsake_export` is another version than {FORM_VERSION}; import it with the Keepsake that made it, or a newer one."
                ),
            ));
        }
        None => {}
    }
    let named = |name: &str| KINDS.iter().find(|(_, known, _)| *known == name);
    let Some((kind, name, _)) = head.record.as_deref().and_then(named) else {
        let names = KINDS.map(|(_, name, _)| name);
        let sentence = format!("`record` is not known; it is one of {}.", names.join(", "));
        return Err(Invalid::new("record", "unknown_record", sentence));
    };
    Ok(Some((*kind, *name)))
}

/// Parses a line. Fields that are not known are skipped as they are read.
///
/// # Errors
/// [`Invalid`] naming the first invalid field, without any content of the line.
pub fn parse_line(line: &str) -> Result<ImportRecord, Invalid> {
    use RecordKind as Kind;
    let Some((kind, _)) = kind_of(line)? else {
        return Ok(ImportRecord::Header);
    };
    Ok(match kind {
        Kind::Project => ImportRecord::Project(parse(line)?),
        Kind::Theme => ImportRecord::Theme(theme(parse(line)?)?),
        Kind::Agent => {
            let agent: AgentStart = parse(line)?;
            let created_at = agent.created_at.map(|at| date("created_at", at));
            ImportRecord::Agent(AgentName::parse(&agent.name)?, created_at.transpose()?)
        }
        Kind::Item => ImportRecord::Item(Box::new(item(parse(line)?)?)),
        Kind::Entity => {
            let (line, entity_type) = parse::<EntityLine>(line)?.checked()?;
            ImportRecord::Entity(line, entity_type)
        }
        Kind::Relation => ImportRecord::Relation(parse(line)?),
        Kind::Document => ImportRecord::Document(parse(line)?),
        Kind::Revision => ImportRecord::Revision(parse(line)?),
        Kind::Episode => ImportRecord::Episode(parse(line)?),
        Kind::Origins => ImportRecord::Origins(parse::<OriginsLine>(line)?.checked()?),
        Kind::Unwanted => ImportRecord::Unwanted(parse(line)?),
        Kind::End => ImportRecord::End { items: parse::<RawEnd>(line)?.counts.items },
        // For a human reader.
        Kind::Account
        | Kind::EmbeddingSettings
        | Kind::ChatSettings
        | Kind::ChatSpend
        | Kind::Summary
        | Kind::Session
        | Kind::Message
        | Kind::Extraction
        | Kind::Call => ImportRecord::NotImported,
    })
}

/// The fields of a line that an import knows; `None` if it stores nothing of such a line.
///
/// # Errors
/// [`Invalid`] naming the first field of another kind than it should be.
pub(super) fn known_fields(line: &str) -> Result<Option<Value>, Invalid> {
    use RecordKind as Kind;
    fn of<T: Serialize + DeserializeOwned>(line: &str) -> Result<Value, Invalid> {
        let known = serde_json::to_value(parse::<T>(line)?);
        known.map_err(|_| Invalid::new("", "invalid_json", NOT_JSON))
    }
    let Some((kind, name)) = kind_of(line)? else {
        return Ok(None);
    };
    let mut known = match kind {
        Kind::Project => of::<ProjectLine>(line)?,
        Kind::Theme => of::<ThemeLine>(line)?,
        Kind::Agent => of::<AgentStart>(line)?,
        Kind::Item => of::<ItemLine>(line)?,
        Kind::Entity => of::<EntityLine>(line)?,
        Kind::Relation => of::<RelationLine>(line)?,
        Kind::Document => of::<DocumentLine>(line)?,
        Kind::Revision => of::<RevisionLine>(line)?,
        Kind::Episode => of::<EpisodeLine>(line)?,
        Kind::Origins => of::<OriginsLine>(line)?,
        Kind::Unwanted => of::<UnwantedLine>(line)?,
        Kind::Account
        | Kind::EmbeddingSettings
        | Kind::ChatSettings
        | Kind::ChatSpend
        | Kind::Summary
        | Kind::Session
        | Kind::Message
        | Kind::Extraction
        | Kind::Call
        | Kind::End => return Ok(None),
    };
    known["record"] = name.into();
    Ok(Some(known))
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T, Invalid> {
    let mut json = serde_json::Deserializer::from_str(line);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        if inner.is_syntax() || inner.is_eof() {
            return Invalid::new("", "invalid_json", NOT_JSON);
        }
        // serde's messages may quote the value, but this one names our field only.
        let said = inner.to_string();
        let missing = said.strip_prefix("missing field `");
        match missing.and_then(|rest| rest.split_once('`')) {
            Some((field, _)) => {
                Invalid::new(field.to_owned(), "required", format!("`{field}` is missing."))
            }
            None if said.starts_with(OUT_OF_RANGE) => Invalid::new(
                path.clone(),
                "out_of_range",
                format!(
                    "`{path}` is out of range; years {} to {} are accepted.",
                    YEARS.start(),
                    YEARS.end()
                ),
            ),
            None => Invalid::new(
                path.clone(),
                "invalid_value",
                format!("`{path}` is not of the kind that belongs there."),
            ),
        }
    })
}

fn theme(raw: ThemeLine) -> Result<ThemeRecord, Invalid> {
    let slug = ThemeSlug::parse(&raw.slug)?;
    let display_name = raw.display_name.unwrap_or_default();
    check_text("display_name", &display_name, DISPLAY_NAME_CHARS_MAX)?;
    let description = raw.description.unwrap_or_default();
    check_text("description", &description, DESCRIPTION_CHARS_MAX)?;
    Ok(ThemeRecord {
        display_name: match display_name.trim() {
            "" => slug.as_str().to_owned(),
            name => name.to_owned(),
        },
        slug,
        description,
        created_at: date("created_at", raw.created_at)?,
    })
}

pub(super) fn item(raw: ItemLine) -> Result<ItemRecord, Invalid> {
    let item_type = ItemType::parse_memory("type", &raw.r#type)?;
    let status = match raw.status.as_deref() {
        None | Some("active") => Status::Active,
        Some("archived") => Status::Archived,
        Some(_) => {
            return Err(Invalid::new(
                "status",
                "invalid_status",
                "`status` is not known; it is active or archived.",
            ));
        }
    };
    let source = raw.source.as_deref().unwrap_or("import");
    let date = |field, at: Option<OffsetDateTime>| at.map(|at| date(field, at)).transpose();
    Ok(ItemRecord {
        id: raw.id,
        item: NewItem::parse(item_type, &raw.content, raw.theme.as_deref(), &raw.tags)?,
        key: ItemKey::parse(raw.key.as_deref().unwrap_or_default())?,
        status,
        source: required_text("source", source, SOURCE_CHARS_MAX)?.to_owned(),
        trust: trust(raw.trust.as_deref(), source)?,
        source_context: parse_source_context(raw.source_context.as_deref().unwrap_or_default())?,
        confidence: parse_confidence(raw.confidence.unwrap_or(CONFIDENCE_MAX))?,
        protected: raw.protected,
        locked: raw.protected && raw.locked.unwrap_or_else(|| is_confirmed_by_person(&raw.events)),
        expires_at: date("expires_at", raw.expires_at)?,
        period: Period::new(raw.valid_from, raw.valid_until)?,
        last_verified_at: date("last_verified_at", raw.last_verified_at)?,
        access_count: access_count(raw.access_count)?,
        last_accessed: date("last_accessed", raw.last_accessed)?,
        decay_rate: raw.decay_rate.map(fading::check_rate).transpose()?,
        attributes: attributes(raw.attributes)?,
        superseded_by: raw.superseded_by,
        agent: agent_name(raw.agent.as_deref())?,
        owner: agent_name(raw.owner.as_deref())?,
        project: projects::named(raw.project.as_deref())?,
        created_at: date("created_at", raw.created_at)?,
        updated_at: date("updated_at", raw.updated_at)?,
        events: events(raw.events)?,
    })
}

/// By the last event that confirmed it or took that away.
fn is_confirmed_by_person(events: &[EventLine]) -> bool {
    let of = |event: &&EventLine| ["confirmed", "unconfirmed"].contains(&event.event.as_str());
    let last = events.iter().rev().find(of);
    last.is_some_and(|last| last.event == "confirmed" && last.agent.is_none())
}

fn access_count(count: i64) -> Result<i64, Invalid> {
    let is_count = (0..=ACCESS_COUNT_MAX).contains(&count);
    is_count.then_some(count).ok_or_else(|| {
        let sentence = format!("`access_count` is out of range; it is 0 to {ACCESS_COUNT_MAX}.");
        Invalid::new("access_count", "out_of_range", sentence)
    })
}

/// Older exports have no trust: then it follows from the source.
fn trust(given: Option<&str>, source: &str) -> Result<Trust, Invalid> {
    let Some(given) = given else {
        return Ok(match source {
            "user_explicit" => Trust::User,
            "tool_call" | "auto_discovery" => Trust::Tool,
            "web" => Trust::External,
            _ => Trust::Agent,
        });
    };
    Trust::from_label(given).ok_or_else(|| {
        Invalid::new(
            "trust",
            "invalid_trust",
            "`trust` is not known; it is user, agent, tool or external.",
        )
    })
}

fn events(raw: Vec<EventLine>) -> Result<Vec<EventRecord>, Invalid> {
    let older = raw.len().saturating_sub(EVENTS_MAX);
    let mut events = Vec::new();
    for one in raw.into_iter().skip(older) {
        let Some(event) = EVENTS.into_iter().find(|known| *known == one.event) else {
            continue;
        };
        events.push(EventRecord {
            event,
            agent: agent_name(one.agent.as_deref())?,
            at: date("events", one.at)?,
        });
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::model::TAGS_MAX;

    const ITEM: &str = r#"{"record":"item","type":"fact","content":"Anna keeps bees."}"#;

    #[test]
    fn a_line_with_the_least_it_needs_is_an_item() {
        let Ok(ImportRecord::Item(item)) = parse_line(ITEM) else {
            panic!("{:?}", parse_line(ITEM));
        };
        assert_eq!(item.item.theme().as_str(), "general");
        assert_eq!((item.confidence, item.source.as_str()), (100, "import"));
    }

    #[test]
    fn of_a_line_only_what_is_known_is_kept_in_memory() {
        let none = "0,".repeat(100_000) + "0";
        let tags = r#""","#.repeat(100_000) + r#""""#;
        let line = |fields: &str| ITEM.replace("}", &format!(",{fields}}}"));
        let known = known_fields(&line(&format!(r#""x":[{none}],"tags":[{tags}]"#)));
        let known = known.expect("valid").expect("an item");
        assert_eq!(known["content"], "Anna keeps bees.");
        assert_eq!(known.get("x"), None);
        let entries = known["tags"].as_array().map(Vec::len);
        assert_eq!(entries, Some(TAGS_MAX + 1));
        let long = line(&format!(r#""attributes":{{"x":[{none},{none},{none}]}}"#));
        let known = known_fields(&long).expect("valid").expect("an item");
        assert_eq!(known["attributes"], false);
        let refused = parse_line(&long).expect_err("too long");
        assert_eq!(refused.code, "invalid_attributes");
        let short = line(r#""attributes":{"x":[{"y":"z"}]},"decay_rate":0.1,"unknown":"a""#);
        let known = known_fields(&short).expect("valid").expect("an item");
        let Ok(ImportRecord::Item(item)) = parse_line(&known.to_string()) else {
            panic!("{known}");
        };
        assert_eq!(item.attributes["x"][0]["y"], "z");
        assert_eq!(item.decay_rate, Some(0.1));
        assert!(known_fields(r#"{"record":"message","x":[]}"#).is_ok_and(|known| known.is_none()));
    }

    #[test]
    fn what_cannot_be_taken_is_told_by_field_and_never_repeated() {
        for (line, field) in [
            ("nonsense canary", ""),
            (r#"{"record":"canary"}"#, "record"),
            (r#"{"keepsake_export":2}"#, "keepsake_export"),
            (r#"{"record":"item","type":"fact"}"#, "content"),
            (r#"{"record":"item","type":"canary","content":"x"}"#, "type"),
            (r#"{"record":"item","type":"fact","content":"x","status":"canary"}"#, "status"),
            (r#"{"record":"item","type":"fact","content":"x","trust":"canary"}"#, "trust"),
            (
                r#"{"record":"item","type":"fact","content":"x","created_at":"canary"}"#,
                "created_at",
            ),
            (
                r#"{"record":"item","type":"fact","content":"x","created_at":"0001-01-01T00:00:00Z"}"#,
                "created_at",
            ),
            (
                r#"{"record":"item","type":"fact","content":"x","created_at":"9999-12-31T23:59:59-01:00"}"#,
                "created_at",
            ),
            (
                r#"{"record":"item","type":"fact","content":"x","valid_from":"0000-01-01T00:00:00+01:00"}"#,
                "valid_from",
            ),
            (
                r#"{"record":"item","type":"fact","content":"x","attributes":["canary"]}"#,
                "attributes",
            ),
            (
                r#"{"record":"item","type":"fact","content":"x","attributes":{"a":"canary\u0000"}}"#,
                "attributes",
            ),
            (r#"{"record":"item","type":"fact","content":"canary\u0000"}"#, "content"),
            (r#"{"record":"item","type":"fact","content":"x","confidence":101}"#, "confidence"),
            (r#"{"record":"item","type":"fact","content":"x","tags":"canary"}"#, "tags"),
        ] {
            let refused = parse_line(line).expect_err(line);
            assert_eq!(refused.field, field, "{line}");
            assert!(!refused.sentence.contains("canary"), "{line}: {}", refused.sentence);
            assert!(refused.sentence.ends_with('.'), "{}", refused.sentence);
        }
    }
}
