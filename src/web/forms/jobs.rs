//! The forms of Admin › Jobs: run, pause and resume a job, set its schedule, and retry failures. Members get
//! a 404.

use axum::extract::{RawForm, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Form, Outcome, done, respond, unknown_action};
use crate::embedding::Retried;
use crate::jobs::{self, Job, control, schedule};
use crate::web::AppState;
use crate::web::auth::Admin;
use crate::web::error::Problem;

const PATH: &str = "/admin/jobs";

pub async fn change(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let outcome = obey(&state, &form).await;
    respond(&state, signed_in, PATH, "jobs", &form, outcome).await
}

async fn obey(state: &AppState, form: &Form) -> Result<Outcome, Problem> {
    let (db, now) = (&state.db, state.clock.now());
    let job = || jobs::find(form.get("job")).ok_or_else(unknown_job);
    let sentence = match form.get("action") {
        "run" => {
            let job = job()?;
            match control::run_now(db, job, now).await? {
                None => return Err(paused(job)),
                Some(0) => format!("{} runs now.", job.title),
                Some(1) => format!("{} runs now; 1 user waited.", job.title),
                Some(n) => format!("{} runs now; {n} users waited.", job.title),
            }
        }
        "pause" => {
            let job = job()?;
            if !job.can_pause() {
                return Err(not_pausable(job));
            }
            control::pause(db, job, now).await?;
            format!(
                "{} is paused. A run under way finishes its current step.",
                job.title
            )
        }
        "resume" => {
            let job = job()?;
            control::resume(db, job, now).await?;
            format!("{} is resumed.", job.title)
        }
        "schedule" => {
            let job = job()?;
            let default = job.schedule.ok_or_else(|| without_schedule(job))?;
            let new = schedule::parse(default, form.get("at"), form.get("weekday"))?;
            control::set_schedule(db, job, new, now).await?;
            format!("{} runs {}.", job.title, job.when(Some(new)))
        }
        "unschedule" => {
            let job = job()?;
            let default = job.schedule.ok_or_else(|| without_schedule(job))?;
            control::unset_schedule(db, job, now).await?;
            format!("{} runs {} again.", job.title, job.when(Some(default)))
        }
        "retry" => {
            let one = match form.get("job") {
                "" => None,
                _ => Some(job()?),
            };
            match control::retry_failed(db, one, now).await? {
                0 => "There is nothing to retry.".to_owned(),
                1 => "1 failed run is retried now.".to_owned(),
                n => format!("{n} failed runs are retried now."),
            }
        }
        "retry_vectors" => told(state.embeddings.retry_all().await?),
        _ => return Err(unknown_action()),
    };
    Ok(done("jobs", sentence))
}

fn unknown_job() -> Problem {
    let sentence = "`job` names no job of this server; use the page's buttons.";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_job", sentence)
}

fn paused(job: &Job) -> Problem {
    let sentence = format!("{} is paused; resume it first.", job.title);
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "job_paused", sentence)
}

fn not_pausable(job: &Job) -> Problem {
    let sentence = format!("{} cannot be paused: it starts the other jobs.", job.title);
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_job", sentence)
}

fn without_schedule(job: &Job) -> Problem {
    let sentence = format!(
        "{} runs {}; it has no time of day.",
        job.title,
        job.when(None)
    );
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
