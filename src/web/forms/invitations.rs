//! What an invited person posts: an address, unless the invitation is bound to
//! one, and a password. It makes the account and signs the browser in to it.

use axum::extract::{Path, RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};
use tower_sessions::Session;

use super::{Form, again, remember};
use crate::accounts::invitations::InvitationToken;
use crate::accounts::{AccountError, Password};
use crate::web::AppState;
use crate::web::auth::Visitor;
use crate::web::client::ClientAddress;
use crate::web::error::Problem;

pub async fn accept(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    session: Session,
    Path(token): Path<String>,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let token = InvitationToken::parse(&token);
    let attempt = async {
        let token = token.as_ref().ok_or(AccountError::InvitationOver)?;
        let tries_at = token.clone().reveal();
        state.throttles.check_sign_in(&tries_at, address)?;
        let password = Password::parse_new("password", form.get("password"))?;
        let accounts = &state.accounts;
        let made = accounts.accept_invitation(token, form.get("email"), password);
        let user = made.await?;
        remember(&session, user).await?;
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
    again(&path, "invitation", &state, visitor, &form, problem).await
}
