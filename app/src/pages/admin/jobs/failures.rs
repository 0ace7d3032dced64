//! Runs that failed and wait for their next, by job, with the buttons that retry them now.

use leptos::prelude::*;

use super::PATH;
use crate::components::{StateBadge, When, count};
use crate::jobs::{JobState, JobsOverview};
use crate::queue::SERVER;
use crate::queue::store::FailedJob;

pub fn failures(overview: &JobsOverview) -> AnyView {
    let failed: Vec<&JobState> = overview.jobs.iter().filter(|job| job.failed() > 0).collect();
    let total: i64 = failed.iter().map(|job| job.failed()).sum();
    let is_empty = failed.is_empty();
    let all = (failed.len() > 1).then(|| {
        view! {
            <form method="post" action=PATH>
                <button id="retry-all" type="submit" name="action" value="retry">
                    {format!("Retry all {} failed runs", count(total))}
                </button>
            </form>
        }
    });
    view! {
        <section class="part" aria-labelledby="failures-title">
            <div class="title-row">
                <h2 id="failures-title">"Failures"</h2>
                {(!is_empty).then(|| view! { <StateBadge state="failed" /> })}
            </div>
            {is_empty
                .then(|| {
                    view! {
                        <p class="hint">
                            "No run has failed. A failed run is listed here with its reason until a retry succeeds. The delay doubles after each attempt, up to an hour."
                        </p>
                    }
                })}
            {all}
            {failed.into_iter().map(|state| of_job(state, &overview.failed)).collect_view()}
        </section>
    }
    .into_any()
}

/// `listed` are the failed runs of all jobs that come next.
fn of_job(state: &JobState, listed: &[FailedJob]) -> AnyView {
    let (name, title) = (state.job.name, state.job.title);
    let runs: Vec<&FailedJob> = listed.iter().filter(|run| run.job == name).collect();
    let unseen = state.failed() - i64::try_from(runs.len()).unwrap_or(0);
    let heading = match state.failed() {
        1 => format!("{title}: 1 failed run"),
        n => format!("{title}: {} failed runs", count(n)),
    };
    view! {
        <div class="title-row">
            <h3>{heading}</h3>
            <form method="post" action=PATH>
                <input type="hidden" name="job" value=name />
                <button
                    id=format!("retry-{name}")
                    class="quiet"
                    type="submit"
                    name="action"
                    value="retry"
                >
                    "Retry failed"
                    <span class="visually-hidden">" " {title}</span>
                </button>
            </form>
        </div>
        <ul class="failures">
            {runs.into_iter().map(failed_run).collect_view()}
        </ul>
        {(unseen > 0).then(|| view! { <p class="hint">{format!("And {} more.", count(unseen))}</p> })}
    }
    .into_any()
}

fn failed_run(run: &FailedJob) -> AnyView {
    let who = match run.user {
        SERVER => "The server".to_owned(),
        user => format!("User {}", user.0),
    };
    let attempts = match run.attempts {
        1 => "1 attempt".to_owned(),
        n => format!("{} attempts", count(n.into())),
    };
    let next = run.run_at.map(|at| view! { " Next attempt " <When at /> "." });
    view! { <li>{format!("{who}: {attempts}: {}.", run.problem.trim_end_matches('.'))} {next}</li> }
        .into_any()
}
