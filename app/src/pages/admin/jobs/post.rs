//! The forms of Admin › Jobs: run, pause and resume a job, set its schedule, and retry failures. Members get
//! a 404.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::embedding::Retried;
use crate::forms::{Admin, FormName};
use crate::forms::{Attempt, Field, Posted, Submission, done};
use crate::jobs::{self, BackgroundJob, control, schedule};
use keepsake_edge::error::Problem;

const PATH: &str = "/admin/jobs";
const FORM: FormName = FormName::Jobs;

/// A retry without a job is of all jobs.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum JobForm {
    Run { job: Field },
    Pause { job: Field },
    Resume { job: Field },
    Schedule(ScheduleForm),
    Unschedule { job: Field },
    Retry { job: Field },
    RetryVectors,
}

#[derive(Deserialize)]
pub struct ScheduleForm {
    job: Field,
    at: Field,
    weekday: Field,
}

pub async fn change(_: Admin, Posted(posted, form): Posted<JobForm>) -> Response {
    let outcome = obey(&posted, form).await;
    posted.respond(show, PATH, FORM, outcome).await
}

async fn obey(posted: &Submission, form: Result<JobForm, Problem>) -> Attempt {
    let (db, _, now) = posted.context();
    let sentence = match form? {
        JobForm::Run { job } => {
            let job = find(&job)?;
            match control::run_now(db, job, now).await? {
                None => return Err(paused(job)),
                Some(0) => format!("{} runs now.", job.title),
                Some(1) => format!("{} runs now; 1 user waited.", job.title),
                Some(n) => format!("{} runs now; {n} users waited.", job.title),
            }
        }
        JobForm::Pause { job } => {
            let job = find(&job)?;
            if !job.can_pause() {
                return Err(not_pausable(job));
            }
            control::pause(db, job, now).await?;
            format!("{} is paused. A run under way finishes its current step.", job.title)
        }
        JobForm::Resume { job } => {
            let job = find(&job)?;
            control::resume(db, job, now).await?;
            format!("{} is resumed.", job.title)
        }
        JobForm::Schedule(ScheduleForm { job, at, weekday }) => {
            let job = find(&job)?;
            let default = job.schedule.ok_or_else(|| without_schedule(job))?;
            let new = schedule::parse(default, &at, &weekday)?;
            control::set_schedule(db, job, new, now).await?;
            format!("{} runs {}.", job.title, job.when(Some(new)))
        }
        JobForm::Unschedule { job } => {
            let job = find(&job)?;
            let default = job.schedule.ok_or_else(|| without_schedule(job))?;
            control::unset_schedule(db, job, now).await?;
            format!("{} runs {} again.", job.title, job.when(Some(default)))
        }
        JobForm::Retry { job } => {
            let one = match job.as_str() {
                "" => None,
                name => Some(find(name)?),
            };
            match control::retry_failed(db, one, now).await? {
                0 => "There is nothing to retry.".to_owned(),
                1 => "1 failed run is retried now.".to_owned(),
                n => format!("{n} failed runs are retried now."),
            }
        }
        JobForm::RetryVectors => told(posted.state.embeddings.retry_all().await?),
    };
    Ok(done(FORM, sentence))
}

fn find(name: &str) -> Result<&'static BackgroundJob, Problem> {
    jobs::find(name).ok_or_else(|| {
        let sentence = "`job` names no job of this server; use the page's buttons.";
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_job", sentence)
    })
}

fn paused(job: &BackgroundJob) -> Problem {
    let sentence = format!("{} is paused; resume it first.", job.title);
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "job_paused", sentence)
}

fn not_pausable(job: &BackgroundJob) -> Problem {
    let sentence = format!("{} cannot be paused: it starts the other jobs.", job.title);
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_job", sentence)
}

fn without_schedule(job: &BackgroundJob) -> Problem {
    let sentence = format!("{} runs {}; it has no time of day.", job.title, job.when(None));
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_job", sentence)
}

fn told(retried: Retried) -> String {
    let items = match retried.items {
        1 => "1 memory".to_owned(),
        n => format!("{n} memories"),
    };
    let more = match retried.users_left {
        0 => String::new(),
        1 => " 1 user is left: press it again.".to_owned(),
        n => format!(" {n} users are left: press it again."),
    };
    match retried.users {
        0 => "There is nothing to retry.".to_owned(),
        1 => format!("{items} of 1 user: retried now.{more}"),
        n => format!("{items} of {n} users: retried now.{more}"),
    }
}
