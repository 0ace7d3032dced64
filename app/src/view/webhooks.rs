//! The types of Settings › Webhooks.

use time::OffsetDateTime;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebhooksPage {
    pub webhooks: Vec<WebhookRow>,
    pub webhooks_max: usize,
    /// The last deliveries that are kept of each.
    pub deliveries_kept: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WebhookRow {
    pub id: i64,
    pub url: String,
    /// `on`, `paused`, `off`; `failing` while it is on.
    pub state: &'static str,
    pub events: Vec<&'static str>,
    pub includes_text: bool,
    pub created: OffsetDateTime,
    pub delivered: Option<OffsetDateTime>,
    pub failing_since: Option<OffsetDateTime>,
    pub next_try: Option<OffsetDateTime>,
    /// The old secret signs too until then.
    pub old_secret_until: Option<OffsetDateTime>,
    /// Newest first.
    pub deliveries: Vec<DeliveryRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryRow {
    pub event: String,
    pub at: OffsetDateTime,
    /// "200"; empty if there was no answer.
    pub status: String,
    pub took_ms: i32,
    pub problem: Option<String>,
}
