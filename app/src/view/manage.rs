//! What a person may decide about one memory, and what they may still take back.

/// The last thing that they did, which Undo takes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// Names it.
    pub event: i64,
    /// "You archived this memory."
    pub done: &'static str,
    pub left_ms: u32,
}

/// An active memory in the place of one that was to be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    pub id: i64,
    pub beginning: String,
}

/// A permanent deletion that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Until it runs; 0 where it is due.
    pub left_ms: u32,
}
