//! The programs that may remember and look up for this person, and their
//! tokens. A new token is shown in the answer to the form that made it, and
//! never again.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Connect, Done, Field, FirstCall, FormError, MemorySwitch, Paste, Section, StateBadge,
    TOKEN_FIELDS, TOKEN_PLACE, Team, TokenChoices, TokenEntry, ToolChoice, When,
};
use crate::forms::{FormName, FormState, NewToken};
use crate::islands::LiveProgress;
use crate::page::{Page, asked};
use crate::view::{AgentRow, AgentSetting, AgentsPage};
use time::OffsetDateTime;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    // The agent whose lines are asked for; its token is not known any more.
    let connecting = page.asked_for("connect").and_then(|id| id.parse().ok());
    let found = page.agents_page().await;
    page.render(Section::Agents, "Agents & tokens", "/agents", found, move |page| {
        view! {
            <div class="page">
                <Everyone page form=form.clone() connecting />
            </div>
        }
        .into_any()
    })
    .await
}

#[component]
fn Everyone(page: AgentsPage, form: FormState, connecting: Option<i64>) -> impl IntoView {
    let public_url = page.public_url;
    let new_token = form.new_token.clone();
    let named = |new: &NewToken| page.agents.iter().find(|a| a.name == new.agent_name).cloned();
    let fresh_agent = new_token.as_ref().and_then(named);
    let fresh_id = fresh_agent.as_ref().map(|agent| agent.id);
    let watched = fresh_id.or(connecting);
    let renewed_from = watched.map(|id| format!("/agents?connect={id}"));
    let fresh = new_token
        .zip(fresh_agent)
        .map(|(new, agent)| view! { <Fresh new agent public_url=public_url.clone() /> });
    let is_first = page.agents.is_empty();
    let is_all_off = asked().account().is_some_and(|v| !v.memory_enabled);
    let all_off = is_all_off.then(|| {
        view! {
            <p class="aside">
                "Memory is switched off for all of your agents. " <a href="/account">"Your account"</a>
                " has the switch."
            </p>
        }
    });
    // What is said of an undo stands beside the agent.
    let done =
        if form.form == Some(FormName::AgentUndo) { FormState::default() } else { form.clone() };
    let unplaced = is_unplaced(&form, &page.agents)
        .then(|| view! { <FormError form=form.clone() fields=&[] /> });
    let agents = page
        .agents
        .into_iter()
        .map(|agent| {
            let settings_form = form.of(FormName::Settings);
            let team_form = form.of(FormName::Team);
            let undo_form = form.of(FormName::AgentUndo);
            let since = page.a_day_ago.clone();
            let form = form.of(FormName::Token);
            let connect_to = (connecting == Some(agent.id)).then(|| public_url.clone());
            let is_fresh = fresh_id == Some(agent.id);
            view! { <Agent agent form settings_form team_form undo_form since connect_to is_fresh /> }
        })
        .collect_view();
    view! {
        <h1>"Agents & tokens"</h1>
        <p class="lead">
            "An agent is a program that stores and reads memories for you. Each has its own tokens, so you can revoke one without affecting the others."
        </p>
        <Done form=done />
        {all_off}
        {unplaced}
        <div class="parts" data-renewed-from=renewed_from>
            {fresh}
            <div class="with-side parts">
                {(!is_first).then(|| view! { <ul class="agents">{agents}</ul> })}
                <NewAgent form=form.of(FormName::Agent) is_first />
            </div>
        </div>
        {watched.map(|_| view! { <LiveProgress /> })}
    }
    .into_any()
}

/// Whether the form was about an agent or a token that is not on the page (any more).
fn is_unplaced(form: &FormState, agents: &[AgentRow]) -> bool {
    let is_of = |agent: &AgentRow| form.value("agent") == agent.id.to_string();
    match form.form {
        Some(FormName::Revoke | FormName::Memory | FormName::Tools) => true,
        Some(FormName::Token | FormName::Settings | FormName::Team | FormName::AgentUndo) => {
            !agents.iter().any(is_of)
        }
        _ => false,
    }
}

/// The token in clear, this once, with the lines that use it.
#[component]
fn Fresh(new: NewToken, agent: AgentRow, public_url: String) -> impl IntoView {
    view! {
        <section class="fresh" aria-labelledby="fresh-title">
            <h2 id="fresh-title">"The token of " <bdi>{new.agent_name}</bdi></h2>
            <p>
                <strong>"Copy it now."</strong>
                " It is shown only once; only a hash of it is stored."
            </p>
            <Paste caption="Token" text=new.token.clone() />
            <h3>"Connect"</h3>
            <Connect public_url token=new.token prefix="fresh".to_owned() />
            <FirstCall agent is_watched=true />
            <p>
                "Its memories appear on the page " <a href="/memory">"Memory"</a> "."
            </p>
        </section>
    }
    .into_any()
}

#[component]
fn Agent(
    agent: AgentRow,
    form: FormState,
    settings_form: FormState,
    team_form: FormState,
    undo_form: FormState,
    /// What the field of the undo offers.
    since: String,
    /// The server's address, where the lines are asked for.
    connect_to: Option<String>,
    /// Its new token stands above, and says whether it has called.
    is_fresh: bool,
) -> impl IntoView {
    let id = agent.id;
    let is_posted = form.value("agent") == id.to_string();
    let form = if is_posted { form } else { FormState::default() };
    let has_failed = form.error.is_some();
    let items = match agent.item_count {
        0 => "no memories yet".to_owned(),
        1 => "1 memory".to_owned(),
        count => format!("{count} memories"),
    };
    let is_of = |form: &FormState| form.value("agent") == id.to_string();
    let is_open = is_posted
        || is_of(&settings_form)
        || is_of(&team_form)
        || is_of(&undo_form)
        || connect_to.is_some();
    let memory = match agent.memory_enabled {
        true => "memory on",
        false => "memory off",
    };
    let tools = match agent.profile {
        "core" => "core tools",
        "single" => "one tool",
        "connector" => "connector",
        _ => "all tools",
    };
    let first_call = (!is_fresh).then(|| {
        view! { <FirstCall agent=agent.clone() is_watched=connect_to.is_some() /> }
    });
    let connect = match connect_to {
        Some(public_url) => view! {
            <p class="hint">
                "Replace " <code>{TOKEN_PLACE}</code>
                " with its token; create a new token below if you no longer have it."
            </p>
            <Connect public_url token=TOKEN_PLACE.to_owned() prefix=format!("agent-{id}") />
        }
        .into_any(),
        None => view! {
            <p>
                <a href=format!("/agents?connect={id}#agent-{id}")>
                    "How to connect" <span class="visually-hidden">": " {agent.name.clone()}</span>
                </a>
            </p>
        }
        .into_any(),
    };
    let tokens = agent
        .tokens
        .into_iter()
        .map(|token| view! { <TokenEntry path=format!("/agents/{id}/tokens") token /> })
        .collect_view();
    view! {
        <li>
            <details class="agent" id=format!("agent-fold-{id}") open=is_open>
            <summary>
                <strong><bdi>{agent.name.clone()}</bdi></strong>
                {first_call}
                <span class="agent-count">{items}</span>
                <span class="agent-count">{tools}</span>
                <StateBadge state=memory />
            </summary>
            <div class="agent-body" id=format!("agent-{id}")>
            <p class="hint">"Created " <When at=agent.created /></p>
            <MemorySwitch
                path=format!("/agents/{id}/memory")
                is_on=agent.memory_enabled
                of=agent.name.clone()
            />
            <ToolChoice
                path=format!("/agents/{id}/tools")
                profile=agent.profile
                of=agent.name.clone()
            />
            <Settings id settings=agent.settings document=agent.settings_document form=settings_form of=agent.name.clone() />
            <Team id name=agent.name.clone() team=agent.team form=team_form />
            <Undo id name=agent.name.clone() undone=agent.undone form=undo_form since />
            {(!is_fresh).then_some(connect)}
            <ul class="tokens">{tokens}</ul>
            <details class="fold" open=has_failed>
                <summary>
                    "New token" <span class="visually-hidden">" for " {agent.name}</span>
                </summary>
                <form class="stack" method="post" action=format!("/agents/{id}/tokens")>
                    <FormError form=form.clone() fields=TOKEN_FIELDS />
                    <TokenChoices form prefix=format!("token-{id}") />
                    <div>
                        <button type="submit">"Create token"</button>
                    </div>
                </form>
            </details>
            </div>
            </details>
        </li>
    }
    .into_any()
}

/// All that it has changed since a moment, undone in one act: first counted, then done, then taken back.
#[component]
fn Undo(
    id: i64,
    name: String,
    undone: Option<(OffsetDateTime, OffsetDateTime)>,
    form: FormState,
    since: String,
) -> impl IntoView {
    let form = match form.value("agent") == id.to_string() {
        true => form,
        false => FormState::default(),
    };
    let is_open = form.error.is_some() || form.done.is_some();
    let path = format!("/agents/{id}/undo");
    let exact = form.value("exact");
    let decide = (!exact.is_empty()).then(|| {
        view! {
            <form class="actions" method="post" action=path.clone()>
                <input type="hidden" name="since" value=exact />
                <button class="danger" type="submit" name="action" value="undo">
                    "Undo all of this"
                </button>
            </form>
        }
    });
    let back = undone.map(|(made, from)| {
        view! {
            <form class="actions" method="post" action=path.clone()>
                <p class="hint">
                    "Undone " <When at=made /> ", from " <When at=from /> " on."
                </p>
                <button type="submit" name="action" value="take_back">
                    "Take back" <span class="visually-hidden">" the undo of " {name.clone()}</span>
                </button>
            </form>
        }
    });
    let since = match form.value("since") {
        typed if typed.is_empty() => since,
        typed => typed,
    };
    let field = format!("agent-{id}-since");
    view! {
        <details class="fold" open=is_open>
            <summary>
                "Undo its changes" <span class="visually-hidden">" of " {name.clone()}</span>
            </summary>
            <p class="hint">
                "Archives what it added since then, restores what it archived or replaced, sets back what it changed, and its documents. What you or others changed since stays. Switch its memory off first if it still writes."
            </p>
            <FormError form=form.clone() fields=&["since"] />
            <form class="stack" method="post" action=path.clone()>
                <div class="field">
                    <label for=field.clone()>"Since"</label>
                    <input id=field type="datetime-local" name="since" value=since required />
                    {form.error_of("since").map(|error| view! { <p class="error">{error}</p> })}
                </div>
                <div>
                    <button type="submit" name="action" value="look">"Count"</button>
                </div>
            </form>
            <Done form=form.clone() />
            {decide}
            {back}
        </details>
    }
    .into_any()
}

/// What it does otherwise than the others.
#[component]
fn Settings(
    id: i64,
    settings: Vec<AgentSetting>,
    document: String,
    form: FormState,
    of: String,
) -> impl IntoView {
    let form = match form.value("agent") == id.to_string() {
        true => form,
        false => FormState::default(),
    };
    let has_failed = form.error.is_some();
    let changed = settings.iter().filter(|setting| !setting.value.is_empty()).count();
    let told = match changed {
        0 => "server defaults".to_owned(),
        1 => "1 changed".to_owned(),
        n => format!("{n} changed"),
    };
    let document = match has_failed && form.value("action") == "document" {
        true => form.value("document"),
        false => document,
    };
    let names: Vec<&'static str> = settings.iter().map(|setting| setting.name).collect();
    let fields = settings.into_iter().map(|setting| {
        let value = match form.error.is_some() && form.value("action") != "document" {
            true => form.value(setting.name).to_owned(),
            false => setting.value,
        };
        let field = format!("agent-{id}-{}", setting.name);
        let control = match setting.choices.is_empty() {
            false => {
                let default = format!("server default ({})", setting.default);
                let choices = setting.choices.into_iter().map(|(choice, words)| {
                    view! { <option value=choice selected=value == choice>{words}</option> }
                });
                view! {
                    <select id=field.clone() name=setting.name>
                        <option value="">{default}</option>
                        {choices.collect_view()}
                    </select>
                }
                .into_any()
            }
            true => view! {
                <input
                    id=field.clone()
                    name=setting.name
                    value=value
                    inputmode="decimal"
                    maxlength="8"
                    autocomplete="off"
                    placeholder=setting.default
                />
            }
            .into_any(),
        };
        view! {
            <div class="field">
                <label for=field>{setting.label}</label>
                <p class="hint">{setting.hint}</p>
                {control}
            </div>
        }
    });
    let fields = fields.collect_view();
    let path = format!("/agents/{id}/settings");
    view! {
        <details class="fold" open=has_failed>
            <summary>
                "Settings" <span class="visually-hidden">" of " {of}</span> <span class="hint">": " {told}</span>
            </summary>
            <form class="stack" method="post" action=path.clone()>
                <FormError form=form fields=&[] />
                {fields}
                <div>
                    <button type="submit" name="action" value="save">"Save settings"</button>
                </div>
            </form>
            <form class="stack" method="post" action=path>
                <div class="field">
                    <label for=format!("agent-{id}-document")>"As JSON"</label>
                    <p class="hint">{format!("An object of {}. What is left out uses the server's default.", names.join(", "))}</p>
                    <textarea id=format!("agent-{id}-document") name="document" rows="4" spellcheck="false">
                        {document}
                    </textarea>
                </div>
                <div>
                    <button type="submit" name="action" value="document">"Save JSON"</button>
                </div>
            </form>
        </details>
    }
    .into_any()
}

#[component]
fn NewAgent(form: FormState, is_first: bool) -> impl IntoView {
    let title = if is_first { "Create your first agent" } else { "New agent" };
    view! {
        <section class="part" aria-labelledby="new-agent">
            <h2 id="new-agent">{title}</h2>
            <form class="stack" method="post" action="/agents">
                <FormError form=form.clone() fields=&["name", "scope", "expires_days"] />
                <Field
                    form=form.clone()
                    name="name"
                    label="Name"
                    hint="The program and where it runs, such as claude-code on the laptop."
                    autocomplete="off"
                    maxlength="64"
                />
                <TokenChoices form prefix="agent".to_owned() />
                <div>
                    <button class="primary" type="submit">
                        "Create agent"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}
