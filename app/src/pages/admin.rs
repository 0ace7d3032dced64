//! What an admin sets for everybody: the system's llama.cpp, the builtin model,
//! the hosts that members' endpoints may name, and operators. How the work stands is on Jobs.
//! Whoever is no admin is told that there is no such page.

pub mod backups;
pub mod jobs;
pub mod operators;
pub mod storage;
pub mod system;
pub mod users;

use std::sync::Arc;

use axum::response::Response;
use leptos::prelude::*;
use time::OffsetDateTime;

use crate::accounts::operators::Operator;
use crate::components::{
    Done, Field, FormError, NoSuchPage, Progress, Section, SelectField, StateBadge, count,
    with_code,
};
use crate::embedding::{OpenEmbeddings, SystemOverview};
use crate::forms::{FormName, FormState};
use crate::input::sentence;
use crate::islands::LiveProgress;
use crate::jobs::JobState;
use crate::memories;
use crate::page::{Page, PageError, account_error, chat_error, database, embedding_error};
use crate::providers::BuiltinFlaw;
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::SystemChatSettings;
use crate::quota::DiskState;
use operators::Operators;
use storage::Storage;
use system::{chat_model, llamacpp};

const PATH: &str = "/admin";
const JOBS_PATH: &str = "/admin/jobs";
const EMBEDDINGS_PATH: &str = "/admin/embeddings";
const LOOK_SECONDS: u32 = 2;

/// What an address may be called for, and its words.
const PURPOSES: [(&str, &str); 3] = [
    ("models", "embeddings and chat"),
    ("webhooks", "webhooks"),
    ("clients", "descriptions of programs"),
];

struct AdminPage {
    system: SystemOverview,
    chat: SystemChatSettings,
    users: i64,
    operators: Vec<Operator>,
    jobs: Vec<JobState>,
    /// Bytes of each user.
    storage_limit: i64,
    disk: Option<DiskState>,
    /// The pages show memories and change none.
    is_browser_read_only: bool,
    public_url: String,
    now: OffsetDateTime,
}

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = match page.is_admin() {
        true => load(&page).await.map(|found| Some(Arc::new(found))),
        false => Ok(None),
    };
    page.render(Section::Admin, "Admin", PATH, found, move |found| match found {
        Some(found) => admin_page(&found, &form),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

async fn load(page: &Page) -> Result<AdminPage, PageError> {
    let (state, now) = (&page.state, page.state.clock.now());
    let quota = state.embeddings.quota();
    let jobs = async {
        let mut conn = state.db.system_connection().await?;
        crate::jobs::states(&mut conn, now).await
    };
    Ok(AdminPage {
        system: state.embeddings.system_overview().await.map_err(embedding_error)?,
        chat: state.chat.system_overview().await.map_err(chat_error)?,
        users: state.accounts.count_users().await.map_err(account_error)?,
        operators: state.accounts.list_operators().await.map_err(account_error)?,
        jobs: jobs.await.map_err(database)?,
        storage_limit: quota.limit().await.map_err(database)?,
        disk: quota.disk().state(),
        is_browser_read_only: memories::manage::is_browser_read_only(&state.db)
            .await
            .map_err(database)?,
        public_url: state.public_url.as_str().to_owned(),
        now,
    })
}

fn admin_page(page: &AdminPage, form: &FormState) -> AnyView {
    let system = &page.system;
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Admin"</h1>
            <p class="lead">"Settings for the whole server."</p>
            <Done form=form.clone() />
            {figures(page.users, &system.open)}
            <p>{jobs_line(&page.jobs)} <a href=JOBS_PATH>"Jobs"</a></p>
            <div class="with-side parts">
                <div class="parts">
                    {llamacpp(system, &page.chat, page.now, form.of(FormName::System))}
                    {chat_model(&page.chat, form.of(FormName::ChatSystem))}
                    <Operators
                        operators=page.operators.clone()
                        form=form.clone()
                        public_url=page.public_url.clone()
                    />
                </div>
                <div class="parts">
                    {builtin(system, form.of(FormName::Builtin))}
                    {late_interaction(system, form.of(FormName::Late))}
                    <Storage limit=page.storage_limit disk=page.disk form=form.of(FormName::Storage) />
                    <MemoryBrowser is_read_only=page.is_browser_read_only form=form.of(FormName::Browser) />
                    {allowed(&system.allowed, form.of(FormName::Endpoint))}
                </div>
            </div>
        </div>
        <LiveProgress />
    }
    .into_any()
}

/// "3 jobs failed, 1 is paused · "
fn jobs_line(jobs: &[JobState]) -> String {
    let failed = match jobs.iter().map(JobState::failed).sum() {
        0 => "No job failed".to_owned(),
        1 => "1 job failed".to_owned(),
        n => format!("{} jobs failed", count(n)),
    };
    let paused = match jobs.iter().filter(|job| job.paused_at.is_some()).count() {
        0 => String::new(),
        1 => ", 1 is paused".to_owned(),
        n => format!(", {n} are paused"),
    };
    format!("{failed}{paused} · ")
}

fn figures(users: i64, open: &OpenEmbeddings) -> AnyView {
    let figures = [
        ("Users", users),
        ("Embeddings pending", open.pending),
        ("Users waiting", open.pending_users),
        ("Embeddings failed", open.failed),
    ];
    view! {
        <dl class="figures">
            {figures
                .into_iter()
                .map(|(term, n)| {
                    view! {
                        <div>
                            <dt>{term}</dt>
                            <dd class="number">{count(n)}</dd>
                        </div>
                    }
                })
                .collect_view()}
        </dl>
    }
    .into_any()
}

fn builtin(system: &SystemOverview, form: FormState) -> AnyView {
    let is_enabled = system.settings.builtin_enabled;
    let (action, label) = match is_enabled {
        true => ("builtin_off", "Switch it off"),
        false => ("builtin_on", "Switch it on"),
    };
    let state = match system.missing_model {
        _ if !is_enabled => "off",
        Some(_) => "waiting",
        None => "on",
    };
    let users = &system.builtin_users;
    let look_again = (users.of_model < users.all).then_some(LOOK_SECONDS);
    let missing =
        system.missing_model.map(|model| sentence(&BuiltinFlaw::NoFiles(model).to_string()));
    view! {
        <section
            class="part"
            data-live="builtin"
            data-look-again=look_again
            aria-labelledby="builtin"
        >
            <div class="title-row">
                <h2 id="builtin">"Builtin model"</h2>
                <StateBadge state />
            </div>
            <p>
                "It serves users without an endpoint of their own, unless a system llama.cpp is set. It runs inside this server."
            </p>
            {missing.map(|missing| view! { <p class="problem">{with_code(&missing)}</p> })}
            {is_enabled.then(|| exchange(system))}
            <FormError form fields=&[] />
            <form method="post" action=EMBEDDINGS_PATH>
                <button type="submit" name="action" value=action>
                    {label}
                </button>
            </form>
        </section>
    }
    .into_any()
}

/// From the English builtin model to the multilingual one; nothing once it is over.
fn exchange(system: &SystemOverview) -> impl IntoView + use<> {
    let is_postponed = system.settings.builtin_model == BuiltinModel::English;
    let (users, can_postpone) = (system.builtin_users, system.has_english_model);
    let (action, label) = match is_postponed {
        true => ("builtin_multilingual", "Use the multilingual model"),
        false => ("builtin_english", "Postpone"),
    };
    let text = match is_postponed {
        true => {
            "The English model is in use. The multilingual one understands a hundred languages; if you choose it, all memories are embedded again."
        }
        false if system.missing_model.is_some() => "",
        false => "All memories are being embedded again with the multilingual model.",
    };
    let meanwhile = match can_postpone {
        true => " The old embeddings serve meanwhile.",
        false => " Search uses keywords meanwhile: the English model's files are missing.",
    };
    let progress = (users.of_model < users.all).then(|| {
        let line = format!("{} of {} users done", count(users.of_model), count(users.all));
        let label = "Users with new embeddings".to_owned();
        view! { <Progress label done=users.of_model failed=0 total=users.all line /> }
    });
    let switch = (is_postponed || can_postpone).then(|| {
        view! {
            <form method="post" action=EMBEDDINGS_PATH>
                <button type="submit" name="action" value=action>
                    {label} <span class="visually-hidden">": builtin model"</span>
                </button>
            </form>
        }
    });
    (is_postponed || progress.is_some()).then(|| {
        view! {
            <div class="rebuild">
                <p>{text} {meanwhile}</p>
                {progress}
                {switch}
            </div>
        }
    })
}

fn late_interaction(system: &SystemOverview, form: FormState) -> AnyView {
    let (is_on, users) = (system.settings.late_interaction, system.builtin_users);
    let (state, action, label) = match is_on {
        true => ("on", "late_off", "Switch it off"),
        false => ("off", "late_on", "Switch it on"),
    };
    let is_under_way = users.late < users.all;
    let progress = is_under_way.then(|| {
        let label = match is_on {
            true => "Creating token vectors",
            false => "Removing token vectors",
        };
        let line = format!("{label}: {} of {} users done", count(users.late), count(users.all));
        view! { <Progress label=label.to_owned() done=users.late failed=0 total=users.all line /> }
    });
    view! {
        <section
            class="part"
            data-live="late"
            data-look-again=is_under_way.then_some(LOOK_SECONDS)
            aria-labelledby="late"
        >
            <div class="title-row">
                <h2 id="late">"Late interaction"</h2>
                <StateBadge state />
            </div>
            <p>
                "Search also compares each word of the query with each word of a memory. It finds more, and takes about 1.5 kB of disk per memory. Only the builtin model supports it."
            </p>
            {progress}
            <FormError form fields=&[] />
            <form method="post" action=EMBEDDINGS_PATH>
                <button type="submit" name="action" value=action>
                    {label} <span class="visually-hidden">": late interaction"</span>
                </button>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn MemoryBrowser(is_read_only: bool, form: FormState) -> impl IntoView {
    let (state, action, label) = match is_read_only {
        true => ("on", "open", "Switch it off"),
        false => ("off", "close", "Switch it on"),
    };
    view! {
        <section class="part" aria-labelledby="browser">
            <div class="title-row">
                <h2 id="browser">"Read-only browser"</h2>
                <StateBadge state />
            </div>
            <p>
                "While it is on, a memory's page has no Manage section: nobody can archive, restore or confirm memories in the browser. Users can still delete their own memories on the page Your data. Agents are not affected."
            </p>
            <FormError form fields=&[] />
            <form method="post" action="/admin/browser">
                <button type="submit" name="action" value=action>
                    {label} <span class="visually-hidden">": read-only browser"</span>
                </button>
            </form>
        </section>
    }
    .into_any()
}

/// Each host, its port and its purpose.
fn allowed(endpoints: &[(String, i32, String)], form: FormState) -> AnyView {
    let words_of = |name: &str| {
        PURPOSES.into_iter().find(|(of, _)| *of == name).map_or("", |(_, words)| words)
    };
    let list = if endpoints.is_empty() {
        view! { <p class="hint">"None: members can use public addresses only."</p> }.into_any()
    } else {
        let rows = endpoints
            .iter()
            .map(|(host, port, purpose)| {
                let (endpoint, words) = (format!("{host}:{port}"), words_of(purpose));
                view! {
                    <li>
                        <span>
                            <code>{endpoint.clone()}</code>
                            " "
                            {words}
                        </span>
                        <form method="post" action="/admin/endpoints">
                            <input type="hidden" name="endpoint" value=endpoint.clone() />
                            <input type="hidden" name="purpose" value=purpose.clone() />
                            <button class="quiet" type="submit" name="action" value="remove">
                                "Remove"
                                <span class="visually-hidden">" " {endpoint} " " {words}</span>
                            </button>
                        </form>
                    </li>
                }
            })
            .collect_view();
        view! { <ul class="list">{rows}</ul> }.into_any()
    };
    view! {
        <section class="part" aria-labelledby="allowed">
            <h2 id="allowed">"Allowed endpoints"</h2>
            <p>
                "Members may use public addresses, and these hosts on this machine or its network, each for one purpose. Link-local and cloud metadata addresses are always blocked."
            </p>
            {list}
            <form class="stack" method="post" action="/admin/endpoints">
                <FormError form=form.clone() fields=&["endpoint", "purpose"] />
                <Field
                    form=form.clone()
                    name="endpoint"
                    label="Host and port"
                    placeholder="localhost:11434"
                    autocomplete="off"
                    maxlength="260"
                />
                <SelectField
                    form
                    id="allowed-purpose".to_owned()
                    name="purpose"
                    label="Purpose"
                    choices=PURPOSES.to_vec()
                />
                <div>
                    <button type="submit" name="action" value="add">
                        "Allow"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}
