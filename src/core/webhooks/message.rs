//! An event as programs get it: the same from `GET /api/v1/changes` and in a webhook, which may add the memory's text.

use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

use crate::json::JsonTime;
use crate::memories::feed::{FeedEvent, FeedEventType, FeedSubject};
use crate::memories::{ItemType, Status};

/// An event. It contains no memory text, unless a webhook includes it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventMessage {
    /// Unique id. A repeated delivery has the same id.
    id: String,
    /// Event type.
    #[serde(rename = "type")]
    #[schemars(with = "FeedEventType")]
    event_type: &'static str,
    at: JsonTime,
    /// For `memory.*` events: the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EventItem")]
    item: Option<EventItem>,
    /// For `dream.proposed`: the dream that made proposals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EventDream")]
    dream: Option<EventDream>,
    /// For `job.failed`: the background job that started to fail. It is retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EventJob")]
    job: Option<EventJob>,
    /// Address of the page about the event's subject.
    #[schemars(extend("format" = "uri"))]
    url: String,
}

/// The current state of the memory, which may be later than the event.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
struct EventItem {
    #[schemars(range(min = 1))]
    id: i64,
    #[schemars(extend("enum" = ["active", "archived", "erased"]))]
    status: &'static str,
    /// Omitted for an erased memory.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    item_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    theme: Option<String>,
    /// The project that the memory belongs to. Omitted if it is about the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    project: Option<String>,
    /// Id of the memory that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1))]
    superseded_by: Option<i64>,
    /// The memory's text. Only in webhooks that include it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    content: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct EventDream {
    #[schemars(range(min = 1))]
    id: i64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct EventJob {
    name: String,
}

const TEST: &str = "webhook.test";

impl EventMessage {
    /// `server` is the server's address; `content` the memory's text, if it is to be told.
    pub fn new(event: FeedEvent, server: &str, content: Option<String>) -> Self {
        let (mut item, mut dream, mut job) = (None, None, None);
        let path = match event.subject {
            FeedSubject::Item(id, now) => {
                item = Some(EventItem {
                    id: id.0,
                    status: Status::as_str(now.status),
                    item_type: Some(ItemType::as_str(now.item_type)),
                    theme: now.theme,
                    project: now.project,
                    superseded_by: now.superseded_by.map(|id| id.0),
                    content,
                });
                format!("/memory/{id}")
            }
            FeedSubject::ErasedItem(id) => {
                item = Some(EventItem { id: id.0, status: "erased", ..EventItem::default() });
                "/data".to_owned()
            }
            FeedSubject::Dream(id) => {
                dream = Some(EventDream { id });
                "/dreams".to_owned()
            }
            FeedSubject::Job(name) => {
                job = Some(EventJob { name });
                "/settings/work".to_owned()
            }
        };
        Self {
            id: format!("evt_{}", event.id),
            event_type: FeedEventType::as_str(event.event_type),
            at: JsonTime(event.at),
            item,
            dream,
            job,
            url: format!("{server}{path}"),
        }
    }

    /// What *Send a test* sends.
    pub(super) fn test(unique: &str, server: &str, now: OffsetDateTime) -> Self {
        Self {
            id: format!("test_{unique}"),
            event_type: TEST,
            at: JsonTime(now),
            item: None,
            dream: None,
            job: None,
            url: format!("{server}/settings/webhooks"),
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn event_type(&self) -> &'static str {
        self.event_type
    }
}
