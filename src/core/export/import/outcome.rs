//! The outcome of an import, and the problems of its file.

use serde::{Deserialize, Serialize};

/// A piece of the file that was not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportProblem {
    /// Such as "Line 3".
    pub place: String,
    pub sentence: String,
}

/// The outcome of an import so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOutcome {
    /// Bytes of the file read so far.
    pub bytes: u64,
    pub added: u64,
    /// Items that existed already.
    pub known: u64,
    pub failed: u64,
    /// Documents that another program's notes became.
    pub documents: u64,
    /// Taken, but not as they were.
    pub changed: u64,
    /// Not imported, and did not have to be.
    pub skipped: u64,
    /// The first problems.
    pub problems: Vec<ImportProblem>,
}
