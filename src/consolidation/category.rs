//! What a fact is about: the theme it goes to, its type, and how long it holds.

use crate::memories::ItemType;

/// What a fact is about; the theme it goes to has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Profile,
    Preferences,
    Technical,
    Projects,
    Other,
    /// Asked for where a session is flushed alone: what holds only for a while.
    Decisions,
    ToDo,
}

impl Category {
    pub const ALL: [Self; 5] = [
        Self::Profile,
        Self::Preferences,
        Self::Technical,
        Self::Projects,
        Self::Other,
    ];
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

    /// Never an instruction: what was said in a conversation commands nobody.
    pub fn item_type(self) -> ItemType {
        match self {
            Self::Preferences => ItemType::Preference,
            Self::Decisions | Self::ToDo => ItemType::Other,
            _ => ItemType::Fact,
        }
    }
}

impl Category {
    /// Days that such a fact stays.
    pub fn days(self) -> Option<i64> {
        match self {
            Self::Decisions => Some(180),
            Self::ToDo => Some(30),
            _ => None,
        }
    }
}
