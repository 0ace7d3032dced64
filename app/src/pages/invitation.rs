//! Where an invitation's link leads: the invited person chooses a password, and
//! an address unless the invitation is bound to one. A link that cannot be used
//! says so in the same words, whatever the reason.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::backend::backend;
use crate::components::{Field, FormError, Frame, Password, Section, Trouble, When};
use crate::view::{FormState, InvitationPage};

#[component]
pub fn Invitation() -> impl IntoView {
    let token = use_params_map().with_untracked(|params| params.get("token")).unwrap_or_default();
    let backend = backend();
    let form = backend.form().of("invitation");
    let page = Suspend::new(async move {
        let path = format!("/invitation/{token}");
        match backend.invitation_page(&token).await {
            Ok(Some(page)) => invited(page, form, path).into_any(),
            Ok(None) => {
                backend.not_found();
                over().into_any()
            }
            Err(error) => {
                view! { <Trouble heading="Your invitation" error href=path /> }.into_any()
            }
        }
    });
    view! {
        <Frame section=Section::Elsewhere title="Your invitation".to_owned()>
            <div class="door">{page}</div>
        </Frame>
    }
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
        <p class="hint">"The link works once, and expires " <When moment=page.expires /> "."</p>
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
