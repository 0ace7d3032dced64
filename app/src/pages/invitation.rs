//! Where an invitation's link leads: the invited person chooses a password, and
//! an address unless the invitation is bound to one. A link that cannot be used
//! says so in the same words, whatever the reason.

pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::not_found;
use crate::components::{Field, FormError, Password, Section, When};
use crate::forms::{FormName, FormState};
use crate::page::{Asked, account_error};
use crate::view::InvitationPage;

pub async fn show(page: Asked) -> Response {
    let form = page.form.of(FormName::Invitation);
    let path = format!("/invitation/{}", page.id());
    let found = page.invitation_view(page.id()).await.map_err(account_error);
    page.render(Section::Elsewhere, "Your invitation", path.clone(), found, move |page| {
        let body = match page {
            Some(page) => invited(page, form.clone(), path.clone()).into_any(),
            None => {
                not_found();
                over().into_any()
            }
        };
        view! { <div class="door">{body}</div> }.into_any()
    })
    .await
}

fn invited(page: InvitationPage, form: FormState, path: String) -> impl IntoView {
    let address = match page.email {
        Some(email) => view! {
            <p class="hint">
                "Your account will be " <bdi><strong>{email}</strong></bdi>
                ": the invitation is for this address only."
            </p>
        }
        .into_any(),
        None => view! {
            <Field
                form=form.clone()
                name="email"
                label="E-mail address"
                kind="email"
                autocomplete="username"
                autofocus=form.error.is_none()
            />
        }
        .into_any(),
    };
    let role = page.is_admin.then_some(
        " You will be an admin: you manage the server, and cannot see other users' memories.",
    );
    view! {
        <h1>"You are invited"</h1>
        <p class="lead">
            "This server stores what your agents learn about you, and shows you all of it. Choose a password to create your account."
            {role}
        </p>
        <form class="stack" method="post" action=path>
            <FormError form=form.clone() fields=&["email", "password"] />
            {address}
            <Password form name="password" label="Password" new=true />
            <button class="primary wide" type="submit">
                "Create account"
            </button>
        </form>
        <p class="hint">"The link works once, and expires " <When at=page.expires /> "."</p>
    }
    .into_any()
}

fn over() -> impl IntoView {
    view! {
        <h1>"This invitation cannot be used"</h1>
        <p class="lead">
            "It was already used or revoked, is older than 7 days, or its address is incomplete. Ask the person who invited you for a new one."
        </p>
        <p>
            <a href="/login">"Sign in"</a>
        </p>
    }
    .into_any()
}
