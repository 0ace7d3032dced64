//! The types of the page of one's data, and of receipts of what was erased: all
//! in numbers.

use super::StorageView;
use time::OffsetDateTime;

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
    pub documents: i64,
    /// Taken, but not as they were.
    pub changed: i64,
    /// Not imported, and did not have to be.
    pub skipped: i64,
    /// Where the report is, once there is one.
    pub report: Option<String>,
    /// Of the first that failed: "Line 3", and one sentence.
    pub problems: Vec<(String, String)>,
    /// Why it stopped.
    pub error: Option<String>,
    /// Whose word its memories are, in a sentence; may be empty.
    pub whose: &'static str,
    pub started: OffsetDateTime,
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
    Chosen,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub id: String,
    pub kind: ErasedKind,
    pub rows: Vec<RowCount>,
    /// What was found with it and not chosen.
    pub stays: Vec<RowCount>,
    /// For so long it can be undone.
    pub undo_ms: Option<u32>,
    pub requested: OffsetDateTime,
    /// `None` while it goes on.
    pub finished: Option<OffsetDateTime>,
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

/// What a person may delete in one act.
#[derive(Clone, Debug, PartialEq)]
pub struct AboutPage {
    /// `None`: nothing was asked for yet.
    pub found: Option<FoundAbout>,
    /// Why nothing could be looked for, by field.
    pub problem: Option<(String, String)>,
    /// What was typed.
    pub words: String,
    /// Kind, id, name, and whether it is asked for.
    pub subjects: Vec<(&'static str, i64, String, bool)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundAbout {
    /// The field and value that it was asked by.
    pub asked: (&'static str, String),
    pub name: String,
    pub kinds: Vec<FoundKind>,
    /// Themes and projects of that name.
    pub names: i64,
    /// So many of the newest messages were looked through.
    pub messages_searched: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundKind {
    /// As forms have it.
    pub slug: &'static str,
    /// "Messages"
    pub label: &'static str,
    /// What becomes of them.
    pub hint: &'static str,
    pub total: usize,
    /// There are more than are found at once.
    pub has_more: bool,
    /// Chosen unless its person says otherwise.
    pub is_chosen: bool,
    /// The newest; all, if they are not too many to be chosen one by one.
    pub rows: Vec<FoundRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundRow {
    /// As forms have it.
    pub value: String,
    pub href: Option<String>,
    pub text: String,
    pub at: OffsetDateTime,
}
