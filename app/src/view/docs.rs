//! What the page `/docs` shows: the operations a program can call.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsPage {
    pub public_url: String,
    pub version: String,
    pub groups: Vec<DocsGroup>,
    pub errors: Vec<DocsError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsGroup {
    pub title: String,
    pub about: String,
    pub operations: Vec<DocsOperation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsOperation {
    /// Also its place on the page.
    pub id: String,
    pub method: String,
    pub path: String,
    pub summary: String,
    pub description: String,
    /// "A token with memory:read"
    pub access: String,
    pub inputs: Vec<DocsField>,
    /// To be pasted into a shell.
    pub curl: String,
    /// "200, application/json"
    pub answer_kind: String,
    pub answer: String,
    pub outputs: Vec<DocsField>,
    pub errors: Vec<u16>,
}

/// One field of a body or one parameter; in an answer with the way to it, such
/// as `results[].id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsField {
    pub name: String,
    pub kind: String,
    /// "required · 1 to 50"
    pub limits: String,
    pub meaning: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsError {
    pub status: u16,
    pub title: String,
    pub when: String,
    /// A code and its sentence each.
    pub examples: Vec<(String, String)>,
}
