//! The forms of a visitor: sign in, sign up, sign out.

use axum::extract::{RawForm, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use tower_sessions::Session;

use super::show;
use crate::accounts::{AccountError, Email, Password, UserId};
use crate::db::actor;
use crate::forms::{Field, Form, FormName, again};
use crate::page::Asked;
use keepsake_edge::client::ClientAddress;
use keepsake_edge::error::{DATABASE_SENTENCE, Problem};
use keepsake_edge::session::SESSION_USER;
use keepsake_edge::visitor::Visitor;
use keepsake_edge::{AppState, session};

const PATH: &str = "/login";
const FORM: FormName = FormName::Login;
const SIGN_UP_FORM: FormName = FormName::SignUp;

#[derive(Deserialize)]
struct SignInForm {
    email: Field,
    password: Field,
    next: Field,
}

pub async fn sign_in(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    session: Session,
    body: RawForm,
) -> Response {
    let fields = Form::parse(&body);
    let attempt = async {
        let form: SignInForm = fields.read()?;
        let email = Email::parse(&form.email)?;
        state.throttles.admit_sign_in(email.as_str(), address).await?;
        let password = Password::to_compare(&form.password);
        let verified = state.accounts.sign_in(&email, password).await?;
        remember(&state, &session, verified.user).await?;
        if state.accounts.finish_sign_in(&verified).await? {
            return Ok(form);
        }
        session.flush().await.map_err(unreachable)?;
        Err(Problem::from(AccountError::WrongPassword))
    };
    match attempt.await {
        Ok(form) => Redirect::to(local_path(&form.next)).into_response(),
        Err(problem) => {
            again(
                |form| show(Asked::new(&state, Visitor::Stranger, form, PATH)),
                FORM,
                &fields,
                problem,
            )
            .await
        }
    }
}

pub async fn sign_up(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    session: Session,
    body: RawForm,
) -> Response {
    let fields = Form::parse(&body);
    let attempt = async {
        let form: SignInForm = fields.read()?;
        let email = Email::parse(&form.email)?;
        state.throttles.admit_sign_in(email.as_str(), address).await?;
        let password = Password::parse_new("password", &form.password)?;
        let user = state.accounts.sign_up(&email, password).await?;
        Ok::<_, Problem>((user, form.next))
    };
    let created = attempt.await;
    let name = match &created {
        Err(problem) if problem.code != "sign_up_closed" => SIGN_UP_FORM,
        // If sign-up is closed, its form is not on the page.
        _ => FORM,
    };
    let enter = async {
        let (user, next) = created?;
        remember(&state, &session, user).await?;
        Ok(next)
    };
    match enter.await {
        Ok(next) => Redirect::to(local_path(&next)).into_response(),
        Err(problem) => {
            again(
                |form| show(Asked::new(&state, Visitor::Stranger, form, PATH)),
                name,
                &fields,
                problem,
            )
            .await
        }
    }
}

pub async fn sign_out(session: Session) -> Response {
    match session.flush().await {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, DATABASE_SENTENCE).into_response(),
    }
}

/// Signs the browser in. Uses a new session id, which prevents session fixation.
pub(crate) async fn remember(
    state: &AppState,
    session: &Session,
    user: UserId,
) -> Result<(), Problem> {
    let keep = async {
        session.clear().await;
        session.cycle_id().await?;
        session.insert(SESSION_USER, user.0).await?;
        session::note_visit(session, &state.clock).await?;
        session.save().await?;
        // The rest of this request acts in the new session.
        if let Some(actor) = session::actor(session, user) {
            actor::act_as(actor);
        }
        Ok(())
    };
    keep.await.map_err(unreachable)
}

pub(crate) fn unreachable(_: tower_sessions::session::Error) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", DATABASE_SENTENCE)
}

/// Prevents open redirects: only a path of this server, not `//evil.example` or `/\evil.example`.
fn local_path(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next[1..].starts_with(['/', '\\'])
        // The characters that a `Location` header allows.
        && next.chars().all(|c| c.is_ascii_graphic());
    if is_local { next } else { "/memory" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_gone_on_to() {
        assert_eq!(local_path("/memory?q=a"), "/memory?q=a");
        for evil in
            ["", "//evil.example", "/\\evil.example", "https://evil.example", "/\r\nx", "/é"]
        {
            assert_eq!(local_path(evil), "/memory", "{evil:?}");
        }
    }
}
