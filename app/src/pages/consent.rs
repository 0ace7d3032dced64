//! A program asks to use the memory (OAuth): who it is, where the answer goes, what it may do, and as which agent. Saying no
//! is as easy as saying yes.

pub mod load;
pub mod post;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::headers::let_forms_leave;
use keepsake_edge::oauth::{AUTHORIZE, AuthorizationRefusal};
use leptos::prelude::*;

use crate::components::{Field, FieldError, FormError, SCOPES, Section, ToolSelect};
use crate::forms::{FormName, FormState};
use crate::islands::AllowSoon;
use crate::page::{Page, account_error};
use crate::view::{ConsentPage, ConsentView, RefusedConsent};

/// The value of a choice of agent that makes a new one.
const NEW_AGENT: &str = "new";

pub async fn show(page: Page) -> Response {
    let checked = page.state.authorization_request(page.viewer.user_id, page.query()).await;
    let status = match checked {
        Ok(_) => StatusCode::OK,
        Err(AuthorizationRefusal::SentBack(address)) => {
            return Redirect::to(&address).into_response();
        }
        Err(refusal) => post::status_of(&refusal),
    };
    let form = page.form.of(FormName::Consent);
    let found = page.consent_view(page.viewer.user_id, page.query()).await.map_err(account_error);
    let href = format!("{AUTHORIZE}?{}", page.query());
    let shown = page.render(Section::Agents, "Connect a program", href, found, move |page| {
        let body = match page {
            ConsentPage::Asks(asked) => asks(*asked, form.clone()).into_any(),
            ConsentPage::Refused(why) => refused(why).into_any(),
        };
        view! { <div class="page">{body}</div> }.into_any()
    });
    let mut response = shown.await;
    let_forms_leave(&mut response);
    *response.status_mut() = status;
    response
}

fn asks(asked: ConsentView, form: FormState) -> impl IntoView {
    let path = format!("/oauth/authorize?{}", asked.query);
    let known_by = match asked.document_host.clone() {
        Some(host) => view! {
            <li>
                "It is described at " <bdi><strong>{host}</strong></bdi>
                {match asked.answer_is_local {
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
    let to = asked.answer_to.clone();
    let answer = match asked.answer_is_local {
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
    let scopes = permissions(&asked.scopes, asked.document_host.is_some(), &form);
    let agents = choice_of_agent(asked.agents, asked.suggested_name, &form);
    let (tools_form, suggested) = (form.clone(), asked.suggested_tools);
    view! {
        <h1>"Connect " <bdi>{asked.client.clone()}</bdi></h1>
        <p class="lead">
            <bdi>{asked.client}</bdi> " asks to use your memory as one of your agents."
        </p>
        <ul class="points">
            {answer}
            {known_by}
            <li>
                "It can use the tools of MCP and nothing else. You can revoke this at any time on the page Agents & tokens."
            </li>
        </ul>
        <form class="stack" method="post" action=path>
            <FormError form=form fields=&["name", "scope", "tools"] />
            {scopes}
            {agents}
            <ToolSelect form=tools_form suggested />
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
fn permissions(
    asked: &[&'static str],
    is_verified: bool,
    form: &FormState,
) -> impl IntoView + use<> {
    let chosen = form.value("scope").to_owned();
    let is_untouched = form.values.is_empty();
    let error = form.error_of("scope");
    let described_by = error.is_some().then_some("consent-scope-error");
    let scopes = SCOPES.into_iter().filter(|(scope, _)| asked.contains(scope));
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
    agents: Vec<(i64, String)>,
    suggested: String,
    form: &FormState,
) -> impl IntoView + use<> {
    let chosen = form.value("agent").to_owned();
    let options = agents.into_iter().map(|(id, name)| {
        view! { <option value=id selected=chosen == id.to_string()>{name}</option> }
    });
    let options = options.collect_view();
    let mut form = form.clone();
    if form.values.is_empty() {
        form.values.insert("name".to_owned(), suggested);
    }
    form.form = Some(FormName::Consent);
    view! {
        <div class="field">
            <label for="consent-agent">"Agent"</label>
            <p class="hint">"As which agent it reads and writes. An agent's settings and team apply to it."</p>
            <select id="consent-agent" name="agent">
                <option value=NEW_AGENT>"a new agent"</option>
                {options}
            </select>
        </div>
        <Field
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
