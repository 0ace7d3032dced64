//! The forms of Agents: create an agent, create and revoke its tokens, switch its memory, choose its tools, and
//! change its settings.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use time::format_description::well_known::Rfc3339;

use super::show;
use crate::accounts::{
    AGENT_SETTINGS, AccountError, AgentId, AgentName, AgentSettings, TokenHolder, TokenId,
};
use crate::containment::{self, AgentUndo};
use crate::db::actor;
use crate::forms::{
    ActionForm, Attempt, Field, Form, FormName, FormState, Outcome, Posted, Submission, TokenFields,
};
use crate::forms::{new_token, page, parse_id, respond, unknown_action};
use crate::input::Invalid;
use crate::memories::Period;
use crate::pages::account::post::MemorySwitchForm;
use crate::services::Services;
use crate::tools::ToolError;
use keepsake_edge::AppState;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::SignedIn;

const PATH: &str = "/agents";
const UNDO_FORM: FormName = FormName::AgentUndo;

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
    posted.respond(show, PATH, FormName::Settings, attempt.await).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum UndoForm {
    /// Counts what would be undone.
    Look {
        since: Field,
    },
    Undo {
        since: Field,
    },
    TakeBack,
}

/// Undoes what an agent has changed since a moment. An admin can make it read-only, like all decisions about memories.
pub async fn undo(Posted(mut posted, form): Posted<UndoForm>) -> Response {
    actor::require_open_browser();
    posted.show_id("agent");
    let attempt = undo_or_look(&posted, form).await;
    posted.respond(show, PATH, UNDO_FORM, attempt).await
}

async fn undo_or_look(posted: &Submission, form: Result<UndoForm, Problem>) -> Attempt {
    let (state, user) = (&posted.state, posted.user());
    let agent = AgentId(posted.id()?);
    if !state.accounts.agent_names(user).await?.iter().any(|(id, _)| *id == agent) {
        return Err(AccountError::NotFound.into());
    }
    let Services { db, documents, clock, .. } = &state.for_jobs();
    let since = |text: &str| {
        let zone = &posted.signed_in.0.time_zone;
        let since = Period::parse_as(["since", "since"], zone, Some(text), None)?.from;
        since.ok_or_else(|| {
            Invalid::new("since", "required", "`since` is missing; give a date and a time.")
        })
    };
    let mut values = BTreeMap::from([("agent".to_owned(), agent.0.to_string())]);
    let sentence = match form? {
        UndoForm::Look { since: text } => {
            let since = since(&text)?;
            let found = containment::preview(db, documents, (user, agent), since, clock.now());
            let found = told(&found.await.map_err(ToolError::from)?, false);
            let exact = since.format(&Rfc3339).unwrap_or_default();
            values.extend([("since".to_owned(), (*text).clone()), ("exact".to_owned(), exact)]);
            format!("Undo would {found}")
        }
        UndoForm::Undo { since: text } => {
            let call = posted.begin("memory_undo_agent");
            let undone =
                containment::undo(db, documents, clock, &call, (agent, since(&text)?)).await;
            call.ended_unknown();
            format!("Undone: {}", told(&undone.map_err(ToolError::from)?, true))
        }
        UndoForm::TakeBack => {
            let call = posted.begin("memory_undo_agent");
            let taken = containment::redo(db, documents, clock, &call, agent).await;
            call.ended_unknown();
            match taken.map_err(ToolError::from)? {
                Some(taken) => format!("Taken back: {}", told(&taken, true)),
                None => "There is nothing to take back.".to_owned(),
            }
        }
    };
    Ok(Outcome::from(FormState { done: Some(sentence), values, ..page(UNDO_FORM) }))
}

/// "archive 3 memories, restore 1 document." or, done, "archived 3 memories …".
fn told(undo: &AgentUndo, is_done: bool) -> String {
    let count = |n: usize, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let mut told = Vec::new();
    let mut stay = 0;
    for (one, many, taken) in
        [("memory", "memories", undo.memories), ("document", "documents", undo.documents)]
    {
        for ((now, past), n) in [
            (("archive", "archived"), taken.archived),
            (("restore", "restored"), taken.restored),
            (("set back", "set back"), taken.set_back),
        ] {
            let verb = if is_done { past } else { now };
            told.extend(count(n, one, many).map(|n| format!("{verb} {n}")));
        }
        stay += taken.stay;
    }
    let told = match told.is_empty() {
        true => (if is_done { "nothing" } else { "change nothing" }).to_owned(),
        false => told.join(", "),
    };
    match stay {
        0 => format!("{told}."),
        1 => format!(
            "{told}. 1 stays as it is: changed since by somebody else, or what it was is not known."
        ),
        n => format!(
            "{told}. {n} stay as they are: changed since by somebody else, or what they were is not known."
        ),
    }
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
