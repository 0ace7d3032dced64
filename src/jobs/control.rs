//! What an admin may do about jobs: run one now, pause it, resume it, set its schedule, try again
//! what failed. Each act is recorded in the transaction that does it, where it changes anything.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Job, Work, sweep};
use crate::accounts::people::{self, About, Act, By};
use crate::clock::Schedule;
use crate::db::Db;
use crate::queue::{self, SERVER, store};

impl Job {
    /// Without the sweep, lost pushes stay lost, and every worker seems to be gone.
    pub fn can_pause(&self) -> bool {
        self.name != sweep::JOB.name
    }
}

/// A job of users has a row for each who has work: those are due now, and the sweep looks for
/// others. Returns how many users waited; `None` while the job is paused.
pub async fn run_now(
    db: &Db,
    job: &'static Job,
    now: OffsetDateTime,
) -> Result<Option<u64>, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let paused = store::list_paused(&mut tx).await?;
    if paused.iter().any(|(name, _)| name == job.name) {
        return Ok(None);
    }
    let (users, pushed) = match job.work {
        Work::OfServer(_) => (0, job),
        Work::OfUsers(_) => {
            let users = store::bring_forward(&mut tx, job.name, now).await?;
            (users, &sweep::JOB)
        }
    };
    queue::push_now(&mut tx, SERVER, pushed.name, now).await?;
    record(&mut tx, Act::RunJob, About::Job(job.name), now).await?;
    tx.commit().await?;
    Ok(Some(users))
}

/// What runs goes on to the end of its slice; nothing of the job begins until it is resumed.
/// False where it was paused before.
pub async fn pause(db: &Db, job: &'static Job, now: OffsetDateTime) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::pause(&mut tx, job.name, now).await?;
    if is_changed {
        record(&mut tx, Act::PauseJob, About::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// False where it was not paused.
pub async fn resume(db: &Db, job: &'static Job, now: OffsetDateTime) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::resume(&mut tx, job.name).await?;
    if is_changed {
        record(&mut tx, Act::ResumeJob, About::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// In place of the job's own. Where the new time has passed today, what was open before it is due
/// now. False where it was so before.
pub async fn set_schedule(
    db: &Db,
    job: &'static Job,
    schedule: Schedule,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::set_schedule(&mut tx, job.name, schedule).await?;
    if is_changed {
        record(&mut tx, Act::ScheduleJob, About::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// Back to the job's own schedule. False where it has that.
pub async fn unset_schedule(
    db: &Db,
    job: &'static Job,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let is_changed = store::unset_schedule(&mut tx, job.name).await?;
    if is_changed {
        record(&mut tx, Act::UnscheduleJob, About::Job(job.name), now).await?;
    }
    tx.commit().await?;
    Ok(is_changed)
}

/// All runs that failed, of one job or of all. Returns how many there were.
pub async fn retry_failed(
    db: &Db,
    job: Option<&'static Job>,
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let mut tx = db.as_system().await?;
    let retried = store::retry_failed(&mut tx, job.map(|job| job.name), now).await?;
    if retried > 0 {
        let about = job.map_or(About::Nobody, |job| About::Job(job.name));
        record(&mut tx, Act::RetryJob, about, now).await?;
    }
    tx.commit().await?;
    Ok(retried)
}

async fn record(
    conn: &mut PgConnection,
    act: Act,
    about: About,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    people::record(conn, By::current(), act, about, now).await
}
