//! Where an invitation to a team leads: who invites, what joining means, and which agent is to join. Whoever opens it is signed
//! in.

use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use super::link::{INVITATION_OVER, path_of, unusable};
use crate::accounts::teams::InvitationSender;
use crate::accounts::{AccountError, AgentId, LinkToken};
use crate::components::{FormError, Section};
use crate::forms::{Field, FormName, FormState, Posted, parse_id};
use crate::page::{Page, account_error};

const PAGE: &str = "/team";

pub async fn show(page: Page) -> Response {
    let form = page.form.of(FormName::Join);
    let path = format!("{PAGE}/{}", page.id());
    let found = load(&page).await.map_err(account_error);
    page.render(Section::Agents, "Join a team", path.clone(), found, move |found| {
        let body = match found {
            Some((sender, agents)) => {
                invitation(sender, agents, form.clone(), path.clone()).into_any()
            }
            None => unusable(INVITATION_OVER, ("/agents", "Agents & tokens")),
        };
        view! { <div class="page">{body}</div> }.into_any()
    })
    .await
}

/// Who invites, and the agents of the person who has opened the link.
async fn load(
    page: &Page,
) -> Result<Option<(InvitationSender, Vec<(AgentId, String)>)>, AccountError> {
    let (accounts, user) = (&page.state.accounts, page.viewer.user_id);
    let Some(token) = LinkToken::parse(page.id()) else {
        return Ok(None);
    };
    let Some(sender) = accounts.find_team_invitation(user, &token).await? else {
        return Ok(None);
    };
    Ok(Some((sender, accounts.agent_names(user).await?)))
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
    let path = path_of(PAGE, token.as_ref());
    posted.respond(show, &path, FormName::Join, Err(problem)).await
}

fn invitation(
    sender: InvitationSender,
    agents: Vec<(AgentId, String)>,
    form: FormState,
    path: String,
) -> impl IntoView {
    let leader = sender.agent;
    let read_only = sender.is_read_only.then(|| {
        view! {
            <li>"This team is read-only: while your agent is in it, it cannot write, not even to your own memory."</li>
        }
    });
    let inviting = match sender.person {
        Some(person) => {
            view! { <bdi>{person}</bdi> " invites one of your agents to the team of " }.into_any()
        }
        None => view! { "You invite an agent of yours to the team of " }.into_any(),
    };
    let choice = match agents.is_empty() {
        true => view! {
            <p>
                "You have no agent yet. " <a href="/agents">"Create one"</a>
                ", then open this link again. It works for 7 days."
            </p>
        }
        .into_any(),
        false => {
            let chosen = form.value("member");
            let agents = agents.into_iter().map(|(AgentId(id), name)| {
                view! { <option value=id selected=chosen == id.to_string()>{name}</option> }
            });
            view! {
                <form class="stack" method="post" action=path>
                    <FormError form=form fields=&[] />
                    <div class="field">
                        <label for="join-member">"Which agent"</label>
                        <select id="join-member" name="member">{agents.collect_view()}</select>
                    </div>
                    <div>
                        <button class="primary" type="submit">"Join the team"</button>
                    </div>
                </form>
            }
            .into_any()
        }
    };
    view! {
        <h1>"Join a team"</h1>
        <p class="lead">{inviting} <bdi><strong>{leader.clone()}</strong></bdi> "."</p>
        <ul class="points">
            <li>"It can find and read the own memories of " <bdi>{leader.clone()}</bdi> ", ranked after its own. It cannot change them."</li>
            {read_only}
            <li>"The other side sees none of your memories and none of your agent's queries. The Activity of both of you shows that it read something."</li>
            <li>"Memories of the team are marked as written by somebody else."</li>
            <li>"Both of you can end this at any time on the page Agents & tokens. It takes effect at once."</li>
        </ul>
        {choice}
    }
    .into_any()
}
