//! What a source is: a memory of one type or another, or what is no memory and is found beside them.

use crate::input::Invalid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemType {
    Preference,
    Fact,
    Instruction,
    Summary,
    Other,
    /// What a week was about. Nobody adds one: it is written on Sundays, of what was remembered and told.
    Reflection,
    /// What was said in a conversation, as it was said. Nobody adds one: searches alone know it.
    Turn,
    /// A part of a document. Nobody adds one: it comes and goes with its document.
    Document,
    /// What a session was about. Nobody adds one: it is written when the session is read.
    Episode,
}

impl ItemType {
    /// Those that can be added.
    pub const ALL: [Self; 5] = [
        Self::Preference,
        Self::Fact,
        Self::Instruction,
        Self::Summary,
        Self::Other,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Fact => "fact",
            Self::Instruction => "instruction",
            Self::Summary => "summary",
            Self::Other => "other",
            Self::Reflection => "reflection",
            Self::Turn => "turn",
            Self::Document => "document",
            Self::Episode => "episode",
        }
    }

    /// Whether it is a memory, which stands in a theme and which people list and change.
    pub fn is_memory(self) -> bool {
        self == Self::Reflection || Self::ALL.contains(&self)
    }

    pub fn parse(field: &'static str, text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|t| t.as_str() == text).ok_or_else(|| {
            Invalid::new(
                field,
                "invalid_type",
                format!("`{field}` is not known; give preference, fact, instruction, summary or other."),
            )
        })
    }

    /// What is imported: also a memory that nobody adds.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse_memory(field: &'static str, text: &str) -> Result<Self, Invalid> {
        match text == Self::Reflection.as_str() {
            true => Ok(Self::Reflection),
            false => Self::parse(field, text),
        }
    }

    /// What a search may be narrowed to. None where it is no type.
    pub fn searched(text: &str) -> Option<Self> {
        let mut types = Self::ALL.into_iter().chain([
            Self::Reflection,
            Self::Turn,
            Self::Document,
            Self::Episode,
        ]);
        types.find(|t| t.as_str() == text)
    }

    /// The column's check admits nothing else.
    pub(crate) fn from_column(text: &str) -> Self {
        Self::searched(text).unwrap_or(Self::Other)
    }
}
