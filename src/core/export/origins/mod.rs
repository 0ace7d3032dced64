//! The sources of derived memories, and what is not worth keeping, as lines of an export and an import.

pub(super) mod store;

use serde::{Deserialize, Serialize};

use crate::input::Invalid;

const SOURCES_MAX: usize = 1_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OriginsLine {
    /// The `id` of the memory.
    pub item: i64,
    /// The `id`s of memories and episodes.
    #[serde(deserialize_with = "crate::export::fields::first_of::<_, _, SOURCES_MAX>")]
    pub sources: Vec<i64>,
}

/// A text that the person does not want to be kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnwantedLine {
    pub text: String,
    /// The `id` of the forgotten memory; null: the person wrote it.
    pub item: Option<i64>,
}

impl OriginsLine {
    /// Checks the line.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn checked(self) -> Result<Self, Invalid> {
        if self.sources.len() <= SOURCES_MAX {
            return Ok(self);
        }
        let sentence = format!("`sources` has at most {SOURCES_MAX} entries.");
        Err(Invalid::new("sources", "too_many", sentence))
    }
}
