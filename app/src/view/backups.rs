//! The types of Admin › Backups: which backups there are, and what the job does with them.

use time::OffsetDateTime;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackupsPage {
    /// Of this server; `None`: it makes none.
    pub folder: Option<String>,
    /// Newest first; of the folder of any server.
    pub backups: Vec<BackupRow>,
    /// The next nightly one.
    pub next: Option<OffsetDateTime>,
    /// *Back up now* is waiting or under way.
    pub is_making: bool,
    /// *Verify now* likewise.
    pub is_verifying: bool,
    /// Why the last one failed, until one succeeds.
    pub problem: Option<(String, OffsetDateTime)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BackupRow {
    /// Of the file.
    pub name: String,
    pub made: OffsetDateTime,
    /// "12 MB"
    pub size: String,
    /// Of the Keepsake that made it.
    pub version: String,
    pub rows: i64,
    pub verification: Verification,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verification {
    Never,
    Passed(OffsetDateTime),
    Failed {
        at: OffsetDateTime,
        /// One sentence.
        problem: String,
    },
}

impl BackupsPage {
    /// Whether any server has a backup folder, as far as this one knows.
    pub fn is_on(&self) -> bool {
        self.folder.is_some() || !self.backups.is_empty()
    }

    /// Whether the page is worth looking at again by itself.
    pub fn is_moving(&self) -> bool {
        self.is_making || self.is_verifying
    }
}
