//! How much a page shows.

/// Rows a step of "load more", and at first.
pub const PAGE_SIZE: usize = 25;

/// Rows a list by date can grow to on one page; past it, a search helps more.
pub const ROWS_MAX: usize = 500;

/// Messages of a session on one page.
pub const MESSAGES_SHOWN: i32 = 100;

/// Memories that came of a session, on its page.
pub const MEMORIES_SHOWN: usize = 200;

/// Memories that name an entity, on its page.
pub const MENTIONED_IN_SHOWN: usize = 25;

/// Entities in one picture.
pub const GRAPH_NODES_SHOWN: usize = 500;

/// Documents in one tree; a folder that has more has a page of its own.
pub const DOCUMENTS_SHOWN: usize = 1_000;

/// Deleted documents below the tree.
pub const DELETED_SHOWN: usize = 200;

/// Lines of a document that are shown as text.
pub const LINES_SHOWN: usize = 5_000;

/// Calls that found a document, on its page.
pub const FOUND_SHOWN: usize = 20;

/// Rows a ranked list has at most.
pub const RANKED_MAX: usize = 50;
