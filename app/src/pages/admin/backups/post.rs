//! The form of Admin › Backups: make one now, verify the newest. Members get a 404.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::backup;
use crate::forms::{Admin, FormName};
use crate::forms::{Attempt, Posted, Submission, done};
use keepsake_edge::error::Problem;

const PATH: &str = "/admin/backups";
const FORM: FormName = FormName::Backups;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum BackupForm {
    BackUp,
    Verify,
}

pub async fn change(_: Admin, Posted(posted, form): Posted<BackupForm>) -> Response {
    let outcome = obey(&posted, form).await;
    posted.respond(show, PATH, FORM, outcome).await
}

async fn obey(posted: &Submission, form: Result<BackupForm, Problem>) -> Attempt {
    let (db, _, now) = posted.context();
    let form = form?;
    // Checks again that the person is an admin.
    let mut tx = db.as_system().await?;
    let has_any = !backup::list(&mut tx).await?.is_empty();
    tx.commit().await?;
    if posted.state.backups.is_none() && !has_any {
        let sentence = "This server has no backup folder; set KEEPSAKE_BACKUP_DIR and restart it.";
        return Err(refused("no_backup_folder", sentence));
    }
    let sentence = match form {
        BackupForm::BackUp => {
            backup::ask(db, now).await?;
            "A backup is made now."
        }
        BackupForm::Verify if !has_any => {
            let sentence = "There is no backup to verify; make one first.";
            return Err(refused("no_backup", sentence));
        }
        BackupForm::Verify => {
            backup::ask_to_verify(db, now).await?;
            "The newest backup is verified now."
        }
    };
    Ok(done(FORM, sentence))
}

fn refused(code: &'static str, sentence: &'static str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, sentence)
}
