//! `memory_stats`: counts of memories by kind, and of what is not ready or expires soon.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::entities;
use crate::json::JsonTime;
use crate::memories::mentions::EntityType;
use crate::memories::{self, ItemType, ThemeCount};

const THEMES_SHOWN_MAX: usize = 10;

pub struct MemoryStats;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsInput {}

/// Counts include active items only, unless stated otherwise.
#[derive(Serialize, JsonSchema)]
pub struct StatsOutput {
    active: i64,
    /// Archived and expired items.
    archived: i64,
    /// Archived items that faded because they were not used.
    faded: i64,
    /// Confirmed items, which do not fade.
    confirmed: i64,
    /// Items with a key.
    with_key: i64,
    /// Items that expire within 7 days.
    expiring_soon: i64,
    /// Largest count first.
    by_type: Vec<TypeCount>,
    /// The ten themes with the most items.
    by_theme: Vec<ThemeCount>,
    /// Documents (files of memory_files).
    documents: usize,
    /// Episodes: summaries of sessions.
    episodes: i64,
    /// Turns: verbatim messages of sessions.
    turns: i64,
    vectors: VectorCounts,
    entities: Entities,
    oldest: Option<JsonTime>,
    newest: Option<JsonTime>,
}

#[derive(Serialize, JsonSchema)]
struct TypeCount {
    #[serde(rename = "type")]
    item_type: ItemType,
    count: i64,
}

/// Items without an embedding, archived ones included. Only keyword search finds them.
#[derive(Serialize, JsonSchema)]
struct VectorCounts {
    pending: i64,
    failed: i64,
}

/// People, projects, places and other entities that memories name.
#[derive(Serialize, JsonSchema)]
struct Entities {
    total: i64,
    /// Largest count first.
    by_type: Vec<EntityTypeCount>,
    /// Current relations between entities.
    relations: i64,
}

#[derive(Serialize, JsonSchema)]
struct EntityTypeCount {
    #[serde(rename = "type")]
    entity_type: EntityType,
    count: i64,
}

#[async_trait]
impl Tool for MemoryStats {
    const NAME: &'static str = "memory_stats";
    const TITLE: &'static str = "Count memories";
    const DESCRIPTION: &'static str = "Count items by status, type and theme, items that expire soon and items \
        without an embedding. Use it when the user asks how much you remember. Example: {}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = StatsInput;
    type Output = StatsOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        _input: StatsInput,
    ) -> Result<StatsOutput, ToolError> {
        let now = context.clock.now();
        let (stats, waiting) =
            memories::stats(&context.db, &context.embeddings, &call.viewer, now).await?;
        let (named, relations) = entities::counts(&context.db, call.viewer.user_id).await?;
        let documents = context.documents.list(call.viewer.user_id, None, false);
        let documents = documents.await?.len();
        let types =
            stats.by_type.into_iter().map(|(item_type, count)| TypeCount { item_type, count });
        Ok(StatsOutput {
            active: stats.active,
            archived: stats.archived,
            faded: stats.faded,
            confirmed: stats.confirmed,
            with_key: stats.with_key,
            expiring_soon: stats.expiring_soon,
            by_type: types.collect(),
            by_theme: stats.by_theme.into_iter().take(THEMES_SHOWN_MAX).collect(),
            documents,
            episodes: stats.episodes,
            turns: stats.turns,
            vectors: VectorCounts { pending: waiting.pending, failed: waiting.failed },
            entities: Entities {
                total: named.iter().map(|(_, count)| count).sum(),
                by_type: named
                    .into_iter()
                    .map(|(entity_type, count)| EntityTypeCount { entity_type, count })
                    .collect(),
                relations,
            },
            oldest: stats.oldest.map(JsonTime),
            newest: stats.newest.map(JsonTime),
        })
    }

    fn touched(_output: &StatsOutput) -> Vec<i64> {
        Vec::new()
    }
}
