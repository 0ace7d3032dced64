//! `memory_get`: read one item in full (Nova §3.2.3).

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{DateText, OutdatedText, WholeNumber, zone_of};
use super::{Services, Tool, ToolError, lent};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::embedding::ItemEmbedding;
use crate::json::JsonTime;
use crate::memories::{
    self, Day, DocumentPart, EpisodeSpan, ItemDetails, ItemId, ItemType, MemoryError, Status,
    Trust, TurnPosition,
};

pub struct MemoryGet;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInput {
    /// `id` of a search result.
    #[schemars(range(min = 1))]
    item_id: WholeNumber,
    as_of: Option<DateText>,
    at: Option<DateText>,
}

// Unlike a result of memory_search it says of most fields that they are null, and has the whole text.
#[derive(Serialize, JsonSchema)]
pub struct GetOutput {
    id: i64,
    /// The theme's slug; null for a turn, an episode or a part of a document.
    theme: Option<String>,
    #[serde(rename = "type")]
    item_type: ItemType,
    /// The item's key, if it has one: the name of a fact, unique within its theme.
    key: Option<String>,
    content: String,
    tags: Vec<String>,
    status: Status,
    /// How the information was obtained.
    source: String,
    /// Trust class: who stated it.
    trust: Trust,
    /// The agent that added it.
    agent: Option<String>,
    /// The agent that owns the item; no other agent can see it. Omitted if all agents share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// The project that the item belongs to. Omitted if it is about the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The team leader or the global pool that shares the item. It is read-only. Omitted for your own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_of: Option<String>,
    /// The verbatim quote that it comes from.
    source_context: Option<String>,
    /// Confidence of the source, in percent.
    #[schemars(with = "i64", range(min = 0, max = 100))]
    confidence: i16,
    /// It was confirmed, and does not fade.
    protected: bool,
    /// The user confirmed it. Changes by agents are refused and proposed to the user.
    locked: bool,
    /// When it expires; null if never.
    expires_at: Option<JsonTime>,
    /// Start of validity.
    valid_from: Option<JsonTime>,
    /// End of validity (exclusive).
    valid_until: Option<JsonTime>,
    /// When it was last confirmed or stated again.
    last_verified_at: Option<JsonTime>,
    /// Strength, 0 to 1: its confidence, reduced the longer the item is unused. Omitted for a past date, for shared items, and for turns, episodes and parts of documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    strength: Option<f64>,
    /// How often it was found, read, confirmed or stated again.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<JsonTime>,
    /// Id of the item that replaced it.
    superseded_by: Option<i64>,
    #[serde(flatten)]
    outdated: OutdatedText,
    /// Ids of items that contradict it and were archived because this item stayed.
    contradicted_by: Vec<i64>,
    created_at: JsonTime,
    updated_at: JsonTime,
    embedding: ItemEmbedding,
    /// The agent's id of the session that it was extracted from; null if it was added otherwise.
    source_thread: Option<String>,
    /// The sender's id of the message that it comes from.
    source_message: Option<String>,
    /// For a turn: its session and message.
    #[serde(skip_serializing_if = "Option::is_none")]
    said_in: Option<TurnPosition>,
    /// For a part of a document: its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<DocumentPart>,
    /// For an episode: the session and period that it summarizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    told_of: Option<EpisodeSpan>,
}

#[async_trait]
impl Tool for MemoryGet {
    const NAME: &'static str = "memory_get";
    const TITLE: &'static str = "Read a memory";
    const DESCRIPTION: &'static str = "Read one item in full by its id. Use it when a search snippet \
        is shortened, or for source and dates. Example: {\"item_id\": 42}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = GetInput;
    type Output = GetOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: GetInput,
    ) -> Result<GetOutput, ToolError> {
        let now = context.clock.now();
        let user = call.viewer.user_id;
        let zone = zone_of(&context.db, user, &[&input.as_of, &input.at]).await?;
        let day = Day::parse(&zone, DateText::text(&input.as_of), DateText::text(&input.at), now)?;
        let now = day.as_of.unwrap_or(now);
        let read = read(context, call, ItemId(input.item_id.0), &day).await?;
        Ok(GetOutput {
            memory_of: read.memory_of.map(|name| name.to_string()),
            ..GetOutput::new(read.details, now)
        })
    }

    fn touched(output: &GetOutput) -> Vec<i64> {
        vec![output.part_of.as_ref().map_or(output.id, |part| part.document)]
    }
}

/// An item that the caller may read.
pub(super) struct ReadItem {
    pub(super) details: ItemDetails,
    /// Whose memory it is lent from.
    pub(super) memory_of: Option<Arc<str>>,
    /// What the activity names: the document's id for its parts.
    pub(super) touched: i64,
}

/// Reads an item of the caller's memory, or of the one that is lent to it, which records the reading there.
pub(super) async fn read(
    context: &Services,
    call: &RunningCall,
    id: ItemId,
    day: &Day,
) -> Result<ReadItem, ToolError> {
    let of = |details: ItemDetails, memory_of| ReadItem {
        touched: details.item.part.as_ref().map_or(id.0, |p| p.document),
        details,
        memory_of,
    };
    let found = memories::get(&context.db, &context.embeddings, &call.viewer, id, day);
    let error = match found.await {
        Ok(found) => return Ok(of(found, None)),
        Err(error) => error,
    };
    if !matches!(error, MemoryError::NotFound(_)) {
        return Err(error.into());
    }
    let Some((found, memory_of)) = lent::get(context, call, id, day).await? else {
        return Err(error.into());
    };
    let read = of(found, Some(memory_of));
    call.read_lent(vec![read.touched]);
    Ok(read)
}

impl GetOutput {
    fn new(found: ItemDetails, now: time::OffsetDateTime) -> Self {
        let ItemDetails { item, embedding, gave_way, strength, outdated } = found;
        let contradicting = gave_way.iter().filter(|other| other.is_put_aside);
        let status = item.status_at(now);
        Self {
            id: item.id.0,
            last_verified_at: item.last_verified_at.map(JsonTime),
            theme: item.theme,
            item_type: item.item_type,
            key: item.key,
            content: item.content,
            tags: item.tags,
            status,
            source: item.source,
            trust: item.trust,
            agent: item.agent,
            owner: item.owner.map(|(_, name)| name),
            project: item.project.map(|project| project.name),
            memory_of: None,
            source_context: item.source_context,
            confidence: item.confidence,
            protected: item.protected,
            locked: item.locked,
            expires_at: item.expires_at.map(JsonTime),
            valid_from: item.period.from.map(JsonTime),
            valid_until: item.period.until.map(JsonTime),
            strength: strength.map(|strength| strength.value),
            access_count: strength.map(|strength| strength.access_count),
            last_accessed: strength.and_then(|strength| strength.last_accessed).map(JsonTime),
            outdated: outdated.into(),
            superseded_by: item.successor.map(|id| id.0),
            contradicted_by: contradicting.map(|other| other.id.0).collect(),
            source_thread: item.source_session,
            source_message: item.source_message,
            said_in: item.turn,
            part_of: item.part,
            told_of: item.span,
            created_at: JsonTime(item.created_at),
            updated_at: JsonTime(item.updated_at),
            embedding,
        }
    }
}
