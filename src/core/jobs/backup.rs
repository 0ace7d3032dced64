//! Makes the nightly backup and those that an admin asks for, verifies backups, and writes erasures and revocations beside
//! them. On a server without a backup folder it only deletes old notes of these.

use std::time::Duration;

use time::Duration as TimeDuration;

use super::{BackgroundJob, JobFailure, JobWork, NextDue};
use crate::backup::{self, BackupError};
use crate::replay;

/// A server without a folder lets notes wait this long for one that has one.
const NOTES_KEPT: TimeDuration = TimeDuration::days(7);

pub static JOB: BackgroundJob = BackgroundJob {
    name: backup::JOB,
    title: "Backups",
    about: "Makes the nightly backup, verifies backups, and writes erasures and revocations to the file beside them.",
    work: JobWork::OfServer(Duration::from_secs(60)),
    schedule: None,
    at_once: 1,
    adds: false,
    run: |context, _, slice| {
        Box::pin(async move {
            let now = context.now();
            let Some(backups) = &context.backups else {
                replay::prune(&context.db, now - NOTES_KEPT).await?;
                return Ok(NextDue::Done);
            };
            let watched = slice.clone();
            let ran = backups.run(&context.db, now, move || !watched.is_stopping());
            match ran.await {
                Ok(done) => {
                    slice.note(done, 0);
                    Ok(NextDue::Done)
                }
                Err(BackupError::Interrupted) if slice.is_stopping() => Ok(NextDue::More(1)),
                Err(BackupError::Database(error)) => Err(error.into()),
                Err(error) => Err(JobFailure::Other(error.to_string())),
            }
        })
    },
};
