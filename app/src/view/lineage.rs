//! Where a memory comes from and what came of it, as a small graph.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineageView {
    pub nodes: Vec<LineageNode>,
    pub edges: Vec<LineageEdge>,
    pub columns: usize,
    pub rows: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageNode {
    /// From the left, and from above.
    pub column: usize,
    pub row: usize,
    /// "session", "dream" and their like.
    pub what: &'static str,
    pub text: String,
    /// Whose word it is.
    pub word: Option<&'static str>,
    pub href: String,
    pub is_this: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageEdge {
    /// Places among the nodes.
    pub from: usize,
    pub to: usize,
    /// "replaced by" and its like.
    pub how: &'static str,
}

/// What a text that was derived from memories says of what does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutdatedMark {
    /// This memory holds in its place.
    ReplacedBy(i64),
    NotHeld,
}
