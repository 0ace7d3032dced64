//! The lines of an export for records that have no file of their own.

use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;

use crate::memories::day::PastState;

#[derive(Serialize)]
pub struct Theme {
    #[serde(skip)]
    pub id: i64,
    pub slug: String,
    pub display_name: String,
    pub description: String,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
}

#[derive(Serialize)]
pub struct Account {
    pub time_zone: String,
}

/// Tokens exist only as hashes, which are not exported.
#[derive(Serialize)]
pub struct Agent {
    pub name: String,
    pub memory_enabled: bool,
    pub tool_profile: String,
    pub settings: Value,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

/// Without the endpoint's API key.
#[derive(Serialize)]
pub struct ChatSettings {
    pub enabled: bool,
    pub own_enabled: bool,
    pub provider_type: String,
    pub endpoint: String,
    pub model: String,
    pub daily_token_cap: Option<i64>,
    pub purposes: Value,
}

#[derive(Serialize)]
pub struct ChatSpend {
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
pub struct Summary {
    pub text: String,
    #[serde(with = "time::serde::rfc3339")]
    pub made_at: OffsetDateTime,
    pub model: Option<String>,
    /// The `id`s of the items that it is based on.
    pub items: Vec<i64>,
    pub items_total: i64,
}

#[derive(Serialize)]
pub struct EmbeddingSettings {
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

#[derive(Serialize)]
pub struct Item {
    pub id: i64,
    pub r#type: String,
    pub theme: String,
    pub key: Option<String>,
    pub content: String,
    pub tags: Vec<String>,
    pub status: String,
    pub source: String,
    pub trust: String,
    pub source_context: Option<String>,
    pub confidence: i16,
    pub protected: bool,
    #[serde(with = "time::serde::rfc3339::option")]
    pub expires_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub valid_from: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub valid_until: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub last_verified_at: Option<OffsetDateTime>,
    pub access_count: i64,
    #[serde(with = "time::serde::rfc3339::option")]
    pub last_accessed: Option<OffsetDateTime>,
    /// Decay per day; null: the default of its type.
    pub decay_rate: Option<f64>,
    pub attributes: Value,
    pub superseded_by: Option<i64>,
    pub agent: Option<String>,
    /// The agent that owns it; null: it is shared.
    pub owner: Option<String>,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub events: Vec<Event>,
}

impl Item {
    /// Replaces the values that had others then. Past use counts are not stored.
    pub fn as_then(&mut self, then: PastState) {
        self.status = then.status().as_str().to_owned();
        let was = then.state;
        self.key = self.key.take().filter(|_| then.has_key);
        self.tags = was.tags;
        self.trust = was.trust.as_str().to_owned();
        self.confidence = was.confidence;
        self.protected = was.protected;
        self.expires_at = was.expires_at;
        self.valid_from = was.period.from;
        self.valid_until = was.period.until;
        self.last_verified_at = was.last_verified_at;
        self.superseded_by = was.superseded_by.map(|id| id.0);
        self.updated_at = then.updated_at;
        self.access_count = 0;
        self.last_accessed = None;
    }
}

#[derive(Serialize)]
pub struct Event {
    pub event: String,
    pub agent: Option<String>,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
}

#[derive(Serialize)]
pub struct Call {
    #[serde(skip)]
    pub id: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    pub agent: Option<String>,
    pub tool: String,
    pub outcome: String,
    pub duration_us: i32,
    pub item_ids: Vec<i64>,
    pub query: Option<String>,
}
