//! The changes of a revision, line by line, with context around each. Texts that would take long are not
//! compared.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

/// Per text.
const LINES_MAX: usize = 2_000;
const TIMEOUT: Duration = Duration::from_millis(500);
const LINES_AROUND: usize = 3;
/// Per line; longer ones are cut.
const LINE_CHARS_SHOWN: usize = 2_000;

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

pub fn compare(before: &str, after: &str) -> DiffView {
    if before == after {
        return DiffView::Same;
    }
    if before.lines().count().max(after.lines().count()) > LINES_MAX {
        return DiffView::TooLong;
    }
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(TIMEOUT)
        .diff_lines(before, after);
    let (mut added, mut removed) = (0, 0);
    let mut lines = Vec::new();
    for (n, group) in diff.grouped_ops(LINES_AROUND).iter().enumerate() {
        if n > 0 {
            lines.push(DiffLine {
                change: LineChange::Gap,
                old: None,
                new: None,
                text: "…".to_owned(),
            });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let kind = match change.tag() {
                ChangeTag::Equal => LineChange::Same,
                ChangeTag::Insert => {
                    added += 1;
                    LineChange::Added
                }
                ChangeTag::Delete => {
                    removed += 1;
                    LineChange::Removed
                }
            };
            lines.push(DiffLine {
                change: kind,
                old: change.old_index().map(|n| n + 1),
                new: change.new_index().map(|n| n + 1),
                text: shown(change.value()),
            });
        }
    }
    DiffView::Lines { lines, added, removed }
}

fn shown(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(LINE_CHARS_SHOWN) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_a_change_are_shown_and_the_rest_is_not() {
        let before: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 10\n", "line ten\nline 10b\n");
        let DiffView::Lines { lines, added, removed } = compare(&before, &after) else {
            panic!("not compared");
        };
        assert_eq!((added, removed, lines.len()), (2, 1, 9));
        assert_eq!((lines[0].old, lines[0].new), (Some(7), Some(7)));
        assert_eq!((lines[3].old, lines[3].new), (Some(10), None));
        assert_eq!(lines[4].text, "line ten");
        assert_eq!(compare(&before, &before), DiffView::Same);
    }

    #[test]
    fn what_is_long_is_not_compared() {
        let (one, other) = ("a\n".repeat(3_000), "b\n".repeat(10));
        assert_eq!(compare(&one, &other), DiffView::TooLong);
        let DiffView::Lines { lines, .. } = compare("", &"x".repeat(1_000_000)) else {
            panic!("not compared");
        };
        assert!(lines[0].text.len() < 3_000);
    }
}
