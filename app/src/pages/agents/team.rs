//! An agent's team: whose it is in, who is in its own, and the forms that begin and end both.

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;

use super::{PATH, show};
use crate::accounts::AgentId;
use crate::accounts::model::{Agent, TokenRecord};
use crate::accounts::teams::{Membership, MembershipId, Teams};
use crate::components::{FormError, Paste, When, count};
use crate::forms::{Field, FormName, FormState, Outcome, Posted, page, parse_id};

/// Of one agent, as a leader and as a member.
#[derive(Clone)]
pub struct AgentTeam {
    leader: Option<Membership>,
    members: Vec<Membership>,
    /// Links to its team that can still be used.
    invitations: i64,
    /// Memories that it keeps for itself, which members read.
    own_count: i64,
    /// Agents of the same person that could join.
    candidates: Vec<(AgentId, String)>,
    /// Its members write nothing, in their own memory neither.
    is_read_only: bool,
}

impl AgentTeam {
    pub fn of(agent: AgentId, teams: &Teams, agents: &[(Agent, Vec<TokenRecord>)]) -> Self {
        let ties = || teams.memberships.iter().filter(|tie| tie.agent == agent);
        let is_member =
            |agent: AgentId| teams.memberships.iter().any(|tie| !tie.leads && tie.agent == agent);
        let count = |counts: &[(AgentId, i64)]| {
            let found = counts.iter().find(|(of, _)| *of == agent);
            found.map_or(0, |(_, n)| *n)
        };
        let others = agents.iter().map(|(other, _)| other).filter(|other| other.id != agent);
        Self {
            leader: ties().find(|tie| !tie.leads).cloned(),
            members: ties().filter(|tie| tie.leads).cloned().collect(),
            invitations: count(&teams.invitations),
            own_count: count(&teams.own),
            candidates: others
                .filter(|other| !is_member(other.id))
                .map(|other| (other.id, other.name.clone()))
                .collect(),
            is_read_only: teams.read_only.contains(&agent),
        }
    }
}

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
            ..page(FormName::Team)
        }))
    };
    posted.respond(show, PATH, FormName::Team, attempt.await).await
}

#[component]
pub fn Team(
    /// Of the agent.
    id: i64,
    name: String,
    team: AgentTeam,
    form: FormState,
) -> impl IntoView {
    let is_open = form.error.is_some() || form.new_link.is_some() || form.done.is_some();
    let path = format!("/agents/{id}/team");
    let told = match (&team.leader, team.members.len()) {
        (Some(leader), 0) => format!("member of {}'s team", leader.other),
        (Some(leader), n) => format!("member of {}'s team, and leads {n}", leader.other),
        (None, 0) => "none".to_owned(),
        (None, 1) => "leads 1".to_owned(),
        (None, n) => format!("leads {n}"),
    };
    let link = form.new_link.clone().map(|link| {
        view! {
            <p>
                <strong>"Copy this link now."</strong>
                " It is shown only once. The person who opens it chooses one of their agents, which joins. It works once, within 7 days."
            </p>
            <Paste caption="Invitation" text=link />
        }
    });
    let leader = team.leader.map(|leader| {
        let read_only = leader.is_read_only.then_some(
            " The team is read-only: your agent cannot write, not even to its own memory.",
        );
        view! {
            <p>
                "It can find and read the own memories of " {mate(&leader)} ", since " <When at=leader.since /> "." {read_only}
            </p>
            <form method="post" action=path.clone()>
                <input type="hidden" name="tie" value=leader.id.0 />
                <button type="submit" name="action" value="leave">"Leave this team"</button>
            </form>
        }
    });
    let is_first = team.members.is_empty();
    let (told_writes, action, label) = match team.is_read_only {
        true => {
            ("Members cannot write, not even to their own memory.", "writable", "Let members write")
        }
        false => ("Members can write to their own memory.", "read_only", "Make members read-only"),
    };
    let writes = (!is_first || team.invitations > 0 || team.is_read_only).then(|| {
        view! {
            <form class="switch" method="post" action=path.clone()>
                <span>{told_writes}</span>
                <button type="submit" name="action" value=action>{label}</button>
            </form>
        }
    });
    let members = team.members.into_iter().map(|member| {
        view! {
            <li>
                <span>{mate(&member)} <span class="hint">", since " <When at=member.since /></span></span>
                <form method="post" action=path.clone()>
                    <input type="hidden" name="tie" value=member.id.0 />
                    <button type="submit" name="action" value="leave">
                        "Remove" <span class="visually-hidden">" " {member.other.clone()} " from the team of " {name.clone()}</span>
                    </button>
                </form>
            </li>
        }
    });
    let members = members.collect_view();
    let lends = match team.own_count {
        0 => "It has no memories of its own yet.".to_owned(),
        1 => "It has 1 memory of its own.".to_owned(),
        n => format!("It has {} memories of its own.", count(n)),
    };
    let add = (!team.candidates.is_empty()).then(|| {
        let candidates = team.candidates.into_iter();
        let options = candidates.map(|(AgentId(id), name)| view! { <option value=id>{name}</option> });
        view! {
            <form class="stack" method="post" action=path.clone()>
                <div class="field">
                    <label for=format!("team-{id}-member")>"Another of your agents"</label>
                    <select id=format!("team-{id}-member") name="member">{options.collect_view()}</select>
                </div>
                <div>
                    <button type="submit" name="action" value="add">"Add to the team"</button>
                </div>
            </form>
        }
    });
    let take_back = (team.invitations > 0).then(|| {
        let open = match team.invitations {
            1 => "1 invitation is open.".to_owned(),
            n => format!("{n} invitations are open."),
        };
        view! {
            <form class="switch" method="post" action=path.clone()>
                <span>{open}</span>
                <button type="submit" name="action" value="take_back">"Revoke"</button>
            </form>
        }
    });
    view! {
        <details class="fold" open=is_open>
            <summary>
                "Team" <span class="visually-hidden">" of " {name.clone()}</span> <span class="hint">": " {told}</span>
            </summary>
            <FormError form=form fields=&[] />
            {link}
            {leader}
            <p class="hint">
                "Members can find and read this agent's own memories. They cannot change them, and see nothing that your agents share. "
                {lends} {is_first.then_some(" With the first member or invitation, its new memories become its own (own_first).")}
            </p>
            <ul class="team">{members}</ul>
            {writes}
            {add}
            {take_back}
            <form method="post" action=path>
                <button type="submit" name="action" value="invite">"Invite another person's agent"</button>
            </form>
        </details>
    }
    .into_any()
}

/// "lead of anna@example.com"
fn mate(mate: &Membership) -> impl IntoView + use<> {
    let person = mate.person.clone().map(|person| view! { " of " <bdi>{person}</bdi> });
    view! { <bdi><strong>{mate.other.clone()}</strong></bdi> {person} }
}
