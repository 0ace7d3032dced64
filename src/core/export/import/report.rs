//! What an import did with each entry of its file: one row each, up to a limit, for the person to download. Places and
//! sentences, never content.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::ImportOutcome;

/// Rows of what was refused or changed.
const ROWS_TOLD_MAX: usize = 10_000;
/// Rows of what was imported as it is, was there, or did not have to be imported.
const ROWS_TAKEN_MAX: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    Taken,
    /// It was here already.
    Known,
    /// Taken, but not as it was.
    Changed,
    /// Not imported, and does not have to be.
    Skipped,
    Refused,
}

#[derive(Serialize)]
struct ReportRow {
    place: String,
    outcome: RowOutcome,
    #[serde(skip_serializing_if = "String::is_empty")]
    sentence: String,
}

/// The report of an import; filled while it runs. Cheap to clone.
#[derive(Clone, Default)]
pub struct ImportReport(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    rows: Vec<ReportRow>,
    told: usize,
    taken: usize,
    left_out: u64,
}

#[derive(Serialize)]
struct LastRow {
    left_out: u64,
    sentence: &'static str,
}

impl ImportReport {
    pub(super) fn add(&self, place: &str, outcome: RowOutcome, sentence: String) {
        let mut rows = self.rows();
        let is_told = matches!(outcome, RowOutcome::Changed | RowOutcome::Refused);
        let (count, most) = match is_told {
            true => (&mut rows.told, ROWS_TOLD_MAX),
            false => (&mut rows.taken, ROWS_TAKEN_MAX),
        };
        if *count == most {
            rows.left_out += 1;
            return;
        }
        *count += 1;
        rows.rows.push(ReportRow { place: place.to_owned(), outcome, sentence });
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// JSON Lines: the counts, and a row for each entry, in the order of the file.
    pub fn lines(&self, outcome: &ImportOutcome, error: Option<&str>) -> String {
        let rows = self.rows();
        let head = serde_json::json!({
            "keepsake_import": 1, "added": outcome.added, "documents": outcome.documents, "known": outcome.known,
            "changed": outcome.changed, "skipped": outcome.skipped, "refused": outcome.failed, "error": error,
        });
        let mut lines = format!("{head}\n");
        let mut add = |row: serde_json::Result<String>| {
            if let Ok(row) = row {
                lines.push_str(&row);
                lines.push('\n');
            }
        };
        rows.rows.iter().for_each(|row| add(serde_json::to_string(row)));
        if rows.left_out > 0 {
            let sentence = "So many more rows are not in this report; the counts have them.";
            add(serde_json::to_string(&LastRow { left_out: rows.left_out, sentence }));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_told_however_much_was_taken() {
        let report = ImportReport::default();
        for n in 0..ROWS_TAKEN_MAX + 5 {
            report.add(&format!("Line {n}"), RowOutcome::Taken, String::new());
        }
        report.add("Line 7", RowOutcome::Refused, "It is not JSON.".to_owned());
        let lines = report.lines(&ImportOutcome::default(), None);
        assert_eq!(lines.lines().count(), ROWS_TAKEN_MAX + 3);
        let row = r#"{"place":"Line 7","outcome":"refused","sentence":"It is not JSON."}"#;
        assert!(lines.lines().any(|line| line == row));
        assert!(lines.lines().last().is_some_and(|last| last.starts_with(r#"{"left_out":5,"#)));
    }
}
