//! What an admin sets for everybody: the system's llama.cpp, the builtin model,
//! the hosts that members' endpoints may name, and operators. How the work stands is on Jobs.
//! Whoever is no admin is told that there is no such page.

pub mod backups;
pub mod chat;
pub mod jobs;
mod load;
pub mod operators;
pub mod storage;
mod system;
pub mod users;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Done, Field, FormError, NoSuchPage, Progress, Section, StateBadge, count, with_code,
};
use crate::forms::{FormName, FormState};
use crate::islands::LiveProgress;
use crate::page::Page;
use crate::view::{AdminPage, BuiltinExchange, JobsLine, LateSwitch};
use operators::Operators;
use storage::Storage;
use system::{System, SystemChat};

const PATH: &str = "/admin";
const JOBS_PATH: &str = "/admin/jobs";
const EMBEDDINGS_PATH: &str = "/admin/embeddings";
const LOOK_SECONDS: u32 = 2;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = page.admin_page().await;
    page.render(Section::Admin, "Admin", PATH, found, move |page| match page {
        Some(page) => view! { <Whole page form=form.clone() /> }.into_any(),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

#[component]
fn Whole(page: AdminPage, form: FormState) -> impl IntoView {
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Admin"</h1>
            <p class="lead">"Settings for the whole server."</p>
            <Done form=form.clone() />
            <Figures page=page.clone() />
            <p>{jobs_line(page.jobs)} <a href=JOBS_PATH>"Jobs"</a></p>
            <div class="with-side parts">
                <div class="parts">
                    <System page=page.clone() form=form.of(FormName::System) />
                    <SystemChat chat=page.chat.clone() form=form.of(FormName::ChatSystem) />
                    <Operators
                        operators=page.operators.clone()
                        form=form.clone()
                        public_url=page.public_url.clone()
                    />
                </div>
                <div class="parts">
                    <Builtin page=page.clone() form=form.of(FormName::Builtin) />
                    <Late late=page.late form=form.of(FormName::Late) />
                    <Storage storage=page.storage.clone() form=form.of(FormName::Storage) />
                    <MemoryBrowser is_read_only=page.is_browser_read_only form=form.of(FormName::Browser) />
                    <Allowed endpoints=page.allowed_endpoints form=form.of(FormName::Endpoint) />
                </div>
            </div>
        </div>
        <LiveProgress />
    }
    .into_any()
}

/// "3 jobs failed, 1 is paused · "
fn jobs_line(jobs: JobsLine) -> String {
    let failed = match jobs.failed {
        0 => "No job failed".to_owned(),
        1 => "1 job failed".to_owned(),
        n => format!("{} jobs failed", count(n)),
    };
    let paused = match jobs.paused {
        0 => String::new(),
        1 => ", 1 is paused".to_owned(),
        n => format!(", {} are paused", count(n)),
    };
    format!("{failed}{paused} · ")
}

#[component]
fn Figures(page: AdminPage) -> impl IntoView {
    let queue = page.queue;
    let figures = [
        ("Users", page.users),
        ("Embeddings pending", queue.pending),
        ("Users waiting", queue.users_waiting),
        ("Embeddings failed", queue.failed),
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

#[component]
fn Builtin(page: AdminPage, form: FormState) -> impl IntoView {
    let (action, label) = match page.builtin_enabled {
        true => ("builtin_off", "Switch it off"),
        false => ("builtin_on", "Switch it on"),
    };
    let state = match page.missing_model {
        _ if !page.builtin_enabled => "off",
        Some(_) => "waiting",
        None => "on",
    };
    let look_again = page.exchange.is_under_way().then_some(LOOK_SECONDS);
    let is_missing = page.missing_model.is_some();
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
            {page.missing_model.map(|missing| view! { <p class="problem">{with_code(&missing)}</p> })}
            {page.builtin_enabled.then(|| view! { <Exchange of=page.exchange is_missing /> })}
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

/// Nothing once it is over.
#[component]
fn Exchange(of: BuiltinExchange, is_missing: bool) -> impl IntoView {
    let (action, label) = match of.is_postponed {
        true => ("builtin_multilingual", "Use the multilingual model"),
        false => ("builtin_english", "Postpone"),
    };
    let text = match of.is_postponed {
        true => {
            "The English model is in use. The multilingual one understands a hundred languages; if you choose it, all memories are embedded again."
        }
        false if is_missing => "",
        false => "All memories are being embedded again with the multilingual model.",
    };
    let meanwhile = match of.can_postpone {
        true => " The old embeddings serve meanwhile.",
        false => " Search uses keywords meanwhile: the English model's files are missing.",
    };
    let progress = of.is_under_way().then(|| {
        let line = format!("{} of {} users done", count(of.done), count(of.users));
        let label = "Users with new embeddings".to_owned();
        view! { <Progress label done=of.done failed=0 total=of.users line /> }
    });
    let switch = (of.is_postponed || of.can_postpone).then(|| {
        view! {
            <form method="post" action=EMBEDDINGS_PATH>
                <button type="submit" name="action" value=action>
                    {label} <span class="visually-hidden">": builtin model"</span>
                </button>
            </form>
        }
    });
    (of.is_postponed || progress.is_some()).then(|| {
        view! {
            <div class="rebuild">
                <p>{text} {meanwhile}</p>
                {progress}
                {switch}
            </div>
        }
    })
}

#[component]
fn Late(late: LateSwitch, form: FormState) -> impl IntoView {
    let (state, action, label) = match late.is_on {
        true => ("on", "late_off", "Switch it off"),
        false => ("off", "late_on", "Switch it on"),
    };
    let is_under_way = late.done < late.users;
    let progress = is_under_way.then(|| {
        let label = match late.is_on {
            true => "Creating token vectors",
            false => "Removing token vectors",
        };
        let line = format!("{label}: {} of {} users done", count(late.done), count(late.users));
        view! { <Progress label=label.to_owned() done=late.done failed=0 total=late.users line /> }
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

/// What an address may be called for, and its words.
const PURPOSES: [(&str, &str); 3] = [
    ("models", "embeddings and chat"),
    ("webhooks", "webhooks"),
    ("clients", "descriptions of programs"),
];

#[component]
fn Allowed(endpoints: Vec<(String, String)>, form: FormState) -> impl IntoView {
    let words_of = |name: &str| {
        PURPOSES.into_iter().find(|(of, _)| *of == name).map_or("", |(_, words)| words)
    };
    let list = if endpoints.is_empty() {
        view! { <p class="hint">"None: members can use public addresses only."</p> }.into_any()
    } else {
        let rows = endpoints
            .into_iter()
            .map(|(endpoint, purpose)| {
                let words = words_of(&purpose);
                view! {
                    <li>
                        <span>
                            <code>{endpoint.clone()}</code>
                            " "
                            {words}
                        </span>
                        <form method="post" action="/admin/endpoints">
                            <input type="hidden" name="endpoint" value=endpoint.clone() />
                            <input type="hidden" name="purpose" value=purpose />
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
    let chosen = form.value("purpose");
    let purposes = PURPOSES
        .into_iter()
        .map(|(name, words)| view! { <option value=name selected=chosen == name>{words}</option> })
        .collect_view();
    view! {
        <section class="part" aria-labelledby="allowed">
            <h2 id="allowed">"Allowed endpoints"</h2>
            <p>
                "Members may use public addresses, and these hosts on this machine or its network, each for one purpose. Link-local and cloud metadata addresses are always blocked."
            </p>
            {list}
            <form class="stack" method="post" action="/admin/endpoints">
                <FormError form=form.clone() fields=&["endpoint"] />
                <Field
                    form=form.clone()
                    name="endpoint"
                    label="Host and port"
                    placeholder="localhost:11434"
                    autocomplete="off"
                    maxlength="260"
                />
                <div class="field">
                    <label for="allowed-purpose">"Purpose"</label>
                    <select id="allowed-purpose" name="purpose">{purposes}</select>
                </div>
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
