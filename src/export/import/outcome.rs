//! What an import came to, and what was wrong with the file.

/// A piece of the file that was not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// "Line 3"
    pub place: String,
    pub sentence: String,
}

/// What an import came to, or has come to so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Of the file, read so far.
    pub bytes: u64,
    pub added: u64,
    /// Items that were there already.
    pub known: u64,
    pub failed: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
}
