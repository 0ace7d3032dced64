//! The page that a reset link opens: choose a new password, with JavaScript or without. A link that
//! cannot be used says so in the same words, whatever the reason.

use axum::extract::{Path, RawForm, State};
use axum::response::Response;
use keepsake_edge::AppState;
use keepsake_edge::client::ClientAddress;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::Visitor;
use leptos::prelude::*;
use serde::Deserialize;

use super::login;
use crate::accounts::invitations::OpenReset;
use crate::accounts::{AccountError, LinkToken, Password};
use crate::components::{self, FormError, Section, When, not_found};
use crate::forms::{Field, Form, FormName, FormState, again, page, tell};
use crate::page::{Asked, account_error};

pub async fn show(page: Asked) -> Response {
    let form = page.form.of(FormName::Reset);
    let path = format!("/reset/{}", page.id());
    let found = match LinkToken::parse(page.id()) {
        Some(token) => page.state.accounts.find_reset(&token).await.map_err(account_error),
        None => Ok(None),
    };
    page.render(Section::Elsewhere, "New password", path.clone(), found, move |reset| {
        let body = match reset {
            Some(reset) => new_password(reset, form.clone(), path.clone()).into_any(),
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
struct NewPasswordForm {
    password: Field,
}

pub async fn set_password(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    Path(token): Path<String>,
    body: RawForm,
) -> Response {
    let fields = Form::parse(&body);
    let token = LinkToken::parse(&token);
    let attempt = async {
        let form: NewPasswordForm = fields.read()?;
        let token = token.as_ref().ok_or(AccountError::ResetLinkOver)?;
        let tries_at = token.clone().reveal();
        state.throttles.admit_sign_in(&tries_at, address).await?;
        let password = Password::parse_new("password", &form.password)?;
        state.accounts.use_reset_link(token, password).await?;
        Ok::<_, Problem>(())
    };
    let problem = match attempt.await {
        Ok(()) => {
            let page = FormState {
                done: Some("Your new password is set. Sign in with it.".to_owned()),
                ..page(FormName::Login)
            };
            return match tell(&state, None, "/login", &page) {
                Some(response) => response,
                None => login::show(Asked::new(&state, Visitor::Stranger, page, "/login")).await,
            };
        }
        Err(problem) => problem,
    };
    let path = match token {
        Some(token) => format!("/reset/{}", token.reveal()),
        None => "/reset/unknown".to_owned(),
    };
    let show = |form| show(Asked::new(&state, Visitor::Stranger, form, &path));
    again(show, FormName::Reset, &fields, problem).await
}

fn new_password(reset: OpenReset, form: FormState, path: String) -> impl IntoView {
    view! {
        <h1>"Choose a new password"</h1>
        <p class="lead">
            "For " <bdi><strong>{reset.email}</strong></bdi>
            ". Every browser is signed out of this account. Your agents and memories stay unchanged."
        </p>
        <form class="stack" method="post" action=path>
            <FormError form=form.clone() fields=&["password"] />
            <components::Password form name="password" label="New password" new=true />
            <button class="primary wide" type="submit">
                "Set the password"
            </button>
        </form>
        <p class="hint">"The link works once, and expires " <When at=reset.expires_at /> "."</p>
    }
    .into_any()
}

fn unusable() -> impl IntoView {
    view! {
        <h1>"This link cannot be used"</h1>
        <p class="lead">
            "It was already used or revoked, is older than 24 hours, or its address is incomplete. Ask an admin of this server for a new one."
        </p>
        <p>
            <a href="/login">"Sign in"</a>
        </p>
    }
    .into_any()
}
