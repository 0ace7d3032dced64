//! An endpoint of embeddings or chat: what serves, what is saved, and what Test and Save
//! answer. A key is never among it: only that there is one.

/// Which model serves a person, by what is configured (DESIGN §5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveProvider {
    /// "Builtin model", "System llama.cpp", "Your endpoint", "System chat model" or "None".
    pub name: String,
    /// One sentence: why this one.
    pub reason: String,
    pub model: Option<String>,
    /// Host and port, nothing else of the URL.
    pub endpoint: Option<String>,
    /// Of an embedding model, once it has answered.
    pub dimensions: Option<i32>,
    /// What the endpoint refused and is no longer sent; empty: nothing.
    pub learned: String,
}

/// A saved endpoint, as its form starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointView {
    /// By the names of the form's fields; the key has none here.
    pub values: Vec<(&'static str, String)>,
    pub has_key: bool,
    /// The form starts with the host of the chat model; nothing is saved.
    pub is_from_chat: bool,
    /// Providers to start from, slug and name.
    pub vendors: Vec<(&'static str, &'static str)>,
    /// What an embedding model wants before its texts; none for chat.
    pub presets: Vec<PresetView>,
}

impl EndpointView {
    pub fn is_set(&self) -> bool {
        let mut values = self.values.iter();
        values.any(|(name, value)| *name == "url" && !value.is_empty())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresetView {
    /// As the form names it: `e5`; `none` has no prefixes.
    pub slug: &'static str,
    pub name: &'static str,
    pub query_prefix: &'static str,
    /// Before a memory.
    pub document_prefix: &'static str,
}
