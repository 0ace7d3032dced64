//! Where an invitation's link leads: the invited person chooses a password, and
//! an address unless the invitation is bound to one.

use axum::extract::{Path, RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::AppState;
use keepsake_edge::client::ClientAddress;
use leptos::prelude::*;
use serde::Deserialize;
use tower_sessions::Session;

use super::link::{INVITATION_OVER, SIGN_IN, by_link, path_of, unusable};
use super::login::remember;
use crate::accounts::invitations::OpenInvitation;
use crate::accounts::{AccountError, LinkToken, Password, Role};
use crate::components::{self, FormError, Section, When};
use crate::forms::{Field, Form, FormName, FormState, respond_to_stranger};
use crate::page::{Asked, account_error};

const PAGE: &str = "/invitation";

pub async fn show(page: Asked) -> Response {
    let form = page.form.of(FormName::Invitation);
    let path = format!("{PAGE}/{}", page.id());
    let found = match LinkToken::parse(page.id()) {
        Some(token) => page.state.accounts.find_invitation(&token).await.map_err(account_error),
        None => Ok(None),
    };
    page.render(Section::Elsewhere, "Your invitation", path.clone(), found, move |invitation| {
        let body = match invitation {
            Some(invitation) => new_account(invitation, form.clone(), path.clone()).into_any(),
            None => unusable(INVITATION_OVER, SIGN_IN),
        };
        view! { <div class="door">{body}</div> }.into_any()
    })
    .await
}

#[derive(Deserialize)]
struct InvitedForm {
    email: Field,
    password: Field,
}

pub async fn accept(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    session: Session,
    Path(token): Path<String>,
    body: RawForm,
) -> Response {
    let (fields, token) = (Form::parse(&body), LinkToken::parse(&token));
    let attempt = async {
        let over = AccountError::InvitationOver;
        let (form, token): (InvitedForm, _) =
            by_link(&state, address, &fields, token.as_ref(), over).await?;
        let password = Password::parse_new("password", &form.password)?;
        let user = state.accounts.accept_invitation(token, &form.email, password).await?;
        remember(&state, &session, user).await?;
        Ok(Redirect::to("/memory").into_response())
    };
    let (attempt, path) = (attempt.await, path_of(PAGE, token.as_ref()));
    respond_to_stranger(show, &state, &path, FormName::Invitation, &fields, attempt).await
}

fn new_account(invitation: OpenInvitation, form: FormState, path: String) -> impl IntoView {
    let address = match invitation.email {
        Some(email) => view! {
            <p class="hint">
                "Your account will be " <bdi><strong>{email.as_str().to_owned()}</strong></bdi>
                ": the invitation is for this address only."
            </p>
        }
        .into_any(),
        None => view! {
            <components::Field
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
    let role = (invitation.role == Role::Admin).then_some(
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
            <components::Password form name="password" label="Password" new=true />
            <button class="primary wide" type="submit">
                "Create account"
            </button>
        </form>
        <p class="hint">"The link works once, and expires " <When at=invitation.expires_at /> "."</p>
    }
    .into_any()
}
