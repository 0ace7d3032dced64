//! The forms of Agents: create an agent, create and revoke its tokens, switch its memory, choose its tools, and
//! change its settings.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::account::MemorySwitchForm;
use super::{ActionForm, Field, Form, Outcome, Posted, TokenFields, new_token, parse_id};
use super::{respond, unknown_action};
use crate::accounts::{AGENT_SETTINGS, AgentId, AgentName, AgentSettings, TokenHolder, TokenId};
use crate::input::Invalid;
use crate::web::AppState;
use crate::web::visitor::SignedIn;

const PATH: &str = "/agents";

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
        Ok(new_token("agent", name.as_str().to_owned(), token))
    };
    posted.respond(PATH, "agent", attempt.await).await
}

pub async fn create_token(Posted(mut posted, form): Posted<TokenFields>) -> Response {
    posted.show_id("agent");
    let attempt = async {
        let holder = TokenHolder::Agent(posted.user(), AgentId(posted.id()?));
        let (accounts, wish) = (&posted.state.accounts, form?.wish()?);
        let (name, token) = accounts.create_token(holder, &wish).await?;
        Ok(new_token("token", name, token))
    };
    posted.respond(PATH, "token", attempt.await).await
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
    respond(&state, signed_in, PATH, "revoke", &fields, outcome).await
}

pub async fn switch_memory(Posted(posted, form): Posted<MemorySwitchForm>) -> Response {
    let attempt = async {
        let (user, agent) = (posted.user(), AgentId(posted.id()?));
        let on = matches!(form?, MemorySwitchForm::On);
        let accounts = &posted.state.accounts;
        accounts.switch_agent_memory(user, agent, on).await?;
        Ok(Outcome::Redirect)
    };
    posted.respond(PATH, "memory", attempt.await).await
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
    posted.respond(PATH, "tools", attempt.await).await
}

/// All settings: by name, where an empty one means the default, or as one JSON document.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum AgentSettingsForm {
    Save(BTreeMap<String, String>),
    Document { document: Field },
}

pub async fn change_settings(Posted(mut posted, form): Posted<AgentSettingsForm>) -> Response {
    posted.show_id("agent");
    let attempt = async {
        let (user, agent) = (posted.user(), AgentId(posted.id()?));
        let document = match form? {
            AgentSettingsForm::Save(settings) => document_of(&settings),
            AgentSettingsForm::Document { document } => {
                serde_json::from_str(&document).map_err(|_| {
                    let sentence = "The settings are a JSON object.";
                    Invalid::new("document", "invalid_settings", sentence)
                })?
            }
        };
        let settings = AgentSettings::parse(&document)?;
        let accounts = &posted.state.accounts;
        accounts.set_agent_settings(user, agent, &settings).await?;
        Ok(Outcome::Redirect)
    };
    posted.respond(PATH, "settings", attempt.await).await
}

/// Anything but a number, on and off stays text, and is refused by the validation.
fn document_of(settings: &BTreeMap<String, String>) -> Value {
    let fields = AGENT_SETTINGS.into_iter().filter_map(|name| {
        let value = match settings.get(name)?.trim() {
            "" => return None,
            "on" => Value::Bool(true),
            "off" => Value::Bool(false),
            text => serde_json::from_str::<serde_json::Number>(text)
                .map_or_else(|_| text.into(), Value::Number),
        };
        Some((name.to_owned(), value))
    });
    Value::Object(fields.collect())
}
