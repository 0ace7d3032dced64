//! The forms behind an admin's links. An invitation: an e-mail address, unless the invitation is bound to
//! one, and a password, which create the account and sign in. A password reset: a new password.

use app::view::FormState;
use axum::extract::{Path, RawForm, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use tower_sessions::Session;

use super::sign_in::remember;
use super::{Field, Form, again, page};
use crate::accounts::LinkToken;
use crate::accounts::{AccountError, Password};
use crate::web::AppState;
use crate::web::client::ClientAddress;
use crate::web::error::Problem;
use crate::web::pages::after_form;
use crate::web::visitor::Visitor;

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
    let visitor = Visitor::Stranger;
    again(&path, "invitation", &state, visitor, &fields, problem).await
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
    let visitor = Visitor::Stranger;
    let problem = match attempt.await {
        Ok(()) => {
            let page = FormState {
                done: Some("Your new password is set. Sign in with it.".to_owned()),
                ..page("login")
            };
            return after_form(&state, visitor, "/login", page, StatusCode::OK).await;
        }
        Err(problem) => problem,
    };
    let path = match token {
        Some(token) => format!("/reset/{}", token.reveal()),
        None => "/reset/unknown".to_owned(),
    };
    again(&path, "reset", &state, visitor, &fields, problem).await
}
