//! Settings › Background work: what is being done for the person at this moment, what waits in their rows, and what blocks it.
//! What is idle is not listed.

use axum::response::Response;
use leptos::prelude::*;
use time::OffsetDateTime;

use crate::components::{Progress, Section, StateBadge, When, count, texts};
use crate::consolidation::summary::SummaryProgress;
use crate::embedding::EmbeddingOverview;
use crate::entities;
use crate::export::ImportState;
use crate::input::sentence;
use crate::islands::LiveProgress;
use crate::jobs;
use crate::memories::{fading, passages};
use crate::page::{Page, PageError, chat_error, database, embedding_error};
use crate::providers::chat::ChatPurpose;
use crate::queue;
use crate::sessions::{ledger, turns};
use crate::tools::ToolError;

const PATH: &str = "/settings/work";
const LOOK_SECONDS: u32 = 2;

/// Work that is not idle.
#[derive(Clone, Default)]
struct Task {
    /// Stable, for ids.
    name: &'static str,
    title: &'static str,
    /// The page that tells more.
    href: &'static str,
    /// So many of so many; `None` where that cannot be said.
    progress: Option<(i64, i64)>,
    /// How far it is, in words.
    line: String,
    /// What stands in the way: a sentence.
    problem: Option<String>,
    /// Not before then.
    next: Option<OffsetDateTime>,
}

/// What is done for the person at a time of day.
#[derive(Clone)]
struct Scheduled {
    title: &'static str,
    about: &'static str,
    /// "every day at 04:00"
    when: String,
    /// `None`: it leaves no note of that, or was not yet.
    last: Option<OffsetDateTime>,
    state: ScheduleState,
    /// The page that switches it, and its name.
    switch: (&'static str, &'static str),
}

/// Its badge, and what it needs.
type ScheduleState = (&'static str, Option<&'static str>);
const ON: ScheduleState = ("on", None);
const OFF: ScheduleState = ("off", None);
const WITHOUT_MODEL: ScheduleState = ("off", Some("It needs a chat model."));

pub async fn show(page: Page) -> Response {
    let found = load(&page).await;
    page.render(Section::Work, "Background work", PATH, found, move |(tasks, scheduled)| {
        view! { <WorkPage tasks scheduled /> }.into_any()
    })
    .await
}

async fn load(page: &Page) -> Result<(Vec<Task>, Vec<Scheduled>), PageError> {
    let tasks = [
        import_task(page).await?,
        passages_task(page).await?,
        vectors_task(page).await?,
        turns_task(page).await?,
        sessions_task(page).await?,
        summary_task(page).await?,
    ];
    let mut tasks: Vec<Task> = tasks.into_iter().flatten().collect();
    let mut conn = page.state.db.system_connection().await.map_err(database)?;
    let paused = queue::store::list_paused(&mut conn).await.map_err(database)?;
    drop(conn);
    for task in &mut tasks {
        if paused.iter().any(|(job, _)| job == task.name) {
            task.problem = Some("An admin paused this work.".to_owned());
            task.next = None;
        }
    }
    // All of them add to the memory.
    if let Some(why) = page.want_of_room(page.viewer.user_id).await.map_err(database)? {
        tasks.iter_mut().for_each(|task| task.problem = Some(why.clone()));
    }
    Ok((tasks, scheduled(page).await?))
}

async fn scheduled(page: &Page) -> Result<Vec<Scheduled>, PageError> {
    let (user, db) = (page.viewer.user_id, &page.state.db);
    let (chat, model) = page.state.chat.chosen(user).await.map_err(chat_error)?;
    let by_model = |purpose| match (chat.purposes.of(purpose).is_on, model.settings()) {
        (false, _) => OFF,
        (true, None) => WITHOUT_MODEL,
        (true, Some(_)) => ON,
    };
    let switched = |is_on| if is_on { ON } else { OFF };
    let entities = entities::settings::of(db, user).await.map_err(database)?;
    let fading = fading::settings(db, user).await.map_err(database)?;
    let enrich = match entities.by_model {
        true => by_model(ChatPurpose::Enrichment),
        false => OFF,
    };
    let all = [
        (
            "enrich",
            "Reads memories for people, projects and places.",
            enrich,
            ("/entities", "Entities"),
        ),
        (
            "complete",
            "Completes inactive sessions; the chat model then extracts memories.",
            ON,
            ("/settings/chat", "Chat model"),
        ),
        (
            "reflect",
            "Writes what the week was about as a memory.",
            by_model(ChatPurpose::Reflection),
            ("/settings/chat", "Chat model"),
        ),
        (
            "dream",
            "Writes what lasts of several sessions, and proposes changes to memories.",
            by_model(ChatPurpose::Dreaming),
            ("/dreams", "Dreams"),
        ),
        (
            "fade",
            "Archives memories that were not used for a long time.",
            switched(fading.is_on),
            ("/settings/fading", "Fading"),
        ),
    ];
    let mut tx = db.as_user(user).await.map_err(database)?;
    let rounds = queue::list_rounds(&mut tx, user).await.map_err(database)?;
    tx.commit().await.map_err(database)?;
    let mut scheduled = Vec::new();
    for (name, about, state, switch) in all {
        let last = rounds.iter().find(|(job, _)| job == name);
        scheduled.push(Scheduled {
            title: jobs::find(name).map_or(name, |job| job.title),
            about,
            when: match name {
                "dream" => "after sessions have ended".to_owned(),
                _ => page.schedule_of(name).await?,
            },
            last: last.map(|(_, at)| *at),
            state,
            switch,
        });
    }
    Ok(scheduled)
}

async fn import_task(page: &Page) -> Result<Option<Task>, PageError> {
    let last = page.state.imports.last(page.viewer.user_id).await.map_err(database)?;
    let running = last.filter(|import| import.state == ImportState::Running);
    Ok(running.map(|import| {
        let (done, total) = (import.outcome.bytes as i64, (import.bytes_total as i64).max(1));
        Task {
            name: "import",
            title: "Import",
            href: "/data",
            progress: Some((done, total)),
            line: format!(
                "{} % of the file, {} added",
                100 * done.min(total) / total,
                count(import.outcome.added as i64)
            ),
            ..Task::default()
        }
    }))
}

async fn vectors_task(page: &Page) -> Result<Option<Task>, PageError> {
    let overview = page.state.embeddings.overview(page.viewer.user_id).await;
    let overview = overview.map_err(embedding_error)?;
    let EmbeddingOverview { counts, rebuild, serving, texts: all, .. } = overview;
    let (counts, space) = match rebuild {
        Some(rebuild) => (rebuild.counts, Some(rebuild.space)),
        None => (counts, serving),
    };
    if counts.pending == 0 {
        return Ok(None);
    }
    let ended = counts.ready + counts.failed;
    let problem = space.as_ref().and_then(|space| space.problem.clone());
    // A pause between batches is not shown as a retry.
    let next = space.filter(|_| problem.is_some()).and_then(|s| s.retry_at);
    Ok(Some(Task {
        name: queue::EMBED,
        title: "Vectors",
        href: "/settings/embeddings",
        progress: Some((ended, ended + counts.pending)),
        line: format!("{} of {} embedded", count(ended), texts(all.memories, all.from_messages)),
        problem,
        next,
    }))
}

async fn passages_task(page: &Page) -> Result<Option<Task>, PageError> {
    let due = passages::due_of(&page.state.db, page.viewer.user_id).await;
    Ok(due.map_err(database)?.map(|due| Task {
        name: "passages",
        title: "Passages",
        href: "/memory",
        progress: Some((due.done.min(due.sources), due.sources.max(1))),
        line: format!(
            "{} of {} memories and messages are prepared for this version's search.",
            count(due.done.min(due.sources)),
            count(due.sources)
        ),
        ..Task::default()
    }))
}

async fn turns_task(page: &Page) -> Result<Option<Task>, PageError> {
    let due = turns::due_of(&page.state.db, page.viewer.user_id).await;
    let due = due.map_err(database)?.len() as i64;
    Ok((due > 0).then(|| Task {
        name: queue::TURNS,
        title: "Messages",
        href: "/sessions",
        line: format!("Making the messages of {} searchable.", sessions(due)),
        ..Task::default()
    }))
}

async fn sessions_task(page: &Page) -> Result<Option<Task>, PageError> {
    let now = page.state.clock.now();
    let unread = ledger::unread_of(&page.state.db, page.viewer.user_id, now).await;
    let unread = unread.map_err(database)?;
    Ok((unread.stretches > 0).then(|| Task {
        name: queue::EXTRACT,
        title: "Session reading",
        href: "/sessions",
        line: match (unread.stretches, unread.is_read) {
            (1, true) => "A session is being read.".to_owned(),
            (n, true) => format!("Reading one of {} waiting sessions.", count(n)),
            (1, false) => "1 session is waiting to be read.".to_owned(),
            (n, false) => format!("{} are waiting to be read.", sessions(n)),
        },
        problem: unread.reason.map(|why| sentence(&why)),
        next: unread.next_at,
        ..Task::default()
    }))
}

async fn summary_task(page: &Page) -> Result<Option<Task>, PageError> {
    let summary = page.state.consolidation.summary(page.viewer.user_id).await;
    let summary = summary.map_err(|error| match error.into() {
        ToolError::Database(error) => database(error),
        error => PageError { is_invalid: false, sentence: sentence(&error.to_string()) },
    })?;
    let now = page.state.clock.now();
    let (line, problem, next) = match summary.state {
        SummaryProgress::Writing => ("It is being written.", None, None),
        SummaryProgress::Waiting(Some(at)) if at <= now => {
            ("It will be written in a moment.", None, None)
        }
        SummaryProgress::Waiting(at) => ("It is written after a few quiet minutes.", None, at),
        SummaryProgress::Failed(why, at) => ("It could not be written.", Some(sentence(&why)), at),
        SummaryProgress::Current | SummaryProgress::Empty | SummaryProgress::Off(_) => {
            return Ok(None);
        }
    };
    Ok(Some(Task {
        name: queue::SUMMARY,
        title: "Summary",
        href: "/summary",
        line: line.to_owned(),
        problem,
        next: next.filter(|at| *at > now),
        ..Task::default()
    }))
}

fn sessions(n: i64) -> String {
    match n {
        1 => "1 session".to_owned(),
        n => format!("{} sessions", count(n)),
    }
}

#[component]
fn WorkPage(tasks: Vec<Task>, scheduled: Vec<Scheduled>) -> impl IntoView {
    let is_idle = tasks.is_empty();
    let line = match tasks.len() {
        0 => "No work under way.".to_owned(),
        1 => "1 task is running.".to_owned(),
        n => format!("{n} tasks are running."),
    };
    let tasks = tasks.into_iter().map(|task| view! { <TaskPart task /> });
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
            <Schedule scheduled />
        </div>
        <LiveProgress />
    }
    .into_any()
}

#[component]
fn Schedule(scheduled: Vec<Scheduled>) -> impl IntoView {
    let rows = scheduled.into_iter().map(|one| {
        let (state, needs) = one.state;
        let last = match one.last {
            Some(at) => view! { <When at /> }.into_any(),
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
fn TaskPart(task: Task) -> impl IntoView {
    let id = format!("work-{}", task.name);
    let state = match task.problem {
        Some(_) => "waiting",
        None => "pending",
    };
    let progress = match task.progress {
        Some((done, total)) => view! {
            <Progress label=task.title.to_owned() done failed=0 total line=task.line />
        }
        .into_any(),
        None => view! { <p>{task.line}</p> }.into_any(),
    };
    let problem = task.problem.map(|why| view! { <p class="problem">{why}</p> });
    let next = task.next.map(|at| view! { <p class="hint">"Continues " <When at /> "."</p> });
    view! {
        <section class="part" aria-labelledby=id.clone()>
            <h2 id=id.clone()>{task.title}</h2>
            <p class="badges">
                <StateBadge state />
            </p>
            {progress}
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
