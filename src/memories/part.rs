//! Which stretch of which document a source is.

/// Where a part of a document stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub document: i64,
    pub path: String,
    /// From 1, both included.
    pub lines: (i32, i32),
}

impl Part {
    pub(crate) fn of(document: Option<(i64, String)>, lines: Option<(i32, i32)>) -> Option<Self> {
        let ((document, path), lines) = document.zip(lines)?;
        Some(Self {
            document,
            path,
            lines,
        })
    }
}
