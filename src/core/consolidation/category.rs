//! The category of a fact: its theme, its item type, and how long it is kept.

use crate::memories::ItemType;

/// The category of a fact; its theme has the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Profile,
    Preferences,
    Technical,
    Projects,
    Other,
    /// Used only for flushed sessions: what is valid for a while.
    Decisions,
    ToDo,
}

impl Category {
    pub const ALL: [Self; 5] =
        [Self::Profile, Self::Preferences, Self::Technical, Self::Projects, Self::Other];
    pub const OF_FLUSH: [Self; 2] = [Self::Decisions, Self::ToDo];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Preferences => "preferences",
            Self::Technical => "technical",
            Self::Projects => "projects",
            Self::Other => "other",
            Self::Decisions => "decisions",
            Self::ToDo => "to_do",
        }
    }

    pub fn read(text: &str) -> Self {
        let text = text.trim().to_lowercase();
        let all = Self::ALL.into_iter().chain(Self::OF_FLUSH);
        let known = all.into_iter().find(|c| c.as_str() == text);
        known.unwrap_or(Self::Other)
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
