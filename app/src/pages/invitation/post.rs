//! The forms behind an admin's links. An invitation: an e-mail address, unless the invitation is bound to
//! one, and a password, which create the account and sign in. A password reset: a new password.

use axum::extract::{Path, RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use tower_sessions::Session;

use super::show;
use crate::accounts::LinkToken;
use crate::accounts::{AccountError, Password};
use crate::forms::{Field, Form, FormName, FormState, again, page, tell};
use crate::page::Asked;
use crate::pages::login::post::remember;
use crate::pages::{login, reset};
use keepsake_edge::AppState;
use keepsake_edge::client::ClientAddress;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::Visitor;

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
    let show = |form| reset::show(Asked::new(&state, Visitor::Stranger, form, &path));
    again(show, FormName::Reset, &fields, problem).await
}
