//! The page on which a person answers a client's request: what they see, and what they choose. The request stands in the
//! address of both, and is read and checked again with the answer.

use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::show;
use crate::accounts::oauth::{ChosenAgent, Consent, parse_granted};
use crate::accounts::{AgentId, AgentName, ToolProfile};
use crate::forms::{Field, FormName, FormState, Posted, parse_id};
use crate::input::Invalid;
use crate::page::Page;
use keepsake_edge::error::Problem;
use keepsake_edge::oauth::{AUTHORIZE, AuthorizationRefusal};

const FORM: FormName = FormName::Consent;
/// The value of `agent` for one that is to be created.
const NEW_AGENT: &str = "new";

/// Empty: nothing was chosen.
fn parse_tools(profile: &str) -> Result<Option<ToolProfile>, Invalid> {
    let chosen = Some(profile).filter(|profile| !profile.is_empty());
    let parsed = chosen.map(str::parse).transpose();
    parsed.map_err(|_| {
        let sentence = "Choose one of the lists of tools.";
        Invalid::new("tools", "invalid_profile", sentence)
    })
}

pub fn status_of(refusal: &AuthorizationRefusal) -> StatusCode {
    match refusal {
        AuthorizationRefusal::Problem(problem) => problem.status,
        _ => StatusCode::BAD_REQUEST,
    }
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
        Err(problem) => posted.respond(show, &path, FORM, Err(problem)).await,
    }
}
