//! The types of the pages of documents: the tree, one document with its revisions, and its text: Markdown as a tree of
//! plain nodes, never HTML.

use super::Reading;
use time::OffsetDateTime;

/// What the address of a document says: `?revision=&as=text`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFilters {
    /// A revision, shown with what it changed; `None`: the newest.
    pub revision: Option<i32>,
    /// Not rendered, with its lines numbered.
    pub as_text: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    pub id: i64,
    /// Its last name, or the whole path where it stands in no tree.
    pub name: String,
    pub bytes: i64,
    pub changed: OffsetDateTime,
    /// Whose word it is, where that is not an agent's.
    pub word: Option<&'static str>,
    /// The agent that alone sees it, by name; `None`: it is shared.
    pub owner: Option<String>,
    /// When it was deleted.
    pub deleted: Option<OffsetDateTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFolder {
    pub name: String,
    pub path: String,
    /// In it and below.
    pub documents: usize,
    /// Empty where there are too many to show: it has a page of its own.
    pub inside: DocumentTree,
}

/// Folders stand before files, both by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentTree {
    pub folders: Vec<DocumentFolder>,
    pub files: Vec<DocumentRow>,
    /// Files that are not shown.
    pub left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentsPage {
    /// Of which this is the tree; `None`: of all.
    pub folder: Option<String>,
    pub tree: DocumentTree,
    pub total: usize,
    /// Newest first, at most [`DELETED_SHOWN`](crate::limits::DELETED_SHOWN).
    pub deleted: Vec<DocumentRow>,
    pub deleted_total: usize,
    /// There is none, and never was.
    pub is_empty: bool,
    /// This server's public URL, for the line to paste.
    pub public_url: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionRow {
    pub revision: i32,
    /// "renamed from a.md to b.md"
    pub event: String,
    /// "claude-code", "you", "an import"
    pub actor: String,
    pub word: Option<&'static str>,
    pub at: OffsetDateTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    Same,
    Added,
    Removed,
    /// Lines that are the same and not shown.
    Gap,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub change: LineChange,
    /// From 1, before and after.
    pub old: Option<usize>,
    pub new: Option<usize>,
    pub text: String,
}

/// What a revision changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffView {
    /// Its text is that of the one before.
    Same,
    /// The one before is kept no more.
    NothingBefore,
    TooLong,
    Lines {
        lines: Vec<DiffLine>,
        added: usize,
        removed: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentBody {
    Markdown {
        blocks: Vec<Block>,
        /// The rest is not rendered.
        is_cut: bool,
    },
    Text {
        lines: Vec<String>,
        lines_total: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPage {
    pub id: i64,
    pub path: String,
    /// The newest.
    pub revision: i32,
    pub bytes: i64,
    /// Who changed it last.
    pub actor: String,
    pub whose: &'static str,
    pub word: Option<&'static str>,
    /// The agent that alone sees it, by name; `None`: it is shared.
    pub owner: Option<String>,
    pub created: OffsetDateTime,
    pub changed: OffsetDateTime,
    pub deleted: Option<OffsetDateTime>,
    /// Its name says that it is Markdown.
    pub is_markdown: bool,
    /// Of the revision that is shown.
    pub body: DocumentBody,
    /// Of the revision that the address names.
    pub diff: Option<DiffView>,
    /// Newest first.
    pub revisions: Vec<RevisionRow>,
    /// Calls that found or touched it, newest first.
    pub found: Vec<Reading>,
    /// Days for which calls are kept.
    pub kept_days: i64,
    pub is_manageable: bool,
}

/// A part of a document that search finds: where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartPlace {
    pub document: i64,
    pub path: String,
    /// From 1, both included.
    pub lines: (i32, i32),
}

/// What Markdown is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// From 1 to 6.
    Heading(u8, Vec<Inline>),
    Paragraph(Vec<Inline>),
    /// Of a list without blank lines.
    Words(Vec<Inline>),
    Quote(Vec<Block>),
    Code(String),
    List {
        /// Of a numbered one.
        start: Option<u64>,
        items: Vec<ListItem>,
    },
    Table {
        head: Vec<Vec<Inline>>,
        rows: Vec<Vec<Vec<Inline>>>,
    },
    Rule,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListItem {
    /// Of a task: whether it is done.
    pub done: Option<bool>,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inline {
    Text(String),
    Code(String),
    Emphasis(Vec<Inline>),
    Strong(Vec<Inline>),
    Struck(Vec<Inline>),
    /// `http`, `https` or `mailto`.
    Link {
        href: String,
        words: Vec<Inline>,
    },
    /// It is not fetched.
    Image {
        alt: String,
        address: String,
    },
    Break,
}
