//! `memory_stats`: counts of memories by kind, and of what is not ready or expires soon.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::values::{FoundType, ToolEntityType};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::entities;
use crate::memories;

const THEMES_SHOWN_MAX: usize = 10;

pub struct MemoryStats;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsInput {}

/// Counts are of active items where nothing else is said.
#[derive(Serialize, JsonSchema)]
pub struct StatsOutput {
    active: i64,
    /// With what has expired.
    archived: i64,
    /// Of the archived ones: nobody had used them for long.
    faded: i64,
    /// Protected: certain.
    confirmed: i64,
    with_key: i64,
    /// Within 7 days.
    expiring_soon: i64,
    /// Most first.
    by_type: Vec<TypeCount>,
    /// The ten fullest, by slug.
    by_theme: Vec<ThemeItemCount>,
    /// Files of memory_files.
    documents: usize,
    /// What sessions were about.
    episodes: i64,
    /// What was said in them, as it was said.
    turns: i64,
    vectors: VectorCounts,
    entities: Entities,
    #[serde(with = "time::serde::rfc3339::option")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    oldest: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    newest: Option<OffsetDateTime>,
}

#[derive(Serialize, JsonSchema)]
struct TypeCount {
    #[serde(rename = "type")]
    item_type: FoundType,
    count: i64,
}

#[derive(Serialize, JsonSchema)]
struct ThemeItemCount {
    theme: String,
    count: i64,
}

/// Items without a vector, archived ones too: found by words alone.
#[derive(Serialize, JsonSchema)]
struct VectorCounts {
    pending: i64,
    failed: i64,
}

/// People, projects, places and what else memories name.
#[derive(Serialize, JsonSchema)]
struct Entities {
    total: i64,
    /// Most first.
    by_type: Vec<EntityTypeCount>,
    /// Connections between them that hold.
    relations: i64,
}

#[derive(Serialize, JsonSchema)]
struct EntityTypeCount {
    #[serde(rename = "type")]
    entity_type: ToolEntityType,
    count: i64,
}

#[async_trait]
impl Tool for MemoryStats {
    const NAME: &'static str = "memory_stats";
    const TITLE: &'static str = "Count memories";
    const DESCRIPTION: &'static str = "Count what is remembered: by status, type and theme, what expires soon, what has \
        no vector yet. Use it when the user asks how much you remember. Example: {}";
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
        let types = stats
            .by_type
            .into_iter()
            .map(|(item_type, count)| TypeCount { item_type: item_type.into(), count });
        let themes = stats
            .by_theme
            .into_iter()
            .map(|theme| ThemeItemCount { theme: theme.slug, count: theme.active_count });
        Ok(StatsOutput {
            active: stats.active,
            archived: stats.archived,
            faded: stats.faded,
            confirmed: stats.confirmed,
            with_key: stats.with_key,
            expiring_soon: stats.expiring_soon,
            by_type: types.collect(),
            by_theme: themes.take(THEMES_SHOWN_MAX).collect(),
            documents,
            episodes: stats.episodes,
            turns: stats.turns,
            vectors: VectorCounts { pending: waiting.pending, failed: waiting.failed },
            entities: Entities {
                total: named.iter().map(|(_, count)| count).sum(),
                by_type: named
                    .into_iter()
                    .map(|(entity_type, count)| EntityTypeCount {
                        entity_type: entity_type.into(),
                        count,
                    })
                    .collect(),
                relations,
            },
            oldest: stats.oldest,
            newest: stats.newest,
        })
    }

    fn touched(_output: &StatsOutput) -> Vec<i64> {
        Vec::new()
    }
}
