//! Admin › Jobs: all background work of the server. When each job runs, how its last run ended,
//! what waits and what failed, and the buttons that run, pause and retry. It looks again by itself
//! while something moves.

mod failures;
mod runs;
mod schedules;
mod vectors;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;
use time::Date;

use crate::components::{Done, FormError, NoSuchPage, Section, StateBadge, When, count};
use crate::embedding::Retried;
use crate::forms::{Admin, Attempt, Field, FormName, FormState, Posted, Submission, done};
use crate::islands::LiveProgress;
use crate::jobs::{self, BackgroundJob, JobState, JobsOverview, control, schedule};
use crate::page::{Page, database};
use crate::queue::runs::store::LastRun;
use crate::queue::store::JobCounts;
use crate::words::lasted;
use failures::failures;
use runs::runs;
use schedules::schedules;
use vectors::{OpenVectors, vectors};

const PATH: &str = "/admin/jobs";
const LOOK_SECONDS: u32 = 2;

struct JobsPage {
    overview: JobsOverview,
    vectors: OpenVectors,
    today: Date,
}

pub async fn show(page: Page) -> Response {
    let form = page.form.of(FormName::Jobs);
    let found = match page.is_admin() {
        true => load(&page).await.map(|found| Some(Arc::new(found))).map_err(database),
        false => Ok(None),
    };
    page.render(Section::Jobs, "Jobs · Admin", PATH, found, move |found| match found {
        Some(found) => jobs_page(&found, form.clone()),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

async fn load(page: &Page) -> Result<JobsPage, sqlx::Error> {
    let now = page.state.clock.now();
    let mut conn = page.state.db.system_connection().await?;
    Ok(JobsPage {
        overview: jobs::overview(&mut conn, now).await?,
        vectors: OpenVectors::load(&page.state.embeddings, &mut conn).await?,
        today: now.date(),
    })
}

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
    let outcome = apply(&posted, form).await;
    posted.respond(show, PATH, FormName::Jobs, outcome).await
}

async fn apply(posted: &Submission, form: Result<JobForm, Problem>) -> Attempt {
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
        JobForm::RetryVectors => sentence_of(posted.state.embeddings.retry_all().await?),
    };
    Ok(done(FormName::Jobs, sentence))
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

fn sentence_of(retried: Retried) -> String {
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

fn jobs_page(page: &JobsPage, form: FormState) -> AnyView {
    let jobs = &page.overview.jobs;
    let moves = |state: &JobState| {
        state.failed() > 0
            || state.counts.as_ref().is_some_and(|counts| {
                counts.running > 0 || (counts.waiting > 0 && state.paused_at.is_none())
            })
    };
    let is_moving = page.vectors.open.pending > 0 || jobs.iter().any(moves);
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Jobs"</h1>
            <p class="lead">"The background work of this server, for all users."</p>
            <Done form=form.clone() />
            <FormError form=form.clone() fields=schedules::FIELDS />
            <div class="parts" data-live="jobs" data-look-again=is_moving.then_some(LOOK_SECONDS)>
                <section class="part" aria-labelledby="all-jobs">
                    <h2 id="all-jobs">"All jobs"</h2>
                    <p class="lead" data-progress-line="">
                        {line(jobs)}
                    </p>
                    {registry(jobs)}
                    <p class="hint">
                        "Runs that find nothing to do are not recorded. A paused job does not run until it is resumed."
                    </p>
                </section>
                {failures(&page.overview)}
                {vectors(&page.vectors)}
                {runs(page.today, &page.overview.days)}
            </div>
            {schedules(jobs, &form)}
        </div>
        <LiveProgress />
    }
    .into_any()
}

/// The whole in one sentence; it is what is read out.
fn line(jobs: &[JobState]) -> String {
    let counted = jobs.iter().filter_map(|state| state.counts.as_ref());
    let sum = |of: fn(&JobCounts) -> i64| count(counted.clone().map(of).sum());
    let paused = match jobs.iter().filter(|state| state.paused_at.is_some()).count() {
        0 => String::new(),
        n => format!(", {n} paused"),
    };
    format!(
        "{} running, {} waiting, {} failed{paused}.",
        sum(|counts| counts.running),
        sum(|counts| counts.waiting),
        sum(|counts| counts.failed),
    )
}

fn registry(jobs: &[JobState]) -> AnyView {
    view! {
        <table class="jobs">
            <thead>
                <tr>
                    <th scope="col">"Job"</th>
                    <th scope="col">"Schedule"</th>
                    <th scope="col">"Last run"</th>
                    <th scope="col">"Next run"</th>
                    <th scope="col" class="number">
                        "Waiting"
                    </th>
                    <th scope="col" class="number">
                        "Running"
                    </th>
                    <th scope="col">"Actions"</th>
                </tr>
            </thead>
            <tbody>{jobs.iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn row(state: &JobState) -> AnyView {
    let (job, counts) = (state.job, state.counts.as_ref());
    let (waiting, running) = counts.map_or((0, 0), |counts| (counts.waiting, counts.running));
    let paused = state.paused_at.map(|since| {
        view! {
            <span class="job-paused">
                <StateBadge state="paused" />
                " "
                <When at=since />
            </span>
        }
    });
    let next = match (counts.and_then(|counts| counts.next_at), waiting) {
        _ if state.paused_at.is_some() => "–".into_any(),
        (_, 1..) => "now".into_any(),
        (Some(at), _) => view! { <When at /> }.into_any(),
        (None, _) => "–".into_any(),
    };
    let change = job.schedule.map(|_| {
        view! {
            " "
            <a href=format!("#schedule-{}", job.name)>
                "Change"
                <span class="visually-hidden">" the schedule of " {job.title}</span>
            </a>
        }
    });
    view! {
        <tr>
            <th scope="row">
                <span class="job-title">{job.title}</span>
                {paused}
                <span class="job-about">{job.about}</span>
            </th>
            <td data-label="Schedule">{state.when()} {change}</td>
            <td data-label="Last run">{last(state.last.as_ref())}</td>
            <td data-label="Next run">{next}</td>
            <td data-label="Waiting" class="number">
                {count(waiting)}
            </td>
            <td data-label="Running" class="number">
                {count(running)}
            </td>
            <td>{steps_of(state)}</td>
        </tr>
    }
    .into_any()
}

fn last(run: Option<&LastRun>) -> AnyView {
    let Some(run) = run else {
        return "–".into_any();
    };
    let state = if run.has_failed { "failed" } else { "done" };
    let counts = format!(
        "{} done, {} failed, in {}",
        count(run.done),
        count(run.failed),
        lasted(run.took_ms)
    );
    view! {
        <span class="job-last">
            <When at=run.ended_at />
            " "
            <StateBadge state />
            <span class="job-about">{counts}</span>
        </span>
    }
    .into_any()
}

/// The ids bring the focus back when the page has looked again.
fn steps_of(state: &JobState) -> AnyView {
    let (name, title) = (state.job.name, state.job.title);
    let step = |action: &'static str, label: &'static str| {
        view! {
            <button
                id=format!("{action}-{name}")
                class="quiet"
                type="submit"
                name="action"
                value=action
            >
                {label}
                <span class="visually-hidden">" " {title}</span>
            </button>
        }
    };
    let is_paused = state.paused_at.is_some();
    view! {
        <form method="post" action=PATH class="job-steps">
            <input type="hidden" name="job" value=name />
            {(!is_paused).then(|| step("run", "Run now"))}
            {(!is_paused && state.job.can_pause()).then(|| step("pause", "Pause"))}
            {is_paused.then(|| step("resume", "Resume"))}
        </form>
    }
    .into_any()
}
