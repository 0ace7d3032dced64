//! What is being done for the person at this moment: vectors, readings, the summary, and how far
//! each is. What is idle is not listed.

pub mod load;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Progress, Section, StateBadge, When};
use crate::islands::LiveProgress;
use crate::page::Page;
use crate::view::{Scheduled, Standing, Task, WorkPage};

const PATH: &str = "/settings/work";
const LOOK_SECONDS: u32 = 2;

pub async fn show(page: Page) -> Response {
    let found = page.work_view(&page.viewer).await;
    page.render(Section::Work, "Background work", PATH, found, move |page| {
        view! { <Whole page /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: WorkPage) -> impl IntoView {
    let is_idle = page.tasks.is_empty();
    let line = match page.tasks.len() {
        0 => "No work under way.".to_owned(),
        1 => "1 task is running.".to_owned(),
        n => format!("{n} tasks are running."),
    };
    let tasks = page.tasks.into_iter().map(|task| view! { <One task /> });
    let idle = is_idle.then(|| {
        view! {
            <p class="hint">
                "New memories are embedded within seconds, your chat model reads completed sessions, and the summary is written after a few quiet minutes. Work under way is listed here."
            </p>
        }
    });
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Background work"</h1>
            <p class="lead">"What the server is doing for you."</p>
            <div
                class="parts"
                data-live="work"
                data-look-again=(!is_idle).then_some(LOOK_SECONDS)
            >
                <p class="lead" data-progress-line="">
                    {line}
                </p>
                {idle}
                {tasks.collect_view()}
            </div>
            <Schedule scheduled=page.scheduled />
        </div>
        <LiveProgress />
    }
    .into_any()
}

#[component]
fn Schedule(scheduled: Vec<Scheduled>) -> impl IntoView {
    let rows = scheduled.into_iter().map(|one| {
        let (state, needs) = match one.standing {
            Standing::On => ("on", None),
            Standing::Off => ("off", None),
            Standing::NoModel => ("off", Some("It needs a chat model.")),
        };
        let last = match one.last {
            Some(moment) => view! { <When at=moment /> }.into_any(),
            None => "–".into_any(),
        };
        let (href, page) = one.switch;
        view! {
            <tr>
                <th scope="row">
                    {one.title} <p class="hint">{one.about}</p>
                </th>
                <td>{one.when}</td>
                <td>{last}</td>
                <td>
                    <StateBadge state />
                    {needs.map(|why| view! { <p class="hint">{why}</p> })}
                </td>
                <td>
                    <a href=href>{page}</a>
                </td>
            </tr>
        }
    });
    view! {
        <section class="part" aria-labelledby="scheduled">
            <h2 id="scheduled">"Schedule"</h2>
            <p class="hint">
                "Times are in your time zone, which you set under " <a href="/account">"Account"</a>
                ". Missed runs are made up for."
            </p>
            <div class="table" tabindex="0" role="group" aria-label="Schedule">
                <table class="scheduled">
                    <thead>
                        <tr>
                            <th scope="col">"What"</th>
                            <th scope="col">"When"</th>
                            <th scope="col">"Last"</th>
                            <th scope="col">"State"</th>
                            <th scope="col">"Settings"</th>
                        </tr>
                    </thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

#[component]
fn One(task: Task) -> impl IntoView {
    let id = format!("work-{}", task.name);
    let state = match task.problem {
        Some(_) => "waiting",
        None => "pending",
    };
    let far = match task.progress {
        Some((done, total)) => view! {
            <Progress label=task.title.to_owned() done failed=0 total line=task.line />
        }
        .into_any(),
        None => view! { <p>{task.line}</p> }.into_any(),
    };
    let problem = task.problem.map(|why| view! { <p class="problem">{why}</p> });
    let next =
        task.next.map(|moment| view! { <p class="hint">"Continues " <When at=moment /> "."</p> });
    view! {
        <section class="part" aria-labelledby=id.clone()>
            <h2 id=id.clone()>{task.title}</h2>
            <p class="badges">
                <StateBadge state />
            </p>
            {far}
            {problem}
            {next}
            <p>
                <a href=task.href>
                    "More about it" <span class="visually-hidden">": " {task.title}</span>
                </a>
            </p>
        </section>
    }
    .into_any()
}
