//! How everybody's work stands: jobs by queue, what was given up, which provider
//! makes no vectors and why, and the buttons that try again. It looks again by itself
//! while something moves.

use leptos::prelude::*;

use crate::components::{FormError, StateBadge, When, count, some_texts};
use crate::view::{FailedJob, FormState, Moment, QueueRow, QueueView, TroubleRow};

const QUEUE_PATH: &str = "/admin/queue";
const LOOK_SECONDS: u32 = 2;

#[component]
pub fn Queue(queue: QueueView, form: FormState) -> impl IntoView {
    let look_again = queue.is_moving().then_some(LOOK_SECONDS);
    let state = match (
        queue.has_failures() || !queue.failed_jobs.is_empty(),
        queue.is_moving(),
    ) {
        (true, _) => "failed",
        (false, true) => "pending",
        (false, false) => "ready",
    };
    let is_empty = state == "ready";
    view! {
        <section
            class="part"
            id="queue"
            data-live="queue"
            data-look-again=look_again
            aria-labelledby="queue-title"
        >
            <div class="title-row">
                <h2 id="queue-title">"Queue"</h2>
                <StateBadge state />
            </div>
            <p class="lead" data-progress-line="">
                {line(&queue)}
            </p>
            <FormError form fields=&[] />
            {is_empty
                .then(|| {
                    view! {
                        <p class="hint">
                            "Nothing waits and nothing has failed. Work shows here while it is done: an added memory waits for its vector, usually for less than a second."
                        </p>
                    }
                })}
            <Queues queues=queue.queues.clone() />
            <Troubles troubles=queue.troubles.clone() open_breakers=queue.open_breakers />
            <Given queue=queue.clone() />
            <Jobs jobs=queue.failed_jobs />
        </section>
    }
    .into_any()
}

/// Memories and messages are counted together here.
fn texts_of_all(n: i64) -> String {
    some_texts(n, n)
}

/// The whole in one sentence; it is what is read out.
fn line(queue: &QueueView) -> String {
    match (queue.pending, queue.failed_items) {
        (0, 0) => "No embeddings are pending.".to_owned(),
        (pending, 0) => format!("{} to be embedded.", texts_of_all(pending)),
        (0, failed) => format!("{} could not be embedded.", texts_of_all(failed)),
        (pending, failed) => format!(
            "{} to be embedded; {} could not be embedded.",
            texts_of_all(pending),
            count(failed)
        ),
    }
}

#[component]
fn Queues(queues: Vec<QueueRow>) -> impl IntoView {
    let rows = queues
        .into_iter()
        .map(|queue| {
            view! {
                <tr>
                    <th scope="row">
                        <code>{queue.name}</code>
                    </th>
                    <td class="number">{count(queue.waiting)}</td>
                    <td class="number">{count(queue.delayed)}</td>
                    <td class="number">{count(queue.running)}</td>
                    <td class="number">{count(queue.failed)}</td>
                    <td>{since(queue.waiting_since)}</td>
                </tr>
            }
        })
        .collect_view();
    (!rows.is_empty())
        .then(|| {
            view! {
                <div class="table">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">"Jobs"</th>
                                <th scope="col">"Waiting"</th>
                                <th scope="col">"Later"</th>
                                <th scope="col">"Running"</th>
                                <th scope="col">"Failed"</th>
                                <th scope="col">"Oldest"</th>
                            </tr>
                        </thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            }
        })
        .into_any()
}

fn since(moment: Option<Moment>) -> AnyView {
    match moment {
        Some(moment) => view! { <When moment /> }.into_any(),
        None => "–".into_any(),
    }
}

/// Which provider makes no vectors, why, for how many, and when it is tried again.
#[component]
fn Troubles(troubles: Vec<TroubleRow>, open_breakers: i64) -> impl IntoView {
    let rows = troubles
        .into_iter()
        .map(|trouble| {
            view! {
                <p class="problem">
                    <strong>{trouble.provider}</strong>
                    " ("
                    {users(trouble.users)}
                    "): "
                    {trouble.problem}
                    {trouble.next_try.map(|moment| view! { " Tried again " <When moment /> "." })}
                </p>
            }
        })
        .collect_view();
    let breakers = (open_breakers > 0).then(|| {
        let spaces = match open_breakers {
            1 => "one user's provider".to_owned(),
            n => format!("{} users' providers", count(n)),
        };
        view! { <p class="hint">{format!("Searches on this server leave {spaces} alone for a moment and go by words.")}</p> }
    });
    view! {
        {(!rows.is_empty())
            .then(|| {
                view! {
                    <h3>"Why no vectors are made"</h3>
                    {rows}
                }
            })}
        {breakers}
    }
    .into_any()
}

fn users(n: i64) -> String {
    match n {
        1 => "1 user".to_owned(),
        n => format!("{} users", count(n)),
    }
}

/// What was given up, and the button that sends it again.
#[component]
fn Given(queue: QueueView) -> impl IntoView {
    let failed = (queue.failed_items > 0).then(|| {
        let sentence = format!(
            "{} of {} could not be embedded. Each user sees why on Settings › Embeddings.",
            texts_of_all(queue.failed_items),
            users(queue.failed_users)
        );
        view! { <p>{sentence}</p> }
    });
    queue
        .has_failures()
        .then(|| {
            view! {
                {failed}
                <form method="post" action=QUEUE_PATH>
                    <button type="submit" name="action" value="retry">
                        "Retry now"
                    </button>
                </form>
            }
        })
        .into_any()
}

/// Runs that failed, with the button that tries all of their job again.
#[component]
fn Jobs(jobs: Vec<FailedJob>) -> impl IntoView {
    let rows = jobs
        .into_iter()
        .map(|job| {
            let attempts = match job.attempts {
                1 => "1 attempt".to_owned(),
                n => format!("{} attempts", count(n)),
            };
            let why = format!(" failed after {attempts}: {}.", job.problem);
            view! {
                <li>
                    <span>
                        <code>{job.job.clone()}</code> {why}
                        {job
                            .next_try
                            .map(|moment| view! { " Next attempt " <When moment /> "." })}
                    </span>
                    <form method="post" action=QUEUE_PATH class="actions">
                        <input type="hidden" name="job" value=job.job />
                        <button class="quiet" type="submit" name="action" value="retry_job">
                            "Retry"
                        </button>
                    </form>
                </li>
            }
        })
        .collect_view();
    (!rows.is_empty())
        .then(|| {
            view! {
                <h3>"Jobs that failed"</h3>
                <ul class="list">{rows}</ul>
            }
        })
        .into_any()
}
