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

/// A permanent deletion that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Until it runs; 0 where it is due.
    pub left_ms: u32,
}
