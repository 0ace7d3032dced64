//! An agent's team: whose it is in, who is in its own, and the forms that begin and end both.

use leptos::prelude::*;

use super::{FormError, Paste, When, count};
use crate::forms::FormState;
use crate::view::{TeamMate, TeamView};

#[component]
pub fn Team(
    /// Of the agent.
    id: i64,
    name: String,
    team: TeamView,
    form: FormState,
) -> impl IntoView {
    let form = match form.value("agent") == id.to_string() {
        true => form,
        false => FormState::default(),
    };
    let is_open = form.error.is_some() || form.new_link.is_some() || form.done.is_some();
    let path = format!("/agents/{id}/team");
    let told = match (&team.leader, team.members.len()) {
        (Some(leader), 0) => format!("member of {}'s team", leader.agent),
        (Some(leader), n) => format!("member of {}'s team, and leads {n}", leader.agent),
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
                "It can find and read the own memories of " {mate(&leader)} ", since " <When at=leader.since.clone() /> "." {read_only}
            </p>
            <form method="post" action=path.clone()>
                <input type="hidden" name="tie" value=leader.id />
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
                <span>{mate(&member)} <span class="hint">", since " <When at=member.since.clone() /></span></span>
                <form method="post" action=path.clone()>
                    <input type="hidden" name="tie" value=member.id />
                    <button type="submit" name="action" value="leave">
                        "Remove" <span class="visually-hidden">" " {member.agent.clone()} " from the team of " {name.clone()}</span>
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
        let options = candidates.map(|(id, name)| view! { <option value=id>{name}</option> });
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
fn mate(mate: &TeamMate) -> impl IntoView + use<> {
    let person = mate.person.clone().map(|person| view! { " of " <bdi>{person}</bdi> });
    view! { <bdi><strong>{mate.agent.clone()}</strong></bdi> {person} }
}
