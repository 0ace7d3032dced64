//! The switches of memory: for a person's agents together (Account), and for one
//! of them (Agents). They touch what agents may do, never what is remembered.

use axum::extract::{Path, RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};

use super::{Form, failed, parse_id, unknown_action};
use crate::accounts::AgentId;
use crate::web::AppState;
use crate::web::auth::{SignedIn, Visitor};
use crate::web::error::Problem;
use crate::web::pages::after_form;

const FORM: &str = "memory";

pub async fn of_user(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt: Result<(), Problem> = async {
        let user = signed_in.0.id;
        Ok(state
            .accounts
            .switch_user_memory(user, wants_on(&form)?)
            .await?)
    }
    .await;
    respond(&state, signed_in, "/account", &form, attempt).await
}

pub async fn of_agent(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt: Result<(), Problem> = async {
        let (user, agent) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        Ok(state
            .accounts
            .switch_agent_memory(user, agent, wants_on(&form)?)
            .await?)
    }
    .await;
    respond(&state, signed_in, "/agents", &form, attempt).await
}

fn wants_on(form: &Form) -> Result<bool, Problem> {
    match form.get("action") {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(unknown_action()),
    }
}

async fn respond(
    state: &AppState,
    signed_in: SignedIn,
    path: &'static str,
    form: &Form,
    attempt: Result<(), Problem>,
) -> Response {
    match attempt {
        Ok(()) => Redirect::to(path).into_response(),
        Err(problem) => {
            let (status, outcome) = failed(FORM, form, problem);
            after_form(state, Visitor::SignedIn(signed_in), path, outcome, status).await
        }
    }
}
