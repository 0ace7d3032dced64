//! Where an invitation to a team leads: who invites, what joining means, and which agent is to join. Whoever opens it is signed
//! in; a link that cannot be used says so in the same words, whatever the reason.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::backend::backend;
use crate::components::{FormError, Frame, Section, Trouble};
use crate::view::{FormState, JoinPage};

#[component]
pub fn Join() -> impl IntoView {
    let token = use_params_map().with_untracked(|params| params.get("token")).unwrap_or_default();
    let backend = backend();
    let form = backend.form().of("join");
    let page = Suspend::new(async move {
        let path = format!("/team/{token}");
        match backend.join_page(&token).await {
            Ok(Some(page)) => invited(page, form, path).into_any(),
            Ok(None) => {
                backend.not_found();
                over().into_any()
            }
            Err(error) => view! { <Trouble heading="Join a team" error href=path /> }.into_any(),
        }
    });
    view! {
        <Frame section=Section::Agents title="Join a team".to_owned()>
            <div class="page">{page}</div>
        </Frame>
    }
}

fn invited(page: JoinPage, form: FormState, path: String) -> impl IntoView {
    let leader = page.leader;
    let read_only = page.is_read_only.then(|| {
        view! {
            <li>"This team is read-only: while your agent is in it, it can write nothing, in your own memory neither."</li>
        }
    });
    let inviting = match page.person {
        Some(person) => {
            view! { <bdi>{person}</bdi> " invites one of your agents to the team of " }.into_any()
        }
        None => view! { "You invite an agent of yours to the team of " }.into_any(),
    };
    let choice = match page.agents.is_empty() {
        true => view! {
            <p>
                "You have no agent yet. " <a href="/agents">"Create one"</a>
                ", then open this link again. It works for 7 days."
            </p>
        }
        .into_any(),
        false => {
            let chosen = form.value("member").to_owned();
            let agents = page.agents.into_iter().map(|(id, name)| {
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

fn over() -> impl IntoView {
    view! {
        <h1>"This invitation cannot be used"</h1>
        <p class="lead">
            "It was already used or revoked, is older than 7 days, or its address is incomplete. Ask the person who invited you for a new one."
        </p>
        <p><a href="/agents">"Agents & tokens"</a></p>
    }
    .into_any()
}
