//! The door: sign in, make an account, or make the very first one. Which of
//! these is offered is the server's to say; where to go afterwards travels in
//! a hidden field.

use std::net::IpAddr;

use axum::extract::{RawForm, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::client::ClientAddress;
use keepsake_edge::error::{DATABASE_SENTENCE, Problem};
use keepsake_edge::session::SESSION_USER;
use keepsake_edge::visitor::Visitor;
use keepsake_edge::{AppState, session};
use leptos::prelude::*;
use serde::Deserialize;
use tower_sessions::Session;

use crate::accounts::{AccountError, Email, Password, SignUpState, UserId};
use crate::components::{self, Done, FormError, Section};
use crate::db::actor;
use crate::forms::{Field, Form, FormName, FormState, respond_to_stranger};
use crate::page::{Asked, account_error};

const PATH: &str = "/login";

/// Who is signed in already goes on to the memory page.
pub async fn show(page: Asked) -> Response {
    if let Visitor::SignedIn(_) = page.visitor {
        return Redirect::to("/memory").into_response();
    }
    // After a failed post the address is that of the post: the field remembers.
    let next = page.asked_for("next").unwrap_or_else(|| page.form.value("next"));
    let form = page.form.clone();
    let found = page.state.accounts.sign_up_offer().await.map_err(account_error);
    page.render(Section::Elsewhere, "Sign in", PATH, found, move |sign_up| {
        let body = offered(sign_up, form.clone(), next.clone());
        view! { <div class="door">{body}</div> }.into_any()
    })
    .await
}

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
        let (form, email) = admitted(&state, address, &fields).await?;
        let verified = state.accounts.sign_in(&email, Password::to_compare(&form.password)).await?;
        remember(&state, &session, verified.user).await?;
        if state.accounts.finish_sign_in(&verified).await? {
            return Ok(Redirect::to(local_path(&form.next)).into_response());
        }
        session.flush().await.map_err(unreachable)?;
        Err(Problem::from(AccountError::WrongPassword))
    };
    let attempt = attempt.await;
    respond_to_stranger(show, &state, PATH, FormName::Login, &fields, attempt).await
}

pub async fn sign_up(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    session: Session,
    body: RawForm,
) -> Response {
    let fields = Form::parse(&body);
    let attempt = async {
        let (form, email) = admitted(&state, address, &fields).await?;
        let password = Password::parse_new("password", &form.password)?;
        let user = state.accounts.sign_up(&email, password).await?;
        remember(&state, &session, user).await?;
        Ok(Redirect::to(local_path(&form.next)).into_response())
    };
    let attempt = attempt.await;
    respond_to_stranger(show, &state, PATH, FormName::SignUp, &fields, attempt).await
}

/// What was posted, if this address may try it now.
async fn admitted(
    state: &AppState,
    address: IpAddr,
    fields: &Form,
) -> Result<(SignInForm, Email), Problem> {
    let form: SignInForm = fields.read()?;
    let email = Email::parse(&form.email)?;
    state.throttles.admit_sign_in(email.as_str(), address).await?;
    Ok((form, email))
}

pub async fn sign_out(session: Session) -> Response {
    match session.flush().await {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, DATABASE_SENTENCE).into_response(),
    }
}

/// Signs the browser in. Uses a new session id, which prevents session fixation.
pub async fn remember(state: &AppState, session: &Session, user: UserId) -> Result<(), Problem> {
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

pub fn unreachable(_: tower_sessions::session::Error) -> Problem {
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

fn offered(offer: SignUpState, form: FormState, next: String) -> impl IntoView {
    let sign_in = form.of(FormName::Login);
    let sign_up = form.of(FormName::SignUp);
    let is_untouched = sign_up.error.is_none();
    match offer {
        SignUpState { is_open: true, is_first: true, has_accounts: false } => view! {
            <h1>"Welcome to Keepsake"</h1>
            <p class="lead">
                "This server stores what your agents learn about you, and shows you all of it. Nobody has an account yet. The first account is the admin."
            </p>
            {account_form(sign_up, next, "Create the admin account", is_untouched)}
        }
        .into_any(),
        SignUpState { is_open: false, .. } => view! {
            <h1>"Sign in"</h1>
            <p class="lead">"To read what your agents remember about you."</p>
            // A sign-up that was refused, or has closed it, tells so here.
            {sign_in_form(FormState { form: Some(FormName::Login), ..form }, next)}
            <p class="hint">
                "No account? The server's operator creates one with " <code>"keepsake user create"</code>
                ". Forgot your password? An admin can create a link that sets a new one."
            </p>
        }
        .into_any(),
        SignUpState { is_first, .. } => {
            let is_signing_up = form.form == Some(FormName::SignUp);
            let (question, action) = match is_first {
                true => ("No admin yet?", "Create the admin account"),
                false => ("New here?", "Create an account"),
            };
            view! {
                <h1>"Sign in"</h1>
                <p class="lead">"To read what your agents remember about you."</p>
                {sign_in_form(sign_in, next.clone())}
                <details class="fold" open=is_signing_up>
                    <summary>{question} " " {action}</summary>
                    {account_form(sign_up, next, action, false)}
                </details>
            }
            .into_any()
        }
    }
}

fn sign_in_form(form: FormState, next: String) -> impl IntoView {
    let autofocus = form.error.is_none();
    view! {
        <Done form=form.clone() />
        {account_form(form, next, "Sign in", autofocus)}
    }
    .into_any()
}

/// Signs in or makes an account, as the form is named.
fn account_form(
    form: FormState,
    next: String,
    action: &'static str,
    autofocus: bool,
) -> impl IntoView {
    let is_new = form.form == Some(FormName::SignUp);
    view! {
        <form class="stack" method="post" action=if is_new { "/signup" } else { PATH }>
            <FormError form=form.clone() fields=&["email", "password"] />
            <input type="hidden" name="next" value=next />
            <components::Field
                form=form.clone()
                name="email"
                label="E-mail address"
                kind="email"
                autocomplete="username"
                autofocus
            />
            <components::Password form name="password" label="Password" new=is_new />
            <button class="primary wide" type="submit">
                {action}
            </button>
        </form>
    }
    .into_any()
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
