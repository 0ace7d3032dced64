//! The forms that pages post. Each ends in a redirect, or in the same page with the submitted values and one
//! sentence beside the field.

pub mod activity;
pub mod chat;
pub mod data;
pub mod documents;
pub mod dreams;
pub mod embeddings;
mod endpoint;
pub mod entities;
pub mod fading;
pub mod invitations;
pub mod jobs;
pub mod learned;
pub mod manage;
pub mod memory;
pub mod operators;
pub mod sessions;
pub mod summary;
pub mod teams;
pub mod users;

use std::collections::BTreeMap;

use app::view::{FormState, NewToken};
use axum::extract::{Path, RawForm, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use tower_sessions::Session;
use url::form_urlencoded;

use super::auth::{SESSION_USER, SignedIn, Visitor};
use super::client::ClientAddress;
use super::error::{DATABASE_SENTENCE, Problem};
use super::pages::after_form;
use super::{AppState, session};
use crate::accounts::model::{parse_expires_days, parse_time_zone};
use crate::accounts::{
    AccountError, AgentId, AgentName, Email, Password, Scopes, Token, TokenId, TokenWish, UserId,
};
use crate::db::actor;
use crate::input::Invalid;

/// A posted form; a field may occur several times.
#[derive(Clone)]
struct Form(Vec<(String, String)>);

impl Form {
    fn parse(RawForm(body): &RawForm) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(n, _)| n == name)
            .map_or("", |(_, value)| value)
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    /// The values to show again, without passwords and keys.
    fn values(&self) -> BTreeMap<String, String> {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        let is_secret = |name: &str| name.contains("password") || name == "key";
        for (name, value) in self.0.iter().filter(|(name, _)| !is_secret(name)) {
            let joined = values.entry(name.clone()).or_default();
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(value);
        }
        values
    }

    fn token_wish(&self) -> Result<TokenWish, Invalid> {
        let scopes = self
            .all("scope")
            .map(str::parse)
            .collect::<Result<Scopes, _>>()?;
        let days = match self.get("expires_days").trim() {
            "" => None,
            text => Some(text.parse().unwrap_or(0)),
        };
        Ok(TokenWish {
            scopes,
            lifetime: parse_expires_days(days)?,
            profile: None,
        })
    }
}

/// A form that failed, as the page shows it.
fn failed(name: &str, form: &Form, problem: Problem) -> (StatusCode, FormState) {
    let state = FormState {
        form: name.to_owned(),
        field: problem.field,
        error: Some(problem.detail),
        values: form.values(),
        ..FormState::default()
    };
    (problem.status, state)
}

/// How a form ended: the page again, or a redirect.
enum Outcome {
    Page(Box<FormState>),
    Redirect,
}

fn done(form: &str, sentence: impl Into<String>) -> Outcome {
    Outcome::Page(Box::new(FormState {
        form: form.to_owned(),
        done: Some(sentence.into()),
        ..FormState::default()
    }))
}

/// The response to a form of a signed-in person; `path` is the form's page.
async fn respond(
    state: &AppState,
    signed_in: SignedIn,
    path: &str,
    name: &str,
    form: &Form,
    outcome: Result<Outcome, Problem>,
) -> Response {
    let visitor = Visitor::SignedIn(signed_in);
    match outcome {
        Ok(Outcome::Redirect) => Redirect::to(path).into_response(),
        Ok(Outcome::Page(page)) => after_form(state, visitor, path, *page, StatusCode::OK).await,
        Err(problem) => again(path, name, state, visitor, form, problem).await,
    }
}

pub async fn sign_in(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    session: Session,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let email = Email::parse(form.get("email"))?;
        state
            .throttles
            .admit_sign_in(email.as_str(), address)
            .await?;
        let password = Password::to_compare(form.get("password"));
        let verified = state.accounts.sign_in(&email, password).await?;
        remember(&session, verified.user).await?;
        if state.accounts.finish_sign_in(&verified).await? {
            return Ok(());
        }
        session.flush().await.map_err(unreachable)?;
        Err(Problem::from(AccountError::WrongPassword))
    };
    match attempt.await {
        Ok(()) => Redirect::to(local_path(form.get("next"))).into_response(),
        Err(problem) => again("/login", "login", &state, Visitor::Stranger, &form, problem).await,
    }
}

pub async fn sign_up(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    session: Session,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let email = Email::parse(form.get("email"))?;
        state
            .throttles
            .admit_sign_in(email.as_str(), address)
            .await?;
        let password = Password::parse_new("password", form.get("password"))?;
        Ok::<_, Problem>(state.accounts.sign_up(&email, password).await?)
    };
    match attempt.await {
        Ok(user) => enter(&state, &session, user, &form).await,
        // If sign-up is closed, its form is not on the page.
        Err(problem) if problem.code == "sign_up_closed" => {
            again("/login", "login", &state, Visitor::Stranger, &form, problem).await
        }
        Err(problem) => {
            again(
                "/login",
                "signup",
                &state,
                Visitor::Stranger,
                &form,
                problem,
            )
            .await
        }
    }
}

pub async fn sign_out(session: Session) -> Response {
    match session.flush().await {
        Ok(()) => Redirect::to("/login").into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, DATABASE_SENTENCE).into_response(),
    }
}

pub async fn change_password(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    signed_in: SignedIn,
    session: Session,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let user = signed_in.0.id;
    let attempt = async {
        state
            .throttles
            .admit_sign_in(&signed_in.0.email, address)
            .await?;
        let new = Password::parse_new("new_password", form.get("new_password"))?;
        let current = Password::to_compare(form.get("current_password"));
        state.accounts.change_password(user, current, new).await?;
        // All web sessions were ended; this browser gets a new one.
        remember(&session, user).await?;
        Ok(done(
            "password",
            "Your password was changed, and every other browser was signed out.",
        ))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/account", "password", &form, outcome).await
}

pub async fn set_time_zone(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let user = signed_in.0.id;
    let mut now_in = signed_in.clone();
    let attempt = async {
        let zone = parse_time_zone(form.get("time_zone"))?;
        state.accounts.set_time_zone(user, &zone).await?;
        let sentence = format!("Your time zone is {}.", zone.name());
        now_in.0.time_zone = zone;
        Ok(done("time_zone", sentence))
    };
    let outcome = attempt.await;
    respond(&state, now_in, "/account", "time_zone", &form, outcome).await
}

pub async fn create_agent(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let name = AgentName::parse(form.get("name"))?;
        let wish = form.token_wish()?;
        let token = state
            .accounts
            .create_agent(signed_in.0.id, &name, &wish)
            .await?;
        Ok((name.as_str().to_owned(), token))
    };
    let attempt = attempt.await;
    show_token(state, signed_in, "agent", form, attempt).await
}

pub async fn create_token(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(agent): Path<String>,
    body: RawForm,
) -> Response {
    let mut form = Form::parse(&body);
    // The page shows the error beside its agent.
    form.0.push(("agent".to_owned(), agent.clone()));
    let attempt = async {
        let agent = AgentId(parse_id(&agent)?);
        Ok(state
            .accounts
            .create_token(signed_in.0.id, agent, &form.token_wish()?)
            .await?)
    };
    let attempt = attempt.await;
    show_token(state, signed_in, "token", form, attempt).await
}

/// The only response that ever contains a token, so it cannot be a redirect.
async fn show_token(
    state: AppState,
    signed_in: SignedIn,
    name: &str,
    form: Form,
    attempt: Result<(String, Token), Problem>,
) -> Response {
    let (status, outcome) = with_token(name, &form, attempt);
    agents_page(&state, signed_in, status, outcome).await
}

fn with_token(
    name: &str,
    form: &Form,
    attempt: Result<(String, Token), Problem>,
) -> (StatusCode, FormState) {
    match attempt {
        Ok((agent_name, token)) => {
            let new_token = Some(NewToken {
                agent_name,
                token: token.reveal(),
            });
            (
                StatusCode::OK,
                FormState {
                    form: name.to_owned(),
                    new_token,
                    ..FormState::default()
                },
            )
        }
        Err(problem) => failed(name, form, problem),
    }
}

pub async fn revoke_token(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path((agent, token)): Path<(String, String)>,
) -> Response {
    let attempt = async {
        let (agent, token) = (AgentId(parse_id(&agent)?), TokenId(parse_id(&token)?));
        Ok::<_, Problem>(
            state
                .accounts
                .revoke_token(signed_in.0.id, agent, token)
                .await?,
        )
    };
    match attempt.await {
        Ok(()) => Redirect::to("/agents").into_response(),
        Err(problem) => {
            let (status, outcome) = failed("revoke", &Form(Vec::new()), problem);
            agents_page(&state, signed_in, status, outcome).await
        }
    }
}

async fn agents_page(
    state: &AppState,
    signed_in: SignedIn,
    status: StatusCode,
    outcome: FormState,
) -> Response {
    let visitor = Visitor::SignedIn(signed_in);
    after_form(state, visitor, "/agents", outcome, status).await
}

fn unknown_action() -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid_action",
        "`action` is not known; use the page's buttons.",
    )
}

fn parse_id(text: &str) -> Result<i64, Problem> {
    text.parse().map_err(|_| AccountError::NotFound.into())
}

/// Signs the browser in, and redirects to the page it came from.
async fn enter(state: &AppState, session: &Session, user: UserId, form: &Form) -> Response {
    match remember(session, user).await {
        Ok(()) => Redirect::to(local_path(form.get("next"))).into_response(),
        Err(problem) => {
            let visitor = Visitor::Stranger;
            again("/login", "login", state, visitor, form, problem).await
        }
    }
}

/// Uses a new session id, which prevents session fixation.
async fn remember(session: &Session, user: UserId) -> Result<(), Problem> {
    let keep = async {
        session.clear().await;
        session.cycle_id().await?;
        session.insert(SESSION_USER, user.0).await?;
        session.save().await?;
        // The rest of this request acts in the new session.
        if let Some(actor) = session::actor(session, user) {
            actor::act_as(actor);
        }
        Ok(())
    };
    keep.await.map_err(unreachable)
}

fn unreachable(_: tower_sessions::session::Error) -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "database_unavailable",
        DATABASE_SENTENCE,
    )
}

/// The page of a form that failed, with `Retry-After` if there is one.
async fn again(
    path: &str,
    name: &str,
    state: &AppState,
    visitor: Visitor,
    form: &Form,
    problem: Problem,
) -> Response {
    let retry_after_s = problem.retry_after_s();
    let (status, outcome) = failed(name, form, problem);
    let mut response = after_form(state, visitor, path, outcome, status).await;
    if let Some(seconds) = retry_after_s {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
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
        for evil in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/\r\nx",
            "/é",
        ] {
            assert_eq!(local_path(evil), "/memory", "{evil:?}");
        }
    }
}
