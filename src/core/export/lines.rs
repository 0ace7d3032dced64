//! The lines of an export for records that have no file of their own, and what belongs to an export.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;

use crate::memories::day::PastState;
use crate::memories::model::TAGS_MAX;

/// What there is to export.
#[derive(Clone, Copy, Debug)]
pub struct ExportOverview {
    pub items: i64,
    pub calls: i64,
    /// Estimated size of the file.
    pub bytes: i64,
}

/// The newest ids at the start, and the day whose state is exported; `None`: now.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportBounds {
    pub as_of: Option<OffsetDateTime>,
    pub item: i64,
    pub document: i64,
    pub session: i64,
    pub call: i64,
}

/// The last line.
#[derive(Serialize)]
pub struct EndLine<'a> {
    pub counts: &'a BTreeMap<&'static str, usize>,
    /// See `signature.rs`; `None`: not signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct ThemeLine {
    #[serde(skip)]
    pub id: i64,
    pub slug: String,
    pub display_name: Option<String>,
    pub description: Option<String>,
    #[serde(with = "crate::export::moment")]
    pub created_at: OffsetDateTime,
    #[serde(default, with = "crate::export::moment::option")]
    pub updated_at: Option<OffsetDateTime>,
}

#[derive(Serialize)]
pub struct AccountLine {
    pub time_zone: String,
}

/// Tokens exist only as hashes, which are not exported.
#[derive(Serialize)]
pub struct AgentLine {
    pub name: String,
    pub memory_enabled: bool,
    pub tool_profile: String,
    pub settings: Value,
    #[serde(with = "crate::export::moment")]
    pub created_at: OffsetDateTime,
}

/// Without the endpoint's API key.
#[derive(Serialize)]
pub struct ChatSettingsLine {
    pub enabled: bool,
    pub own_enabled: bool,
    pub provider_type: String,
    pub endpoint: String,
    pub model: String,
    pub daily_token_cap: Option<i64>,
    pub purposes: Value,
}

#[derive(Serialize)]
pub struct ChatSpendLine {
    /// In ISO 8601.
    pub day: String,
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// Tokens by purpose.
    pub by_purpose: Value,
    pub calls: i64,
    pub failed_calls: i64,
}

#[derive(Serialize)]
pub struct SummaryLine {
    pub text: String,
    #[serde(with = "crate::export::moment")]
    pub made_at: OffsetDateTime,
    pub model: Option<String>,
    /// The `id`s of the items that it is based on.
    pub items: Vec<i64>,
    pub items_total: i64,
}

#[derive(Serialize)]
pub struct EmbeddingSettingsLine {
    pub enabled: bool,
    pub own_enabled: bool,
    pub provider_type: String,
    pub endpoint: String,
    pub model: String,
    pub dimensions: Option<i32>,
    pub query_prefix: String,
    pub document_prefix: String,
    pub batch_size: i32,
    pub concurrency: i32,
    pub pause_ms: i32,
}

/// An item with names instead of ids, unchecked when it is read. An import needs `type` and `content` only.
#[derive(Default, Serialize, Deserialize)]
pub struct ItemLine {
    pub id: Option<i64>,
    pub r#type: String,
    pub theme: Option<String>,
    pub key: Option<String>,
    pub content: String,
    #[serde(default, deserialize_with = "super::fields::first_of::<_, _, TAGS_MAX>")]
    pub tags: Vec<String>,
    pub status: Option<String>,
    pub source: Option<String>,
    pub trust: Option<String>,
    pub source_context: Option<String>,
    pub confidence: Option<i64>,
    #[serde(default)]
    pub protected: bool,
    /// The person confirmed it; in files of 0.2.0 the events say so.
    pub locked: Option<bool>,
    #[serde(default, with = "crate::export::moment::option")]
    pub expires_at: Option<OffsetDateTime>,
    #[serde(default, with = "crate::export::moment::option")]
    pub valid_from: Option<OffsetDateTime>,
    #[serde(default, with = "crate::export::moment::option")]
    pub valid_until: Option<OffsetDateTime>,
    #[serde(default, with = "crate::export::moment::option")]
    pub last_verified_at: Option<OffsetDateTime>,
    #[serde(default)]
    pub access_count: i64,
    #[serde(default, with = "crate::export::moment::option")]
    pub last_accessed: Option<OffsetDateTime>,
    /// Decay per day; null: the default of its type.
    pub decay_rate: Option<f64>,
    #[serde(default, deserialize_with = "super::fields::parse_attributes")]
    pub attributes: Value,
    pub superseded_by: Option<i64>,
    pub agent: Option<String>,
    /// The agent that owns it; null: it is shared.
    pub owner: Option<String>,
    /// What it was learned of, by name; null: it is about the person.
    pub project: Option<String>,
    #[serde(default, with = "crate::export::moment::option")]
    pub created_at: Option<OffsetDateTime>,
    #[serde(default, with = "crate::export::moment::option")]
    pub updated_at: Option<OffsetDateTime>,
    #[serde(default)]
    pub events: Vec<EventLine>,
}

impl ItemLine {
    /// Replaces the values that had others then. Past use counts are not stored.
    pub fn as_then(&mut self, then: PastState) {
        self.status = Some(then.status().as_str().to_owned());
        let was = then.state;
        self.key = self.key.take().filter(|_| then.has_key);
        self.tags = was.tags;
        self.trust = Some(was.trust.as_str().to_owned());
        self.confidence = Some(was.confidence.into());
        self.protected = was.protected;
        self.locked = Some(was.locked);
        self.expires_at = was.expires_at;
        self.valid_from = was.period.from;
        self.valid_until = was.period.until;
        self.last_verified_at = was.last_verified_at;
        self.superseded_by = was.superseded_by.map(|id| id.0);
        self.updated_at = Some(then.updated_at);
        self.access_count = 0;
        self.last_accessed = None;
    }
}

#[derive(Serialize, Deserialize)]
pub struct EventLine {
    pub event: String,
    pub agent: Option<String>,
    #[serde(with = "crate::export::moment")]
    pub at: OffsetDateTime,
}

#[derive(Serialize)]
pub struct CallLine {
    #[serde(skip)]
    pub id: i64,
    #[serde(with = "crate::export::moment")]
    pub at: OffsetDateTime,
    pub agent: Option<String>,
    pub tool: String,
    pub outcome: String,
    pub duration_us: i32,
    pub item_ids: Vec<i64>,
    pub query: Option<String>,
}
