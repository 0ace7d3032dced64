//! Where an invitation's link leads: the invited person chooses a password, and
//! an address unless the invitation is bound to one. A link that cannot be used
//! says so in the same words, whatever the reason.

use axum::extract::{Path, RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::AppState;
use keepsake_edge::client::ClientAddress;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::Visitor;
use leptos::prelude::*;
use serde::Deserialize;
use tower_sessions::Session;

use super::login::remember;
use crate::accounts::invitations::OpenInvitation;
use crate::accounts::{AccountError, LinkToken, Password, Role};
use crate::components::{self, FormError, Section, When, not_found};
use crate::forms::{Field, Form, FormName, FormState, again};
use crate::page::{Asked, account_error};

pub async fn show(page: Asked) -> Response {
    let form = page.form.of(FormName::Invitation);
    let path = format!("/invitation/{}", page.id());
    let found = match LinkToken::parse(page.id()) {
        Some(token) => page.state.accounts.find_invitation(&token).await.map_err(account_error),
        None => Ok(None),
    };
    page.render(Section::Elsewhere, "Your invitation", path.clone(), found, move |invitation| {
        let body = match invitation {
            Some(invitation) => new_account(invitation, form.clone(), path.clone()).into_any(),
            None => {
                not_found();
                unusable().into_any()
            }
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
    let fields = Form::parse(&body);
    let token = LinkToken::parse(&token);
    let attempt = async {
        let form: InvitedForm = fields.read()?;
        let token = token.as_ref().ok_or(AccountError::InvitationOver)?;
        let tries_at = token.clone().reveal();
        state.throttles.admit_sign_in(&tries_at, address).await?;
        let password = Password::parse_new("password", &form.password)?;
        let accounts = &state.accounts;
        let made = accounts.accept_invitation(token, &form.email, password);
        let user = made.await?;
        remember(&state, &session, user).await?;
        Ok::<_, Problem>(())
    };
    let problem = match attempt.await {
        Ok(()) => return Redirect::to("/memory").into_response(),
        Err(problem) => problem,
    };
    let path = match token {
        Some(token) => format!("/invitation/{}", token.reveal()),
        None => "/invitation/unknown".to_owned(),
    };
    let show = |form| show(Asked::new(&state, Visitor::Stranger, form, &path));
    again(show, FormName::Invitation, &fields, problem).await
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

fn unusable() -> impl IntoView {
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
