//! The switches of memory: for a person's agents together (Account), for one of them
//! (Agents), with the choice of the tools it is told of, and for the search of what was said (Sessions). They touch what agents may do, never what is remembered.

use axum::extract::{Path, RawForm, State};
use axum::response::Response;

use super::{Form, Outcome, parse_id, respond, unknown_action};
use crate::accounts::AgentId;
use crate::sessions::turns;
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::error::Problem;

const FORM: &str = "memory";
const TOOLS_FORM: &str = "tools";
const TURNS_FORM: &str = "turns";

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

/// Whether what was said in sessions is searched.
pub async fn turns(State(state): State<AppState>, signed_in: SignedIn, body: RawForm) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let user = signed_in.0.id;
        let on = wants_on(&form)?;
        turns::switch(&state.db, user, on, state.clock.now()).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/sessions", TURNS_FORM, &form, outcome).await
}

/// Which tools an agent is told of.
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

fn wants_on(form: &Form) -> Result<bool, Problem> {
    match form.get("action") {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(unknown_action()),
    }
}
