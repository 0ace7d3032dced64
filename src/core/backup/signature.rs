//! Who made a backup, and who wrote a line beside it: MACs by a key derived from the server's secret key, checked before
//! anything of them is used.

use super::model::BackupError;
use crate::seal::{MacRefusal, Sealer};

const FILE: &str = "keepsake backup file";
const NOTE: &str = "keepsake erasures.jsonl";

/// Of the checksums of a backup's parts.
pub(super) fn sign_file(sealer: &Sealer, sums: &str) -> String {
    sealer.mac(FILE, sums.as_bytes())
}

pub(super) fn check_file(sealer: &Sealer, sums: &str, mac: &str) -> Result<(), MacRefusal> {
    sealer.check_mac(FILE, sums.as_bytes(), mac)
}

/// Of a line, which begins with the MAC of the line before it, so that none can be left out. `before`: empty for the first.
pub(super) fn sign_note(sealer: &Sealer, before: &str, line: &str) -> String {
    sealer.mac(NOTE, format!("{before}\n{line}").as_bytes())
}

pub(super) fn check_note(
    sealer: &Sealer,
    before: &str,
    line: &str,
    mac: &str,
) -> Result<(), MacRefusal> {
    sealer.check_mac(NOTE, format!("{before}\n{line}").as_bytes(), mac)
}

/// What a restore accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTrust {
    /// What this server has signed.
    Signed,
    /// Anything; what is not signed is told.
    Anything,
}

impl FileTrust {
    /// Passes on what is not authentic, or tells it and goes on without.
    pub fn require<T>(
        self,
        checked: Result<T, BackupError>,
        tell: impl FnOnce(&BackupError),
    ) -> Result<Option<T>, BackupError> {
        match (checked, self) {
            (Err(error), Self::Anything) if error.is_of_trust() => {
                tell(&error);
                Ok(None)
            }
            (checked, _) => checked.map(Some),
        }
    }
}
