//! The forms of Agents: create an agent, create and revoke its tokens, switch its memory, choose its tools, and
//! change its settings.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::account::MemorySwitchForm;
use super::{Field, Form, Outcome, Posted, TokenFields, new_token, parse_id};
use super::{respond, unknown_action};
use crate::accounts::{AGENT_SETTINGS, AgentId, AgentName, AgentSettings, TokenId};
use crate::input::Invalid;
use crate::web::AppState;
use crate::web::auth::SignedIn;

const PATH: &str = "/agents";
const AGENT_FORM: &str = "agent";
const TOKEN_FORM: &str = "token";
const REVOKE_FORM: &str = "revoke";
const MEMORY_FORM: &str = "memory";
const TOOLS_FORM: &str = "tools";
const SETTINGS_FORM: &str = "settings";

#[derive(Deserialize)]
pub struct NewAgentForm {
    name: Field,
    #[serde(flatten)]
    token: TokenFields,
}

pub async fn create(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<NewAgentForm>,
) -> Response {
    let attempt = async {
        let form = form?;
        let name = AgentName::parse(&form.name)?;
        let (accounts, wish) = (&state.accounts, form.token.wish()?);
        let token = accounts.create_agent(signed_in.0.id, &name, &wish).await?;
        Ok(new_token(AGENT_FORM, name.as_str().to_owned(), token))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, AGENT_FORM, &fields, outcome).await
}

pub async fn create_token(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    Posted(mut fields, form): Posted<TokenFields>,
) -> Response {
    // The page shows the error beside its agent.
    fields.add("agent", &agent);
    let attempt = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        let wish = form?.wish()?;
        let (name, token) = state.accounts.create_token(user, agent, &wish).await?;
        Ok(new_token(TOKEN_FORM, name, token))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, TOKEN_FORM, &fields, outcome).await
}

pub async fn revoke_token(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path((agent, token)): Path<(String, String)>,
) -> Response {
    let attempt = async {
        let (agent, token) = (AgentId(parse_id(&agent)?), TokenId(parse_id(&token)?));
        let accounts = &state.accounts;
        accounts.revoke_token(signed_in.0.id, agent, token).await?;
        Ok(Outcome::Redirect)
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(&state, signed_in, PATH, REVOKE_FORM, &fields, outcome).await
}

pub async fn switch_memory(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    Posted(fields, form): Posted<MemorySwitchForm>,
) -> Response {
    let attempt = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        let on = matches!(form?, MemorySwitchForm::On);
        state.accounts.switch_agent_memory(user, agent, on).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, MEMORY_FORM, &fields, outcome).await
}

/// The action is a tool profile.
#[derive(Deserialize)]
pub struct ToolsForm {
    action: Field,
}

pub async fn choose_tools(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    Posted(fields, form): Posted<ToolsForm>,
) -> Response {
    let attempt = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        let profile = form?.action.parse().map_err(|_| unknown_action())?;
        let accounts = &state.accounts;
        accounts.choose_agent_tools(user, agent, profile).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, TOOLS_FORM, &fields, outcome).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum AgentSettingsForm {
    /// By name; an empty one means the default.
    Save(BTreeMap<String, String>),
    /// All in one JSON document.
    Document { document: Field },
}

pub async fn change_settings(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    Posted(mut fields, form): Posted<AgentSettingsForm>,
) -> Response {
    fields.add("agent", &agent);
    let attempt = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
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
        let accounts = &state.accounts;
        accounts.set_agent_settings(user, agent, &settings).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, SETTINGS_FORM, &fields, outcome).await
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
