//! The switches of memory: for all agents of a person (Account), for one agent (Agents), with its tool
//! profile, and for the search of messages (Sessions). They change what agents may do, never what is stored.

use axum::extract::{Path, RawForm, State};
use axum::response::Response;
use serde_json::Value;

use super::{Form, Outcome, done, parse_id, respond, unknown_action};
use crate::accounts::{AGENT_SETTINGS, AgentId, AgentSettings};
use crate::input::Invalid;
use crate::sessions::lifetimes::{self, Lifetimes};
use crate::sessions::turns;
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;

const FORM: &str = "memory";
const TOOLS_FORM: &str = "tools";
const SETTINGS_FORM: &str = "settings";
const TURNS_FORM: &str = "turns";
const LIFETIMES_FORM: &str = "lifetimes";

pub async fn of_user(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let user = signed_in.0.id;
        let on = wants_on(&form)?;
        state.accounts.switch_user_memory(user, on).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/account", FORM, &form, outcome).await
}

pub async fn of_agent(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        let on = wants_on(&form)?;
        state.accounts.switch_agent_memory(user, agent, on).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/agents", FORM, &form, outcome).await
}

/// Whether messages are searchable, and how long turns and episodes are kept.
pub async fn turns(State(state): State<AppState>, signed_in: SignedIn, body: RawForm) -> Response {
    let form = Form::parse(&body);
    let (user, now) = (signed_in.0.id, state.clock.now());
    let name = match form.get("action") {
        LIFETIMES_FORM => LIFETIMES_FORM,
        _ => TURNS_FORM,
    };
    let attempt = async {
        if name == LIFETIMES_FORM {
            let chosen = Lifetimes::parse(form.get("episode_days"), form.get("turn_days"))?;
            lifetimes::set(&state.db, user, chosen, now).await?;
            return Ok(done(name, "Saved."));
        }
        turns::switch(&state.db, user, wants_on(&form)?, now).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/sessions", name, &form, outcome).await
}

/// The tool profile of an agent.
pub async fn tools_of_agent(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        let profile = form.get("action").parse().map_err(|_| unknown_action())?;
        let accounts = &state.accounts;
        accounts.choose_agent_tools(user, agent, profile).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/agents", TOOLS_FORM, &form, outcome).await
}

/// The settings of one agent: as form fields, where an empty one means the default, or as one JSON document.
pub async fn settings_of_agent(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    body: RawForm,
) -> Response {
    let mut form = Form::parse(&body);
    form.0.push(("agent".to_owned(), agent.clone()));
    let attempt = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        let document = match form.get("action") {
            "document" => serde_json::from_str(form.get("document")).map_err(|_| {
                Invalid::new(
                    "document",
                    "invalid_settings",
                    "The settings are a JSON object.",
                )
            })?,
            _ => document_of(&form),
        };
        let settings = AgentSettings::parse(&document)?;
        let accounts = &state.accounts;
        accounts.set_agent_settings(user, agent, &settings).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/agents", SETTINGS_FORM, &form, outcome).await
}

/// Anything but a number, on and off stays text, and is refused by the validation.
fn document_of(form: &Form) -> Value {
    let fields = AGENT_SETTINGS.into_iter().filter_map(|name| {
        let text = form.get(name).trim();
        let value = match text {
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

fn wants_on(form: &Form) -> Result<bool, Problem> {
    match form.get("action") {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(unknown_action()),
    }
}
