//! Admin › Jobs: all background work of the server. When each job runs, how its last run ended,
//! what waits and what failed, and the buttons that run, pause and retry. It looks again by itself
//! while something moves.

mod failures;
pub mod load;
pub mod post;
mod runs;
mod schedules;
mod vectors;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Done, FormError, NoSuchPage, Section, StateBadge, When, count};
use crate::forms::{FormName, FormState};
use crate::islands::LiveProgress;
use crate::page::Page;
use crate::view::{JobRow, JobsPage, LastRun, NextRun};
use failures::Failures;
use runs::Runs;
use schedules::Schedules;
use vectors::Vectors;

const PATH: &str = "/admin/jobs";
const LOOK_SECONDS: u32 = 2;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = page.jobs_page().await;
    page.render(Section::Jobs, "Jobs · Admin", PATH, found, move |page| match page {
        Some(page) => view! { <Whole page form=form.clone() /> }.into_any(),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

#[component]
fn Whole(page: JobsPage, form: FormState) -> impl IntoView {
    let form = form.of(FormName::Jobs);
    let look_again = page.is_moving().then_some(LOOK_SECONDS);
    let line = line(&page);
    let scheduled = page.jobs.clone();
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Jobs"</h1>
            <p class="lead">"The background work of this server, for all users."</p>
            <Done form=form.clone() />
            <FormError form=form.clone() fields=schedules::FIELDS />
            <div class="parts" data-live="jobs" data-look-again=look_again>
                <section class="part" aria-labelledby="all-jobs">
                    <h2 id="all-jobs">"All jobs"</h2>
                    <p class="lead" data-progress-line="">
                        {line}
                    </p>
                    <Registry jobs=page.jobs />
                    <p class="hint">
                        "Runs that find nothing to do are not recorded. A paused job does not run until it is resumed."
                    </p>
                </section>
                <Failures failures=page.failures />
                <Vectors vectors=page.vectors />
                <Runs days=page.days />
            </div>
            <Schedules jobs=scheduled form />
        </div>
        <LiveProgress />
    }
    .into_any()
}

/// The whole in one sentence; it is what is read out.
fn line(page: &JobsPage) -> String {
    let sum = |of: fn(&JobRow) -> i64| count(page.jobs.iter().map(of).sum());
    let paused = match page.jobs.iter().filter(|job| job.paused.is_some()).count() {
        0 => String::new(),
        n => format!(", {n} paused"),
    };
    format!(
        "{} running, {} waiting, {} failed{paused}.",
        sum(|job| job.running),
        sum(|job| job.waiting),
        count(page.failed()),
    )
}

#[component]
fn Registry(jobs: Vec<JobRow>) -> impl IntoView {
    let rows = jobs.into_iter().map(|job| view! { <Row job /> });
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
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
    .into_any()
}

#[component]
fn Row(job: JobRow) -> impl IntoView {
    let steps = steps_of(&job);
    let paused = job.paused.map(|since| {
        view! {
            <span class="job-paused">
                <StateBadge state="paused" />
                " "
                <When at=since />
            </span>
        }
    });
    let next = match job.next {
        NextRun::None => "–".into_any(),
        NextRun::Now => "now".into_any(),
        NextRun::At(moment) => view! { <When at=moment /> }.into_any(),
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
            <td data-label="Schedule">{job.when} {change}</td>
            <td data-label="Last run">{last(job.last)}</td>
            <td data-label="Next run">{next}</td>
            <td data-label="Waiting" class="number">
                {count(job.waiting)}
            </td>
            <td data-label="Running" class="number">
                {count(job.running)}
            </td>
            <td>{steps}</td>
        </tr>
    }
    .into_any()
}

fn last(run: Option<LastRun>) -> AnyView {
    let Some(run) = run else {
        return "–".into_any();
    };
    let state = if run.has_failed { "failed" } else { "done" };
    let counts = format!("{} done, {} failed, in {}", count(run.done), count(run.failed), run.took);
    view! {
        <span class="job-last">
            <When at=run.ended />
            " "
            <StateBadge state />
            <span class="job-about">{counts}</span>
        </span>
    }
    .into_any()
}

/// The ids bring the focus back when the page has looked again.
fn steps_of(job: &JobRow) -> AnyView {
    let (name, title) = (job.name, job.title);
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
    let is_paused = job.paused.is_some();
    view! {
        <form method="post" action=PATH class="job-steps">
            <input type="hidden" name="job" value=name />
            {(!is_paused).then(|| step("run", "Run now"))}
            {(!is_paused && job.can_pause).then(|| step("pause", "Pause"))}
            {is_paused.then(|| step("resume", "Resume"))}
        </form>
    }
    .into_any()
}
