//! The page that a reset link opens: choose a new password, with JavaScript or without.

use axum::extract::{Path, RawForm, State};
use axum::response::Response;
use keepsake_edge::AppState;
use keepsake_edge::client::ClientAddress;
use keepsake_edge::visitor::Visitor;
use leptos::prelude::*;
use serde::Deserialize;

use super::link::{SIGN_IN, by_link, path_of, unusable};
use super::login;
use crate::accounts::invitations::OpenReset;
use crate::accounts::{AccountError, LinkToken, Password};
use crate::components::{self, FormError, Section, When};
use crate::forms::{Field, Form, FormName, FormState, page, respond_to_stranger, tell};
use crate::page::{Asked, account_error};

const PAGE: &str = "/reset";
const OVER: (&str, &str) = (
    "This link cannot be used",
    "It was already used or revoked, is older than 24 hours, or its address is incomplete. Ask an admin of this server for a new one.",
);

pub async fn show(page: Asked) -> Response {
    let form = page.form.of(FormName::Reset);
    let path = format!("{PAGE}/{}", page.id());
    let found = match LinkToken::parse(page.id()) {
        Some(token) => page.state.accounts.find_reset(&token).await.map_err(account_error),
        None => Ok(None),
    };
    page.render(Section::Elsewhere, "New password", path.clone(), found, move |reset| {
        let body = match reset {
            Some(reset) => new_password(reset, form.clone(), path.clone()).into_any(),
            None => unusable(OVER, SIGN_IN),
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
    let (fields, token) = (Form::parse(&body), LinkToken::parse(&token));
    let attempt = async {
        let over = AccountError::ResetLinkOver;
        let (form, token): (NewPasswordForm, _) =
            by_link(&state, address, &fields, token.as_ref(), over).await?;
        let password = Password::parse_new("password", &form.password)?;
        state.accounts.use_reset_link(token, password).await?;
        let done = Some("Your new password is set. Sign in with it.".to_owned());
        let page = FormState { done, ..page(FormName::Login) };
        Ok(match tell(&state, None, "/login", &page) {
            Some(response) => response,
            None => login::show(Asked::new(&state, Visitor::Stranger, page, "/login")).await,
        })
    };
    let (attempt, path) = (attempt.await, path_of(PAGE, token.as_ref()));
    respond_to_stranger(show, &state, &path, FormName::Reset, &fields, attempt).await
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
