//! The type of a source: a memory type, or another kind of source that search also returns.

use crate::db::labels;
use crate::input::Invalid;
use crate::json::json_labels;

labels! {
    pub enum ItemType {
        Preference = "preference",
        Fact = "fact",
        Instruction = "instruction",
        Summary = "summary",
        Other = "other",
        /// The topics of a week. Cannot be added by callers: generated on Sundays from memories and conversations.
        Reflection = "reflection",
        /// Verbatim text of a conversation. Cannot be added by callers: it is written with its session.
        Turn = "turn",
        /// A part of a document. Cannot be added by callers: it is created and deleted with its document.
        Document = "document",
        /// The topics of a session. Cannot be added by callers: generated when the session is read.
        Episode = "episode",
    }
}

json_labels!(ItemType: ItemType::ALL);

impl ItemType {
    /// The types that callers can add.
    pub const ADDED: [Self; 5] =
        [Self::Preference, Self::Fact, Self::Instruction, Self::Summary, Self::Other];

    /// Whether it is a memory: it belongs to a theme, and users can list and change it.
    pub fn is_memory(self) -> bool {
        self == Self::Reflection || Self::ADDED.contains(&self)
    }

    /// Whether it states something itself, and does not repeat what other memories do.
    pub fn states(self) -> bool {
        matches!(self, Self::Preference | Self::Fact | Self::Instruction | Self::Other)
    }

    /// Whether it stands on memories, or was said where some were read.
    pub fn is_derived(self) -> bool {
        matches!(self, Self::Reflection | Self::Turn | Self::Document | Self::Episode)
    }

    pub fn parse(field: &'static str, text: &str) -> Result<Self, Invalid> {
        Self::ADDED.into_iter().find(|t| t.as_str() == text).ok_or_else(|| {
            Invalid::new(
                field,
                "invalid_type",
                format!(
                    "`{field}` is not known; give preference, fact, instruction, summary or other."
                ),
            )
        })
    }

    /// Parses a type for import, which also accepts reflections.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse_memory(field: &'static str, text: &str) -> Result<Self, Invalid> {
        match text == Self::Reflection.as_str() {
            true => Ok(Self::Reflection),
            false => Self::parse(field, text),
        }
    }
}
