//! Admin › Backups: the list of backups and what the job is asked to do.

use crate::page::PageError;
use crate::view::{BackupRow, BackupsPage, Verification};
use crate::words::size;

use crate::backup::{self, Backups, ListedBackup};
use crate::input::sentence;
use crate::page::{Page, database};

impl Page {
    /// `None`: no admin asks.
    pub async fn backups_page(&self) -> Result<Option<BackupsPage>, PageError> {
        match self.is_admin() {
            true => self.backups_view().await.map(Some),
            false => Ok(None),
        }
    }

    pub(crate) async fn backups_view(&self) -> Result<BackupsPage, PageError> {
        self.look_at_backups().await.map_err(database)
    }

    async fn look_at_backups(&self) -> Result<BackupsPage, sqlx::Error> {
        let mut conn = self.state.db.system_connection().await?;
        let state = backup::state(&mut conn).await?;
        let listed = backup::list(&mut conn).await?;
        drop(conn);
        let folder = self.state.backups.as_ref().map(Backups::folder);
        let is_on = folder.is_some() || !listed.is_empty();
        Ok(BackupsPage {
            folder: folder.map(|folder| folder.display().to_string()),
            next: is_on.then(|| backup::next_night(self.state.clock.now())),
            is_making: is_on && state.asked_at.is_some(),
            is_verifying: is_on && state.verify_asked_at.is_some(),
            problem: state
                .problem
                .zip(state.problem_at)
                .map(|(problem, at)| (sentence(&problem), at)),
            backups: listed.into_iter().map(|one| self.backup_row(one)).collect(),
        })
    }

    fn backup_row(&self, backup: ListedBackup) -> BackupRow {
        BackupRow {
            name: backup.name,
            made: backup.made_at,
            size: size(backup.bytes),
            version: backup.version,
            rows: backup.rows_total,
            verification: match (backup.verified_at, backup.verify_problem) {
                (None, _) => Verification::Never,
                (Some(at), None) => Verification::Passed(at),
                (Some(at), Some(problem)) => {
                    Verification::Failed { at: at, problem: sentence(&problem) }
                }
            },
        }
    }
}
