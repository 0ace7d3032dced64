//! Schedules of jobs: a job's own, or an admin's override. A job with a schedule asks when it last came round
//! for each user ([`Services::rounds`]) and finds in the domain's rows what was not done since. So a missed
//! schedule is made up for once, and a clock that is set back causes no second run.

use sqlx::PgConnection;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, Time, Weekday};

use super::{BackgroundJob, JobFailure, NextDue, Services};
use crate::accounts;
use crate::clock::{Rounds, Schedule};
use crate::db::UserId;
use crate::input::Invalid;
use crate::queue::{self, store};

/// Users per look-up; the rest follow with the next one.
const USERS_DUE_MAX: i64 = 1_000;

impl Services {
    /// The job's effective schedule.
    pub(super) async fn schedule(&self, job: &BackgroundJob) -> Result<Schedule, JobFailure> {
        let mut conn = self.db.system_connection().await?;
        in_force(&mut conn, job).await
    }

    /// When the job last came round, in each time zone that users have.
    pub(super) async fn rounds(&self, job: &BackgroundJob) -> Result<Rounds, JobFailure> {
        let mut conn = self.db.system_connection().await?;
        let schedule = in_force(&mut conn, job).await?;
        let zones = accounts::store::list_time_zones(&mut conn).await?;
        Ok(schedule.rounds(zones, self.now()))
    }

    /// Users for whom the job has not run since it last came round. They are due now.
    pub(super) async fn due(
        &self,
        job: &BackgroundJob,
    ) -> Result<Vec<(UserId, OffsetDateTime)>, JobFailure> {
        let (rounds, now) = (self.rounds(job).await?, self.now());
        let mut conn = self.db.system_connection().await?;
        let users = queue::list_users_due(&mut conn, job.name, &rounds, now, USERS_DUE_MAX).await?;
        Ok(users.into_iter().map(|user| (user, now)).collect())
    }

    /// Records that the job was done for the user, until it comes round again.
    pub(super) async fn done(
        &self,
        job: &BackgroundJob,
        user: UserId,
    ) -> Result<NextDue, JobFailure> {
        self.note_round(job, user, Some(self.now()), None).await?;
        Ok(NextDue::Done)
    }

    /// Records that the job was done, and may run again after `after`.
    pub(super) async fn done_for(
        &self,
        job: &BackgroundJob,
        user: UserId,
        after: Duration,
    ) -> Result<NextDue, JobFailure> {
        let now = self.now();
        let again = now + after;
        self.note_round(job, user, Some(now), Some(again)).await?;
        Ok(NextDue::At(again))
    }

    /// Records that the job could not be done, and is retried after `after`.
    pub(super) async fn later(
        &self,
        job: &BackgroundJob,
        user: UserId,
        after: Duration,
    ) -> Result<NextDue, JobFailure> {
        let again = self.now() + after;
        self.note_round(job, user, None, Some(again)).await?;
        Ok(NextDue::At(again))
    }

    async fn note_round(
        &self,
        job: &BackgroundJob,
        user: UserId,
        done_at: Option<OffsetDateTime>,
        next_try_at: Option<OffsetDateTime>,
    ) -> Result<(), JobFailure> {
        let mut tx = self.db.as_user(user).await?;
        queue::note_round(&mut tx, user, job.name, done_at, next_try_at).await?;
        Ok(tx.commit().await?)
    }
}

async fn in_force(conn: &mut PgConnection, job: &BackgroundJob) -> Result<Schedule, JobFailure> {
    let schedule = find(conn, job).await?;
    schedule.ok_or_else(|| JobFailure::Other("the job has no schedule".to_owned()))
}

/// The effective schedule of a job, `None` if it has none; as the system role.
///
/// # Errors
/// Only database errors.
pub async fn find(
    conn: &mut PgConnection,
    job: &BackgroundJob,
) -> Result<Option<Schedule>, sqlx::Error> {
    let set = store::list_schedules(conn).await?;
    let set = set.into_iter().find(|(name, _)| name == job.name);
    Ok(set.map(|(_, schedule)| schedule).or(job.schedule))
}

/// Parses a form that overrides `default`: the time, and the weekday if `default` has one.
///
/// # Errors
/// [`Invalid`] naming `at` or `weekday`.
pub fn parse(default: Schedule, at: &str, weekday: &str) -> Result<Schedule, Invalid> {
    let time = Time::parse(at.trim(), format_description!("[hour]:[minute]"));
    let at = time.map_err(|_| {
        let sentence = "`at` is not a time of day; give hours and minutes, such as 03:00 or 23:30.";
        Invalid::new("at", "invalid_time", sentence)
    })?;
    let weekday = match default.weekday {
        None => None,
        Some(_) => Some(weekday.trim().parse::<Weekday>().map_err(|_| {
            let sentence = "`weekday` is not a day of the week; give its name, such as Sunday.";
            Invalid::new("weekday", "invalid_weekday", sentence)
        })?),
    };
    Ok(Schedule { weekday, at })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use time::macros::time;

    use super::*;

    #[test]
    fn a_form_sets_a_time_and_the_day_of_a_job_that_has_one() {
        let daily = Schedule::daily(time!(3:00));
        let weekly = Schedule::weekly(Weekday::Sunday, time!(3:00));
        assert_eq!(parse(daily, " 23:30", "Monday"), Ok(Schedule::daily(time!(23:30))));
        let monday = Schedule::weekly(Weekday::Monday, time!(0:05));
        assert_eq!(parse(weekly, "00:05", "Monday"), Ok(monday));
        for bad in ["", "3", "24:00", "12:60", "3 Uhr", "03:00:00", "-1:00"] {
            assert_eq!(parse(daily, bad, "").unwrap_err().field, "at", "{bad}");
        }
        for bad in ["", "8", "Sonntag"] {
            let refused = parse(weekly, "03:00", bad).unwrap_err();
            assert_eq!(refused.field, "weekday", "{bad}");
        }
    }
}
