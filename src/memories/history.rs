//! What happened to an item: its events, what it was before each of them, and which others gave way to it.

use time::OffsetDateTime;

use super::model::ItemId;
use super::period::Period;
use super::trust::Trust;
use super::{PUT_ASIDE, SUPERSEDED};

/// One thing that happened to an item.
#[derive(Clone, Debug)]
pub struct ItemEvent {
    pub id: i64,
    pub event: String,
    /// The agent that did it, by name; `None` for the person.
    pub agent: Option<String>,
    pub at: OffsetDateTime,
    /// What it changed, as it was before; `None` where it kept none of it, or the confidence alone.
    pub was: Option<ItemState>,
    pub was_confidence: Option<i16>,
}

impl ItemEvent {
    /// Another holds in its place.
    pub fn is_giving_way(&self) -> bool {
        [SUPERSEDED, PUT_ASIDE].contains(&self.event.as_str())
    }
}

/// What may change of an item whose text stays, beside its status; the event keeps what was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemState {
    /// 0 to 100
    pub confidence: i16,
    pub trust: Trust,
    pub protected: bool,
    pub last_verified_at: Option<OffsetDateTime>,
    pub expires_at: Option<OffsetDateTime>,
    pub period: Period,
    pub superseded_by: Option<ItemId>,
    pub tags: Vec<String>,
}

impl ItemState {
    /// Of what is to be active: without an expiry that is past.
    pub fn lasting(self, now: OffsetDateTime) -> Self {
        Self {
            expires_at: self.expires_at.filter(|at| *at > now),
            ..self
        }
    }
}

/// An item that another stands for.
#[derive(Clone, Debug)]
pub struct GaveWay {
    pub id: ItemId,
    /// Of its text, [`Self::CHARS_MAX`] characters.
    pub beginning: String,
    pub source: String,
    pub trust: Trust,
    /// It contradicts what held when it came, and never held itself.
    pub is_put_aside: bool,
}

impl GaveWay {
    pub const CHARS_MAX: i32 = 200;
}
