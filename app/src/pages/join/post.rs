//! The forms of teams: add, invite or remove a member, accept an invitation, leave a team.

use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::show;
use crate::accounts::LinkToken;
use crate::accounts::teams::MembershipId;
use crate::accounts::{AccountError, AgentId};
use crate::forms::{Field, FormName, FormState, Outcome, Posted, page, parse_id};
use crate::pages::agents;
use keepsake_edge::error::Problem;

const FORM: FormName = FormName::Team;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum TeamForm {
    Add { member: Field },
    Invite,
    TakeBack,
    ReadOnly,
    Writable,
    Leave { tie: Field },
}

/// For one agent of the person, as the leader or as a member.
pub async fn change(Posted(mut posted, form): Posted<TeamForm>) -> Response {
    posted.show_id("agent");
    let attempt = async {
        let (user, leader) = (posted.user(), AgentId(posted.id()?));
        let accounts = &posted.state.accounts;
        let mut new_link = None;
        let done = match form? {
            TeamForm::Add { member } => {
                let member = AgentId(parse_id(&member)?);
                accounts.add_to_team(user, leader, member).await?;
                Some("It joins the team with its next call.")
            }
            TeamForm::Invite => {
                let token = accounts.invite_to_team(user, leader).await?;
                let (server, token) = (posted.state.public_url.as_str(), token.reveal());
                // The only response that ever contains the link.
                new_link = Some(format!("{server}/team/{token}"));
                None
            }
            TeamForm::TakeBack => {
                accounts.take_invitations_back(user, leader).await?;
                Some("The open invitations were revoked.")
            }
            TeamForm::ReadOnly => {
                accounts.make_team_read_only(user, leader, true).await?;
                Some("Members cannot write any more.")
            }
            TeamForm::Writable => {
                accounts.make_team_read_only(user, leader, false).await?;
                Some("Members can write to their own memory.")
            }
            TeamForm::Leave { tie } => {
                let tie = MembershipId(parse_id(&tie)?);
                accounts.leave_team(user, leader, tie).await?;
                Some("Ended: nothing more is read through this.")
            }
        };
        Ok(Outcome::from(FormState {
            done: done.map(str::to_owned),
            new_link,
            values: [("agent".to_owned(), posted.id.clone())].into(),
            ..page(FORM)
        }))
    };
    posted.respond(agents::show, "/agents", FORM, attempt.await).await
}

#[derive(Deserialize)]
pub struct JoinForm {
    member: Field,
}

/// An invited person has chosen the agent that joins.
pub async fn join(Posted(posted, form): Posted<JoinForm>) -> Response {
    let token = LinkToken::parse(&posted.id);
    let attempt = async {
        let token = token.as_ref().ok_or(AccountError::InvitationOver)?;
        let member = AgentId(parse_id(&form?.member)?);
        let accounts = &posted.state.accounts;
        accounts.join_team(posted.user(), token, member).await?;
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
    posted.respond(show, &path, FormName::Join, Err(problem)).await
}
