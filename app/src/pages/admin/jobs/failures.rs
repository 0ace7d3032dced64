//! Runs that failed and wait for their next, by job, with the buttons that retry them now.

use leptos::prelude::*;

use super::PATH;
use crate::components::{StateBadge, When, count};
use crate::view::{FailedRun, JobFailures};

#[component]
pub fn Failures(failures: Vec<JobFailures>) -> impl IntoView {
    let total: i64 = failures.iter().map(|job| job.total).sum();
    let is_empty = failures.is_empty();
    let all = (failures.len() > 1).then(|| {
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
            {failures.into_iter().map(|job| view! { <OfJob job /> }).collect_view()}
        </section>
    }
    .into_any()
}

#[component]
fn OfJob(job: JobFailures) -> impl IntoView {
    let unseen = job.total - i64::try_from(job.runs.len()).unwrap_or(0);
    let heading = match job.total {
        1 => format!("{}: 1 failed run", job.title),
        n => format!("{}: {} failed runs", job.title, count(n)),
    };
    let title = job.title;
    view! {
        <div class="title-row">
            <h3>{heading}</h3>
            <form method="post" action=PATH>
                <input type="hidden" name="job" value=job.name />
                <button
                    id=format!("retry-{}", job.name)
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
            {job.runs.into_iter().map(|run| view! { <Run run /> }).collect_view()}
        </ul>
        {(unseen > 0).then(|| view! { <p class="hint">{format!("And {} more.", count(unseen))}</p> })}
    }
    .into_any()
}

#[component]
fn Run(run: FailedRun) -> impl IntoView {
    let who = match run.user {
        Some(user) => format!("User {user}"),
        None => "The server".to_owned(),
    };
    let attempts = match run.attempts {
        1 => "1 attempt".to_owned(),
        n => format!("{} attempts", count(n)),
    };
    let next = run.next_try.map(|moment| view! { " Next attempt " <When at=moment /> "." });
    view! { <li>{format!("{who}: {attempts}: {}.", run.problem.trim_end_matches('.'))} {next}</li> }
        .into_any()
}
