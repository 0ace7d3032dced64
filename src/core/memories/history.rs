//! The history of an item: its events, its state before each of them, and the items it replaces.

use time::OffsetDateTime;

use super::model::{ItemId, MemoryItem};
use super::period::Period;
use super::trust::Trust;
use super::{PUT_ASIDE, SUPERSEDED};

/// One event of an item.
#[derive(Clone, Debug)]
pub struct ItemEvent {
    pub id: i64,
    pub event: String,
    /// Name of the agent that caused it; `None` for the user.
    pub agent: Option<String>,
    pub at: OffsetDateTime,
    /// The state before the event; `None` if the event kept no state, or only the confidence.
    pub was: Option<ItemState>,
    pub was_confidence: Option<i16>,
}

impl ItemEvent {
    /// Whether another item took this item's place.
    pub fn is_giving_way(&self) -> bool {
        [SUPERSEDED, PUT_ASIDE].contains(&self.event.as_str())
    }
}

/// The mutable part of an item besides its status; an event keeps the state before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemState {
    /// 0 to 100
    pub confidence: i16,
    pub trust: Trust,
    pub protected: bool,
    pub locked: bool,
    pub last_verified_at: Option<OffsetDateTime>,
    pub expires_at: Option<OffsetDateTime>,
    pub period: Period,
    pub superseded_by: Option<ItemId>,
    pub tags: Vec<String>,
}

impl ItemState {
    /// The state for an active item: a past expiry is removed.
    pub fn lasting(self, now: OffsetDateTime) -> Self {
        Self { expires_at: self.expires_at.filter(|at| *at > now), ..self }
    }
}

impl MemoryItem {
    pub fn state(&self) -> ItemState {
        ItemState {
            confidence: self.confidence,
            trust: self.trust,
            protected: self.protected,
            locked: self.locked,
            last_verified_at: self.last_verified_at,
            expires_at: self.expires_at,
            period: self.period,
            superseded_by: self.superseded_by,
            tags: self.tags.clone(),
        }
    }
}

/// An item that another one replaces.
#[derive(Clone, Debug)]
pub struct ReplacedItem {
    pub id: ItemId,
    /// The first [`Self::CHARS_MAX`] characters of its text.
    pub beginning: String,
    pub source: String,
    pub trust: Trust,
    /// It contradicted an active item when it was added, and was never active itself.
    pub is_put_aside: bool,
}

impl ReplacedItem {
    pub const CHARS_MAX: i32 = 200;
}
