//! A program asks to use the memory (OAuth): who it is, where the answer goes, what it may do, and as which agent. Saying no
//! is as easy as saying yes.

use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::error::Problem;
use keepsake_edge::headers::let_forms_leave;
use keepsake_edge::oauth::{AUTHORIZE, AuthorizationRefusal};
use leptos::prelude::*;
use serde::Deserialize;

use crate::accounts::model::{AGENT_NAME_CHARS_MAX, AGENTS_PER_USER_MAX};
use crate::accounts::oauth::{AuthorizationRequest, ChosenAgent, Consent, parse_granted};
use crate::accounts::{AgentId, AgentName, ToolProfile};
use crate::components::{self, FieldError, FormError, SCOPES, Section, ToolSelect};
use crate::forms::{Field, FormName, FormState, Posted, parse_id};
use crate::input::Invalid;
use crate::islands::AllowSoon;
use crate::page::{Page, account_error};

/// The value of a choice of agent that makes a new one.
const NEW_AGENT: &str = "new";

/// Why nobody is asked.
#[derive(Clone)]
struct RefusedConsent {
    sentence: String,
    /// The program's host, and its address, which tells it why.
    back: Option<(String, String)>,
}

pub async fn show(page: Page) -> Response {
    let user = page.viewer.user_id;
    let (status, found) = match page.state.authorization_request(user, page.query()).await {
        Ok(request) => {
            let agents = page.state.accounts.agent_names(user).await.map_err(account_error);
            (StatusCode::OK, agents.map(|agents| Ok((request, agents))))
        }
        Err(AuthorizationRefusal::SentBack(address)) => {
            return Redirect::to(&address).into_response();
        }
        Err(refusal) => (status_of(&refusal), Ok(Err(refused_consent(refusal)))),
    };
    let form = page.form.of(FormName::Consent);
    let href = format!("{AUTHORIZE}?{}", page.query());
    let path = href.clone();
    let shown = page.render(Section::Agents, "Connect a program", href, found, move |found| {
        let body = match found {
            Ok((request, agents)) => question(request, agents, path.clone(), &form).into_any(),
            Err(why) => refused(why).into_any(),
        };
        view! { <div class="page">{body}</div> }.into_any()
    });
    let mut response = shown.await;
    let_forms_leave(&mut response);
    // Otherwise the page says why it could not be made.
    if response.status() == StatusCode::OK {
        *response.status_mut() = status;
    }
    response
}

fn status_of(refusal: &AuthorizationRefusal) -> StatusCode {
    match refusal {
        AuthorizationRefusal::Problem(problem) => problem.status,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn refused_consent(refusal: AuthorizationRefusal) -> RefusedConsent {
    let (sentence, back) = match refusal {
        AuthorizationRefusal::Shown(sentence) => (sentence.to_owned(), None),
        AuthorizationRefusal::Problem(problem) => (problem.detail, None),
        AuthorizationRefusal::Linked(error) => (
            // Programs get it with marks around the names of parameters.
            format!("The program's request is not valid: {}.", error.description.replace('`', "")),
            Some((error.host, error.address)),
        ),
        // The handler has sent the browser back already.
        AuthorizationRefusal::SentBack(_) => {
            ("The program's request is not valid.".to_owned(), None)
        }
    };
    RefusedConsent { sentence, back }
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ConsentForm {
    Allow { agent: Field, name: Field, scope: Field, tools: Field },
    Deny,
}

pub async fn decide(
    RawQuery(query): RawQuery,
    Posted(posted, form): Posted<ConsentForm>,
) -> Response {
    let query = query.unwrap_or_default();
    let (state, path) = (&posted.state, format!("{AUTHORIZE}?{query}"));
    let issuer = state.public_url.as_str();
    let request = match state.authorization_request(posted.user(), &query).await {
        Ok(request) => request,
        Err(AuthorizationRefusal::SentBack(address)) => {
            return Redirect::to(&address).into_response();
        }
        Err(_) => {
            let form = FormState::default();
            return show(Page::new(state, posted.signed_in.clone(), form, &path)).await;
        }
    };
    let attempt = async {
        let consent = match form? {
            ConsentForm::Deny => return Ok(request.denied(issuer)),
            ConsentForm::Allow { agent, name, scope, tools } => Consent {
                agent: match agent.as_str() {
                    NEW_AGENT => ChosenAgent::New(AgentName::parse(&name)?),
                    id => ChosenAgent::Existing(AgentId(parse_id(id)?)),
                },
                scopes: parse_granted(&scope, &request.scopes)?,
                profile: parse_tools(&tools)?,
            },
        };
        if consent.scopes.is_empty() {
            let sentence = "Choose at least one permission, or press Deny.";
            return Err(Invalid::new("scope", "required", sentence).into());
        }
        let accounts = &state.accounts;
        let code = accounts.allow_client(posted.user(), &request, &consent).await?;
        Ok::<_, Problem>(request.accepted(&code.reveal(), issuer))
    };
    match attempt.await {
        Ok(address) => Redirect::to(&address).into_response(),
        Err(problem) => posted.respond(show, &path, FormName::Consent, Err(problem)).await,
    }
}

/// Empty: nothing was chosen.
fn parse_tools(profile: &str) -> Result<Option<ToolProfile>, Invalid> {
    let chosen = Some(profile).filter(|profile| !profile.is_empty());
    let parsed = chosen.map(str::parse).transpose();
    parsed.map_err(|_| {
        let sentence = "Choose one of the lists of tools.";
        Invalid::new("tools", "invalid_profile", sentence)
    })
}

fn question(
    request: AuthorizationRequest,
    agents: Vec<(AgentId, String)>,
    path: String,
    form: &FormState,
) -> impl IntoView + use<> {
    // A program on the person's own machine gets the answer, whichever listens there.
    let is_local = request.redirect_uri.is_local();
    let client = request.client.name.clone();
    let known_by = match request.client.document_host.clone() {
        Some(host) => view! {
            <li>
                "It is described at " <bdi><strong>{host}</strong></bdi>
                {match is_local {
                    true => ". Any program on your machine can use this description: go on only if you have just connected it yourself.",
                    false => ", and only who controls that address can use this description.",
                }}
            </li>
        }
        .into_any(),
        None => view! {
            <li>
                "Its name is " <strong>"unverified"</strong>
                ": any program can call itself so. Go on only if you have just connected it yourself."
            </li>
        }
        .into_any(),
    };
    let to = request.redirect_uri.shown();
    let answer = match is_local {
        true => view! {
            <li>
                "Access is handed to a program on your own machine: "
                <bdi><strong>{to}</strong></bdi> "."
            </li>
        }
        .into_any(),
        false => view! {
            <li>"Access is handed to " <bdi><strong>{to}</strong></bdi> "."</li>
        }
        .into_any(),
    };
    let scopes = permissions(&request, form);
    let is_taken = |name: &str| agents.iter().any(|(_, taken)| taken == name);
    let new_name = suggested_name(&client, is_taken);
    let agents = choice_of_agent(agents, new_name, form);
    let suggested = request.suggested_profile().as_str();
    view! {
        <h1>"Connect " <bdi>{client.clone()}</bdi></h1>
        <p class="lead">
            <bdi>{client}</bdi> " asks to use your memory as one of your agents."
        </p>
        <ul class="points">
            {answer}
            {known_by}
            <li>
                "It can use the tools of MCP and nothing else. You can revoke this at any time on the page Agents & tokens."
            </li>
        </ul>
        <form class="stack" method="post" action=path>
            <FormError form=form.clone() fields=&["name", "scope", "tools"] />
            {scopes}
            {agents}
            <ToolSelect form=form.clone() suggested />
            <div class="actions">
                <AllowSoon />
                <noscript>
                    <button class="primary" type="submit" name="action" value="allow">"Allow"</button>
                </noscript>
                <button type="submit" name="action" value="deny" formnovalidate>"Deny"</button>
            </div>
        </form>
    }
    .into_any()
}

/// Who is not known for sure reads, unless the person ticks more.
fn permissions(request: &AuthorizationRequest, form: &FormState) -> impl IntoView + use<> {
    let is_verified = request.client.document_host.is_some();
    let chosen = form.value("scope");
    let is_untouched = form.values.is_empty();
    let error = form.error_of("scope");
    let described_by = error.is_some().then_some("consent-scope-error");
    let scopes = SCOPES.into_iter();
    let scopes =
        scopes.filter(|(name, _)| request.scopes.iter().any(|scope| scope.as_str() == *name));
    let scopes = scopes.map(|(scope, meaning)| {
        let is_offered = is_untouched && (is_verified || scope == "memory:read");
        let is_chosen = is_offered || chosen.split(' ').any(|one| one == scope);
        view! {
            <label class="check">
                <input type="checkbox" name="scope" value=scope checked=is_chosen />
                <span>{meaning} " " <code>{scope}</code></span>
            </label>
        }
    });
    let scopes = scopes.collect_view();
    view! {
        <fieldset class="field" aria-describedby=described_by>
            <legend>"Permissions"</legend>
            {scopes}
            <FieldError id="consent-scope-error".to_owned() error />
        </fieldset>
    }
    .into_any()
}

fn choice_of_agent(
    agents: Vec<(AgentId, String)>,
    suggested: String,
    form: &FormState,
) -> impl IntoView + use<> {
    let chosen = form.value("agent");
    let options = agents.into_iter().map(|(AgentId(id), name)| {
        view! { <option value=id selected=chosen == id.to_string()>{name}</option> }
    });
    let options = options.collect_view();
    let mut form = form.clone();
    if form.values.is_empty() {
        form.values.insert("name".to_owned(), suggested);
    }
    view! {
        <div class="field">
            <label for="consent-agent">"Agent"</label>
            <p class="hint">"As which agent it reads and writes. An agent's settings and team apply to it."</p>
            <select id="consent-agent" name="agent">
                <option value=NEW_AGENT>"a new agent"</option>
                {options}
            </select>
        </div>
        <components::Field
            form
            name="name"
            label="Name of the new agent"
            hint="Only used with a new agent."
            autocomplete="off"
            maxlength="64"
            optional=true
        />
    }
    .into_any()
}

fn refused(why: RefusedConsent) -> impl IntoView {
    let back = why.back.map(|(host, address)| {
        view! {
            <p>
                <a href=address rel="noreferrer">"Tell " <bdi>{host}</bdi> " what is wrong"</a>
                ", if you have come from there."
            </p>
        }
    });
    view! {
        <h1>"This program cannot be connected"</h1>
        <p class="lead">{why.sentence}</p>
        <p>"Nothing was allowed, and nothing was sent to the program."</p>
        {back}
        <p><a href="/agents">"Agents & tokens"</a></p>
    }
    .into_any()
}

/// The client's name, with a number if an agent has it already. Empty if none is free.
fn suggested_name(client: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let cut = |length: usize| client.chars().take(length).collect::<String>();
    let numbered = (2..=AGENTS_PER_USER_MAX + 2).map(|n| {
        let end = format!(" {n}");
        cut(AGENT_NAME_CHARS_MAX - end.len()) + &end
    });
    let mut names = std::iter::once(cut(AGENT_NAME_CHARS_MAX)).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_name_is_suggested_however_long_the_clients_is() {
        assert_eq!(suggested_name("Claude", |_| false), "Claude");
        let taken = ["Claude", "Claude 2"];
        assert_eq!(suggested_name("Claude", |name| taken.contains(&name)), "Claude 3");
        let long = "n".repeat(80);
        assert_eq!(suggested_name(&long, |_| false), "n".repeat(64));
        let second = suggested_name(&long, |name| name == "n".repeat(64));
        assert_eq!(second, "n".repeat(62) + " 2");
        assert_eq!(suggested_name(&long, |_| true), "");
    }
}
