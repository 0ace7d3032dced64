//! Where an invitation to a team leads: who invites, what joining means, and which agent is to join. Whoever opens it is signed
//! in; a link that cannot be used says so in the same words, whatever the reason.

pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::not_found;
use crate::components::{FormError, Section};
use crate::forms::{FormName, FormState};
use crate::page::{Page, account_error};
use crate::view::JoinPage;

pub async fn show(page: Page) -> Response {
    let form = page.form.of(FormName::Join);
    let path = format!("/team/{}", page.id());
    let found = page.join_view(page.viewer.user_id, page.id()).await.map_err(account_error);
    page.render(Section::Agents, "Join a team", path.clone(), found, move |page| {
        let body = match page {
            Some(page) => invited(page, form.clone(), path.clone()).into_any(),
            None => {
                not_found();
                over().into_any()
            }
        };
        view! { <div class="page">{body}</div> }.into_any()
    })
    .await
}

fn invited(page: JoinPage, form: FormState, path: String) -> impl IntoView {
    let leader = page.leader;
    let read_only = page.is_read_only.then(|| {
        view! {
            <li>"This team is read-only: while your agent is in it, it cannot write, not even to your own memory."</li>
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
