//! The category of a fact: its theme, its item type, and how long it is kept.

use crate::db::labels;
use crate::memories::ItemType;

labels! {
    /// The category of a fact; its theme has the same name.
    pub enum Category {
        Profile = "profile",
        Preferences = "preferences",
        Technical = "technical",
        Projects = "projects",
        Other = "other",
        /// Used only for flushed sessions: what is valid for a while.
        Decisions = "decisions",
        ToDo = "to_do",
    }
}

impl Category {
    pub const OF_SESSION: [Self; 5] =
        [Self::Profile, Self::Preferences, Self::Technical, Self::Projects, Self::Other];
    pub const OF_FLUSH: [Self; 2] = [Self::Decisions, Self::ToDo];

    pub fn read(text: &str) -> Self {
        Self::from_label(&text.trim().to_lowercase()).unwrap_or(Self::Other)
    }

    /// Never an instruction: what was said in a conversation must not command an agent.
    pub fn item_type(self) -> ItemType {
        match self {
            Self::Preferences => ItemType::Preference,
            Self::Decisions | Self::ToDo => ItemType::Other,
            _ => ItemType::Fact,
        }
    }
}

impl Category {
    /// Whether such a fact is of what is worked on, unless a model says otherwise; all others are of the person.
    pub fn is_of_work(self) -> bool {
        matches!(self, Self::Decisions | Self::ToDo)
    }

    /// Days after which such a fact expires; `None`: never.
    pub fn days(self) -> Option<i64> {
        match self {
            Self::Decisions => Some(180),
            Self::ToDo => Some(30),
            _ => None,
        }
    }
}
