//! The programs that may remember and look up for this person, and their
//! tokens. A new token is shown in the answer to the form that made it, and
//! never again.

pub mod settings;
pub mod team;
pub mod undo;

use std::collections::HashMap;

use axum::extract::{Path, State};
use axum::response::Response;
use keepsake_edge::AppState;
use keepsake_edge::visitor::SignedIn;
use leptos::prelude::*;
use serde::Deserialize;
use time::Duration;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::account::MemorySwitchForm;
use crate::accounts::model::{Agent, TokenRecord};
use crate::accounts::teams::Teams;
use crate::accounts::{AgentId, AgentName, TokenHolder, TokenId};
use crate::components::{
    self, Connect, Done, FormError, MemorySwitch, Paste, Section, StateBadge, TOKEN_FIELDS,
    TOKEN_PLACE, TokenChoices, TokenEntry, ToolChoice, When,
};
use crate::containment::{self, MadeUndo};
use crate::forms::{
    ActionForm, Field, Form, FormName, FormState, NewToken, Outcome, Posted, TokenFields,
    new_token, parse_id, respond, unknown_action,
};
use crate::islands::LiveProgress;
use crate::page::{Page, PageError, account_error, asked, database};
use settings::Settings;
use team::{AgentTeam, Team};
use undo::Undo;

const PATH: &str = "/agents";
/// What a field for a date and a time takes.
const LOCAL_MINUTE: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]");
/// An agent that called so recently is shown as active.
const ACTIVE_FOR: Duration = Duration::minutes(5);
const LOOK_SECONDS: u32 = 2;

#[derive(Clone)]
struct AgentsPage {
    agents: Vec<(Agent, Vec<TokenRecord>)>,
    teams: Teams,
    /// By agent.
    undone: HashMap<i64, MadeUndo>,
    public_url: String,
    /// In the person's time zone, as a field for a date and a time has it.
    a_day_ago: String,
}

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    // The agent whose lines are asked for; its token is not known any more.
    let connecting = page.asked_for("connect").and_then(|id| id.parse().ok());
    let found = load(&page).await;
    page.render(Section::Agents, "Agents & tokens", PATH, found, move |page| {
        view! {
            <div class="page">
                <Agents page form=form.clone() connecting />
            </div>
        }
        .into_any()
    })
    .await
}

async fn load(page: &Page) -> Result<AgentsPage, PageError> {
    let (state, user) = (&page.state, page.viewer.user_id);
    let a_day_ago = page.signed_in.0.time_zone.local(state.clock.now() - Duration::DAY);
    Ok(AgentsPage {
        agents: state.accounts.list_agents(user).await.map_err(account_error)?,
        teams: state.accounts.teams(user).await.map_err(account_error)?,
        undone: containment::list_made(&state.db, user).await.map_err(database)?,
        public_url: state.public_url.as_str().to_owned(),
        a_day_ago: a_day_ago.format(LOCAL_MINUTE).unwrap_or_default(),
    })
}

#[derive(Deserialize)]
pub struct NewAgentForm {
    name: Field,
    #[serde(flatten)]
    token: TokenFields,
}

pub async fn create(Posted(posted, form): Posted<NewAgentForm>) -> Response {
    let attempt = async {
        let (accounts, form) = (&posted.state.accounts, form?);
        let name = AgentName::parse(&form.name)?;
        let wish = form.token.wish()?;
        let token = accounts.create_agent(posted.user(), &name, &wish).await?;
        Ok(new_token(FormName::Agent, name.as_str().to_owned(), token))
    };
    posted.respond(show, PATH, FormName::Agent, attempt.await).await
}

pub async fn create_token(Posted(mut posted, form): Posted<TokenFields>) -> Response {
    posted.show_id("agent");
    let attempt = async {
        let holder = TokenHolder::Agent(posted.user(), AgentId(posted.id()?));
        let (accounts, wish) = (&posted.state.accounts, form?.wish()?);
        let (name, token) = accounts.create_token(holder, &wish).await?;
        Ok(new_token(FormName::Token, name, token))
    };
    posted.respond(show, PATH, FormName::Token, attempt.await).await
}

pub async fn revoke_token(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path((agent, token)): Path<(String, String)>,
) -> Response {
    let attempt = async {
        let holder = TokenHolder::Agent(signed_in.0.id, AgentId(parse_id(&agent)?));
        let token = TokenId(parse_id(&token)?);
        state.accounts.revoke_token(holder, token).await?;
        Ok(Outcome::Redirect)
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(show, &state, signed_in, PATH, FormName::Revoke, &fields, outcome).await
}

pub async fn switch_memory(Posted(posted, form): Posted<MemorySwitchForm>) -> Response {
    let attempt = async {
        let (user, agent) = (posted.user(), AgentId(posted.id()?));
        let on = matches!(form?, MemorySwitchForm::On);
        let accounts = &posted.state.accounts;
        accounts.switch_agent_memory(user, agent, on).await?;
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, FormName::Memory, attempt.await).await
}

/// The action is a tool profile.
pub async fn choose_tools(Posted(posted, form): Posted<ActionForm>) -> Response {
    let attempt = async {
        let (user, agent) = (posted.user(), AgentId(posted.id()?));
        let profile = form?.action.parse().map_err(|_| unknown_action())?;
        let accounts = &posted.state.accounts;
        accounts.choose_agent_tools(user, agent, profile).await?;
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, FormName::Tools, attempt.await).await
}

#[component]
fn Agents(page: AgentsPage, form: FormState, connecting: Option<i64>) -> impl IntoView {
    let public_url = page.public_url;
    let new_token = form.new_token.clone();
    let named = |new: &NewToken| {
        page.agents.iter().find(|(agent, _)| agent.name == new.agent_name).cloned()
    };
    let fresh_agent = new_token.as_ref().and_then(named);
    let fresh_id = fresh_agent.as_ref().map(|(agent, _)| agent.id);
    let watched = fresh_id.map(|id| id.0).or(connecting);
    let renewed_from = watched.map(|id| format!("/agents?connect={id}"));
    let fresh = new_token.zip(fresh_agent).map(|(new, (agent, tokens))| {
        view! { <Fresh new id=agent.id tokens public_url=public_url.clone() /> }
    });
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
    let teams: Vec<AgentTeam> = page
        .agents
        .iter()
        .map(|(agent, _)| AgentTeam::of(agent.id, &page.teams, &page.agents))
        .collect();
    let agents = page
        .agents
        .into_iter()
        .zip(teams)
        .map(|((agent, tokens), team)| {
            let undone = page.undone.get(&agent.id.0).copied();
            let since = page.a_day_ago.clone();
            let posted = form.clone();
            let connect_to = (connecting == Some(agent.id.0)).then(|| public_url.clone());
            let is_fresh = fresh_id == Some(agent.id);
            view! { <AgentEntry agent tokens team undone posted since connect_to is_fresh /> }
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
fn is_unplaced(form: &FormState, agents: &[(Agent, Vec<TokenRecord>)]) -> bool {
    let of = form.value("agent");
    let is_placed = || agents.iter().any(|(agent, _)| agent.id.0.to_string() == of);
    match form.form {
        Some(FormName::Revoke | FormName::Memory | FormName::Tools) => true,
        Some(FormName::Token | FormName::Settings | FormName::Team | FormName::AgentUndo) => {
            !is_placed()
        }
        _ => false,
    }
}

/// The token in clear, this once, with the lines that use it.
#[component]
fn Fresh(
    new: NewToken,
    id: AgentId,
    tokens: Vec<TokenRecord>,
    public_url: String,
) -> impl IntoView {
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
            <FirstCall id tokens is_watched=true />
            <p>
                "Its memories appear on the page " <a href="/memory">"Memory"</a> "."
            </p>
        </section>
    }
    .into_any()
}

/// When an agent called last, or that it has not called yet with its newest token: it turns by itself
/// where it is watched (the island `LiveProgress`). Green only while it is at work.
#[component]
fn FirstCall(id: AgentId, tokens: Vec<TokenRecord>, is_watched: bool) -> impl IntoView {
    let AgentId(id) = id;
    let now = asked().state.clock.now();
    let newest = tokens.iter().find(|token| token.is_valid(now));
    let is_waiting = newest.is_some_and(|token| token.last_used_at.is_none());
    let last_used = tokens.iter().filter_map(|token| token.last_used_at).max();
    let is_active = newest.is_some() && last_used.is_some_and(|at| now - at < ACTIVE_FOR);
    let words = match (is_waiting, last_used) {
        (true, _) => "Waiting for its first call…".into_any(),
        (false, Some(moment)) => view! { "Last used " <When at=moment /> }.into_any(),
        (false, None) => "No valid token".into_any(),
    };
    let look_again = (is_watched && is_waiting).then_some(LOOK_SECONDS);
    view! {
        <p
            class="first-call"
            data-live=format!("first-call-{id}")
            data-look-again=look_again
            data-waiting=is_waiting.then_some("")
            data-now=is_active.then_some("")
        >
            <span data-progress-line="">{words}</span>
            {look_again
                .map(|_| {
                    view! {
                        <noscript>
                            " " <a href=format!("/agents?connect={id}")>"Look again"</a>
                        </noscript>
                    }
                })}
        </p>
    }
    .into_any()
}

#[component]
fn AgentEntry(
    agent: Agent,
    tokens: Vec<TokenRecord>,
    team: AgentTeam,
    undone: Option<MadeUndo>,
    /// The form that was just posted, of whichever agent.
    posted: FormState,
    /// What the field of the undo offers.
    since: String,
    /// The server's address, where the lines are asked for.
    connect_to: Option<String>,
    /// Its new token stands above, and says whether it has called.
    is_fresh: bool,
) -> impl IntoView {
    let AgentId(id) = agent.id;
    let is_posted = posted.value("agent") == id.to_string();
    let form_of = |name| match is_posted && posted.form == Some(name) {
        true => posted.clone(),
        false => FormState::default(),
    };
    let token_form = form_of(FormName::Token);
    let has_failed = token_form.error.is_some();
    let items = match agent.item_count {
        0 => "no memories yet".to_owned(),
        1 => "1 memory".to_owned(),
        count => format!("{count} memories"),
    };
    let is_open = is_posted || connect_to.is_some();
    let memory = match agent.memory_enabled {
        true => "memory on",
        false => "memory off",
    };
    let profile = agent.profile.as_str();
    let tools = match profile {
        "core" => "core tools",
        "single" => "one tool",
        "connector" => "connector",
        _ => "all tools",
    };
    let first_call = (!is_fresh).then(|| {
        view! { <FirstCall id=agent.id tokens=tokens.clone() is_watched=connect_to.is_some() /> }
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
    let tokens = tokens
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
            <p class="hint">"Created " <When at=agent.created_at /></p>
            <MemorySwitch
                path=format!("/agents/{id}/memory")
                is_on=agent.memory_enabled
                of=agent.name.clone()
            />
            <ToolChoice
                path=format!("/agents/{id}/tools")
                profile
                of=agent.name.clone()
            />
            <Settings id settings=agent.settings form=form_of(FormName::Settings) of=agent.name.clone() />
            <Team id name=agent.name.clone() team form=form_of(FormName::Team) />
            <Undo id name=agent.name.clone() undone form=form_of(FormName::AgentUndo) since />
            {(!is_fresh).then_some(connect)}
            <ul class="tokens">{tokens}</ul>
            <details class="fold" open=has_failed>
                <summary>
                    "New token" <span class="visually-hidden">" for " {agent.name}</span>
                </summary>
                <form class="stack" method="post" action=format!("/agents/{id}/tokens")>
                    <FormError form=token_form.clone() fields=TOKEN_FIELDS />
                    <TokenChoices form=token_form prefix=format!("token-{id}") />
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

#[component]
fn NewAgent(form: FormState, is_first: bool) -> impl IntoView {
    let title = if is_first { "Create your first agent" } else { "New agent" };
    view! {
        <section class="part" aria-labelledby="new-agent">
            <h2 id="new-agent">{title}</h2>
            <form class="stack" method="post" action="/agents">
                <FormError form=form.clone() fields=&["name", "scope", "expires_days"] />
                <components::Field
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
