//! The forms of teams: add, invite or remove a member, accept an invitation, leave a team.

use app::view::FormState;
use axum::extract::{Path, RawForm, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::{Form, again, agents_page, failed, parse_id, unknown_action};
use crate::accounts::teams::MembershipId;
use crate::accounts::{AccountError, AgentId, LinkToken};
use crate::web::AppState;
use crate::web::auth::{SignedIn, Visitor};
use crate::web::error::Problem;

const FORM: &str = "team";

/// For one agent of the person, as the leader or as a member.
pub async fn change(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    body: RawForm,
) -> Response {
    let mut form = Form::parse(&body);
    form.0.push(("agent".to_owned(), agent.clone()));
    let attempt = async {
        let (user, leader) = (signed_in.0.id, AgentId(parse_id(&agent)?));
        let accounts = &state.accounts;
        let told = |done: Option<&str>, new_link| FormState {
            form: FORM.to_owned(),
            done: done.map(str::to_owned),
            new_link,
            values: [("agent".to_owned(), agent.clone())].into(),
            ..FormState::default()
        };
        match form.get("action") {
            "add" => {
                let member = AgentId(parse_id(form.get("member"))?);
                accounts.add_to_team(user, leader, member).await?;
                Ok::<_, Problem>(told(Some("It joins the team with its next call."), None))
            }
            "invite" => {
                let token = accounts.invite_to_team(user, leader).await?;
                let (origin, token) = (state.public_url.origin(), token.reveal());
                // The only response that ever contains the link.
                Ok(told(None, Some(format!("{origin}/team/{token}"))))
            }
            "take_back" => {
                accounts.take_invitations_back(user, leader).await?;
                Ok(told(Some("The open invitations were revoked."), None))
            }
            "leave" => {
                let tie = MembershipId(parse_id(form.get("tie"))?);
                accounts.leave_team(user, leader, tie).await?;
                Ok(told(
                    Some("Ended: nothing more is read through this."),
                    None,
                ))
            }
            _ => Err(unknown_action()),
        }
    };
    let (status, outcome) = match attempt.await {
        Ok(page) => (StatusCode::OK, page),
        Err(problem) => failed(FORM, &form, problem),
    };
    agents_page(&state, signed_in, status, outcome).await
}

/// An invited person has chosen the agent that joins.
pub async fn join(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(token): Path<String>,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let token = LinkToken::parse(&token);
    let attempt = async {
        let token = token.as_ref().ok_or(AccountError::InvitationOver)?;
        let member = AgentId(parse_id(form.get("member"))?);
        let accounts = &state.accounts;
        accounts.join_team(signed_in.0.id, token, member).await?;
        Ok::<_, Problem>(member)
    };
    let problem = match attempt.await {
        Ok(AgentId(id)) => return Redirect::to(&format!("/agents#agent-{id}")).into_response(),
        Err(problem) => problem,
    };
    let path = match token {
        Some(token) => format!("/team/{}", token.reveal()),
        None => "/team/unknown".to_owned(),
    };
    let visitor = Visitor::SignedIn(signed_in);
    again(&path, "join", &state, visitor, &form, problem).await
}
