//! The programs that may remember and look up for this person, and their
//! tokens. A new token is shown in the answer to the form that made it, and
//! never again.

use leptos::prelude::*;

use super::memory::{add_line, search_line};
use crate::backend::backend;
use crate::components::{
    Done, Field, FormError, Frame, MemorySwitch, Paste, Section, TOKEN_FIELDS, TokenChoices,
    TokenEntry, Trouble, When,
};
use crate::view::{AgentRow, AgentsPage, FormState, NewToken};

#[component]
pub fn Agents() -> impl IntoView {
    let backend = backend();
    let form = backend.form();
    let page = Suspend::new(async move {
        match backend.agents_page().await {
            Ok(page) => view! { <Everyone page form /> }.into_any(),
            Err(error) => {
                view! { <Trouble heading="Agents & tokens" error href="/agents".to_owned() /> }
                    .into_any()
            }
        }
    });
    view! {
        <Frame section=Section::Agents title="Agents & tokens".to_owned()>
            <div class="page">{page}</div>
        </Frame>
    }
}

#[component]
fn Everyone(page: AgentsPage, form: FormState) -> impl IntoView {
    let public_url = page.public_url;
    let fresh = form
        .new_token
        .clone()
        .map(|new| view! { <Fresh new public_url /> });
    let is_first = page.agents.is_empty();
    let is_all_off = backend().viewer().is_some_and(|v| !v.memory_enabled);
    let all_off = is_all_off.then(|| {
        view! {
            <p class="aside">
                "Memory is switched off for all of your agents. " <a href="/account">"Your account"</a>
                " has the switch."
            </p>
        }
    });
    let unplaced = is_unplaced(&form, &page.agents)
        .then(|| view! { <FormError form=form.clone() fields=&[] /> });
    let agents = page
        .agents
        .into_iter()
        .map(|agent| view! { <Agent agent form=form.of("token") /> })
        .collect_view();
    view! {
        <h1>"Agents & tokens"</h1>
        <p class="lead">
            "An agent is a program that remembers for you. Each has tokens of its own, so that you can shut one out without the others."
        </p>
        <Done form=form.clone() />
        {all_off}
        {unplaced}
        {fresh}
        <div class="with-side parts">
            {(!is_first).then(|| view! { <ul class="agents">{agents}</ul> })}
            <NewAgent form=form.of("agent") is_first />
        </div>
    }
    .into_any()
}

/// Whether the form was about an agent or a token that is not on the page (any more).
fn is_unplaced(form: &FormState, agents: &[AgentRow]) -> bool {
    let is_of = |agent: &AgentRow| form.value("agent") == agent.id.to_string();
    match form.form.as_str() {
        "revoke" | "memory" => true,
        "token" => !agents.iter().any(is_of),
        _ => false,
    }
}

/// The token in clear, this once, with the lines that use it.
#[component]
fn Fresh(new: NewToken, public_url: String) -> impl IntoView {
    view! {
        <section class="fresh" aria-labelledby="fresh-title">
            <h2 id="fresh-title">"The token of " <bdi>{new.agent_name}</bdi></h2>
            <p>
                <strong>"Copy it now."</strong>
                " It is shown this once; only a fingerprint of it is kept."
            </p>
            <Paste caption="Token" text=new.token.clone() />
            <h3>"Try it"</h3>
            <Paste caption="Add a memory" text=add_line(&public_url, &new.token) />
            <Paste caption="Find it again" text=search_line(&public_url, &new.token) />
            <p>
                "Then look at " <a href="/memory">"your memory"</a> "."
            </p>
        </section>
    }
    .into_any()
}

#[component]
fn Agent(agent: AgentRow, form: FormState) -> impl IntoView {
    let id = agent.id;
    let is_posted = form.value("agent") == id.to_string();
    let form = if is_posted {
        form
    } else {
        FormState::default()
    };
    let has_failed = form.error.is_some();
    let items = match agent.item_count {
        0 => "no memories yet".to_owned(),
        1 => "1 memory".to_owned(),
        count => format!("{count} memories"),
    };
    let tokens = agent
        .tokens
        .into_iter()
        .map(|token| view! { <TokenEntry path=format!("/agents/{id}/tokens") token /> })
        .collect_view();
    view! {
        <li class="agent">
            <h2>
                <bdi>{agent.name.clone()}</bdi>
            </h2>
            <p class="agent-facts">
                <span>{items}</span>
                <span>"here since " <When moment=agent.created /></span>
            </p>
            <MemorySwitch
                path=format!("/agents/{id}/memory")
                is_on=agent.memory_enabled
                of=agent.name.clone()
            />
            <ul class="tokens">{tokens}</ul>
            <details class="fold" open=has_failed>
                <summary>
                    "Another token" <span class="visually-hidden">" for " {agent.name}</span>
                </summary>
                <form class="stack" method="post" action=format!("/agents/{id}/tokens")>
                    <FormError form=form.clone() fields=TOKEN_FIELDS />
                    <TokenChoices form prefix=format!("token-{id}") />
                    <div>
                        <button type="submit">"Make a token"</button>
                    </div>
                </form>
            </details>
        </li>
    }
    .into_any()
}

#[component]
fn NewAgent(form: FormState, is_first: bool) -> impl IntoView {
    let title = if is_first {
        "Name your first agent"
    } else {
        "A new agent"
    };
    view! {
        <section class="part" aria-labelledby="new-agent">
            <h2 id="new-agent">{title}</h2>
            <form class="stack" method="post" action="/agents">
                <FormError form=form.clone() fields=&["name", "scope", "expires_days"] />
                <Field
                    form=form.clone()
                    name="name"
                    label="Name"
                    hint="The program, and where it runs: claude-code on the laptop."
                    autocomplete="off"
                    maxlength="64"
                />
                <TokenChoices form prefix="agent".to_owned() />
                <div>
                    <button class="primary" type="submit">
                        "Make agent and token"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}
