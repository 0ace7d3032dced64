//! `memory_entity`: who or what something is (the Assistant's `get_entity_info`).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::values::{DateText, RelationOut, WholeNumber, time_zone};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::clock::Zone;
use crate::entities::{self, EntityId, Profile};
use crate::input::Invalid;
use crate::json::JsonTime;
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::NAME_CHARS_MAX;
use crate::memories::{Day, ItemType, Trust, with_key};
use crate::search::FoundItem;

pub struct MemoryEntity;

/// Maximum memories that mention it.
const ITEMS_SHOWN: i64 = 10;
const RELATIONS_SHOWN: usize = 40;
const SNIPPET_CHARS: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityInput {
    /// "me" is the user.
    #[schemars(length(max = NAME_CHARS_MAX))]
    name: Option<String>,
    /// Instead of the name.
    #[schemars(range(min = 1))]
    id: Option<WholeNumber>,
    /// Known on this date, e.g. 2024-05-17.
    as_of: Option<DateText>,
    /// True on this date.
    at: Option<DateText>,
}

#[derive(Serialize, JsonSchema)]
pub struct EntityOutput {
    id: i64,
    name: String,
    #[serde(rename = "type")]
    entity_type: EntityType,
    /// The entity is the user.
    is_user: bool,
    /// Description in one or two sentences, written from its memories; null if there is none yet, or for a past date.
    summary: Option<String>,
    /// Other names of the entity.
    aliases: Vec<String>,
    /// Relations that are true now, or on the requested date. At most 40.
    relations: Vec<RelationOut>,
    /// Relations that are not true now or on the requested date, or were archived or replaced. At most 40.
    changed: Vec<RelationOut>,
    /// Memories that mention the entity, newest first. At most 10.
    items: Vec<EntityItem>,
    /// Number of memories that mention the entity.
    mentions: i64,
    first_seen: Option<JsonTime>,
    last_seen: Option<JsonTime>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct EntityItem {
    id: i64,
    #[serde(rename = "type")]
    item_type: ItemType,
    /// Shortened. `memory_get` returns the whole text.
    content_snippet: String,
    trust: Trust,
    created_at: JsonTime,
}

#[async_trait]
impl Tool for MemoryEntity {
    const NAME: &'static str = "memory_entity";
    const TITLE: &'static str = "Look up a person, project or place";
    const DESCRIPTION: &'static str = "Look up a person, project, organization or place: what it is, its relations with \
        dates, and what changed. Example: {\"name\": \"Anna Berg\"}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = EntityInput;
    type Output = EntityOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: EntityInput,
    ) -> Result<EntityOutput, ToolError> {
        let (user, now) = (call.viewer.user_id, context.clock.now());
        let zone = time_zone(&context.db, user).await?;
        let day = Day::parse(&zone, DateText::text(&input.as_of), DateText::text(&input.at), now)?;
        let id = match (input.id, input.name) {
            (Some(id), _) => EntityId(id.0),
            (None, Some(name)) => entities::find_named(&context.search, user, &name).await?,
            (None, None) => {
                return Err(Invalid::new(
                    "name",
                    "required",
                    "`name` is missing; give the name of a person, project or place, or its `id`.",
                )
                .into());
            }
        };
        let profile = entities::profile_on(&context.db, user, id, ITEMS_SHOWN, &day, now).await?;
        Ok(EntityOutput::new(profile, day.at.or(day.as_of).unwrap_or(now), &zone))
    }

    fn touched(output: &EntityOutput) -> Vec<i64> {
        output.items.iter().map(|item| item.id).collect()
    }
}

impl EntityOutput {
    /// `at` decides which relations are current.
    fn new(profile: Profile, at: OffsetDateTime, zone: &Zone) -> Self {
        let Profile { entity, names, relations, sources, .. } = profile;
        let (current, changed): (Vec<_>, Vec<_>) =
            relations.into_iter().partition(|relation| relation.is_current(at));
        let own = |name: &String| *name != entity.name;
        let told = |relations: Vec<entities::Relation>| {
            let shown = relations.into_iter().take(RELATIONS_SHOWN);
            shown.map(|relation| RelationOut::new(relation, zone)).collect()
        };
        Self {
            id: entity.id.0,
            aliases: names.into_iter().map(|alias| alias.name).filter(own).collect(),
            name: entity.name.clone(),
            entity_type: entity.entity_type,
            is_user: entity.is_user,
            summary: entity.summary,
            relations: told(current),
            changed: told(changed),
            items: sources.into_iter().map(EntityItem::from).collect(),
            mentions: entity.mentions,
            first_seen: entity.first_seen.map(JsonTime),
            last_seen: entity.last_seen.map(JsonTime),
        }
    }
}

impl From<FoundItem> for EntityItem {
    fn from(item: FoundItem) -> Self {
        let told = with_key(item.key.as_deref(), &item.content);
        let cut = told.char_indices().nth(SNIPPET_CHARS);
        Self {
            id: item.id.0,
            item_type: item.item_type,
            content_snippet: match cut {
                Some((at, _)) => format!("{}…", told[..at].trim_end()),
                None => told.into_owned(),
            },
            trust: item.trust,
            created_at: JsonTime(item.created_at),
        }
    }
}
