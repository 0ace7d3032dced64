//! The types of the page of one's data, and of receipts of what was erased: all
//! in numbers.

use super::{Moment, StorageView};

#[derive(Clone, Debug, PartialEq)]
pub struct DataPage {
    pub items: i64,
    pub calls: i64,
    /// An estimate of the file.
    pub export_bytes: i64,
    /// The last one.
    pub import: Option<ImportProgress>,
    pub storage: StorageView,
    /// What an erasure of the account would remove.
    pub rows: Vec<RowCount>,
    /// Newest first.
    pub receipts: Vec<Receipt>,
    /// The largest file that may be uploaded.
    pub upload_bytes_max: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    Running,
    Done,
    Failed,
    /// Its server stopped.
    Interrupted,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ImportProgress {
    pub state: ImportState,
    pub bytes_done: i64,
    pub bytes_total: i64,
    pub added: i64,
    pub known: i64,
    pub failed: i64,
    /// Of the first that failed: "Line 3", and one sentence.
    pub problems: Vec<(String, String)>,
    /// Why it stopped.
    pub error: Option<String>,
    /// Whose word its memories are, in a sentence; may be empty.
    pub whose: &'static str,
    pub started: Moment,
}

/// So many rows of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCount {
    /// "vectors"
    pub label: &'static str,
    pub erased: i64,
    /// At the beginning.
    pub found: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasedKind {
    Memory,
    Session,
    Document,
    Account,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub id: String,
    pub kind: ErasedKind,
    pub rows: Vec<RowCount>,
    pub requested: Moment,
    /// `None` while it goes on.
    pub finished: Option<Moment>,
}

impl Receipt {
    pub fn erased(&self) -> i64 {
        self.rows.iter().map(|row| row.erased).sum()
    }

    /// What was added meanwhile counts as well.
    pub fn total(&self) -> i64 {
        self.rows.iter().map(|row| row.found.max(row.erased)).sum()
    }
}

/// What goes with one memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemErasure {
    pub vectors: i64,
    pub events: i64,
    /// Calls that were about it.
    pub mentions: i64,
    /// Memories whose place it took.
    pub links: i64,
    /// The summary stands on it.
    pub is_in_summary: bool,
    /// Memories that were written from it.
    pub derived: i64,
}
