//! What an admin may do with jobs: run one now, pause it, resume it, set its schedule, retry failures. Each
//! change is recorded in the same transaction.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{BackgroundJob, JobWork, sweep};
use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::clock::Schedule;
use crate::db::Db;
use crate::queue::{self, SERVER, store};

impl BackgroundJob {
    /// The sweep cannot be paused: it recovers lost pushes, and its runs show that workers are alive.
    pub fn can_pause(&self) -> bool {
        self.name != sweep::JOB.name
    }
}

/// Makes the job due now for every user who has a row, and starts the sweep to find others. Returns how many
/// rows it brought forward; `None` while the job is paused.
pub async fn run_now(
    db: &Db,
    job: &'static BackgroundJob,
    now: OffsetDateTime,
) -> Result<Option<u64>, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let paused = store::list_paused(&mut tx).await?;
    if paused.iter().any(|(name, _)| name == job.name) {
        return Ok(None);
    }
    let (users, pushed) = match job.work {
        JobWork::OfServer(_) => (0, job),
        JobWork::OfUsers(_) => {
            let users = store::make_due_now(&mut tx, job.name, now).await?;
            (users, &sweep::JOB)
        }
    };
    queue::push_now(&mut tx, SERVER, pushed.name, now).await?;
    record(&mut tx, AdminAction::RunJob, AdminSubject::Job(job.name), now).await?;
    tx.commit().await?;
    Ok(Some(users))
}

/// Pauses a job. Current slices run to their end; no new one begins until it is resumed. False if it was
/// already paused.
pub async fn pause(
    db: &Db,
    job: &'static BackgroundJob,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::pause(&mut tx, job.name, now).await?;
    if is_changed {
        record(&mut tx, AdminAction::PauseJob, AdminSubject::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// Resumes a job. False if it was not paused.
pub async fn resume(
    db: &Db,
    job: &'static BackgroundJob,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::resume(&mut tx, job.name).await?;
    if is_changed {
        record(&mut tx, AdminAction::ResumeJob, AdminSubject::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// Overrides the job's own schedule. If the new time has passed today, users whose last run is older than it
/// are due now. False if nothing changed.
pub async fn set_schedule(
    db: &Db,
    job: &'static BackgroundJob,
    schedule: Schedule,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::set_schedule(&mut tx, job.name, schedule).await?;
    if is_changed {
        record(&mut tx, AdminAction::ScheduleJob, AdminSubject::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// Restores the job's own schedule. False if it was in force already.
pub async fn unset_schedule(
    db: &Db,
    job: &'static BackgroundJob,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::unset_schedule(&mut tx, job.name).await?;
    if is_changed {
        record(&mut tx, AdminAction::UnscheduleJob, AdminSubject::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// Retries all failed runs, of one job or of all. Returns how many there were.
pub async fn retry_failed(
    db: &Db,
    job: Option<&'static BackgroundJob>,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let retried = store::retry_failed(&mut tx, job.map(|job| job.name), now).await?;
    if retried > 0 {
        let subject = job.map_or(AdminSubject::Nobody, |job| AdminSubject::Job(job.name));
        record(&mut tx, AdminAction::RetryJob, subject, now).await?;
    }
    tx.commit().await?;
    Ok(retried)
}

async fn record(
    conn: &mut PgConnection,
    action: AdminAction,
    subject: AdminSubject,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    admin_events::record(conn, AdminActor::current(), action, subject, now).await
}
