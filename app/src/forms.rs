//! The forms that pages post. Each is a type in a handler's signature, and ends in a redirect, or in the same
//! page with the submitted values and one sentence beside the field.

pub mod endpoint;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, RawForm, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::AppState;
use keepsake_edge::error::Problem;
use keepsake_edge::flash;
use keepsake_edge::visitor::{SignedIn, Visitor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use time::OffsetDateTime;
use url::form_urlencoded;

use crate::accounts::model::parse_expires_days;
use crate::accounts::{AccountError, Role, Scopes, Token, TokenWish, UserId};
use crate::activity::RunningCall;
use crate::db::Db;
use crate::db::actor;
use crate::input::Invalid;
use crate::memories::MemoryError;
use crate::nowhere::{not_found_for, refused};
use crate::page::{Asked, Page};
use crate::redaction::TextDoor;
use crate::tools::ToolError;

pub use crate::form::{Confirmation, FormName, FormState, NewToken, Rival, TestResult};

/// The form of a signed-in person. Missing fields are empty, so the only error is an unknown action.
pub struct Posted<T>(pub Submission, pub Result<T, Problem>);

impl<T: DeserializeOwned> FromRequest<AppState> for Posted<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        let parts = <(SignedIn, RawPathParams, RawForm)>::from_request(request, state);
        let (signed_in, path, body) = parts.await?;
        let fields = Form::parse(&body);
        let form = fields.read();
        let submission = Submission {
            state: state.clone(),
            signed_in,
            id: path.iter().next().map_or("", |(_, id)| id).to_owned(),
            fields,
        };
        Ok(Self(submission, form))
    }
}

/// The signed-in admin. Strangers are redirected to the sign-in page; members get a 404.
#[derive(Clone, Debug)]
pub struct Admin(pub SignedIn);

impl FromRequestParts<AppState> for Admin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let signed_in = SignedIn::from_request_parts(parts, state)
            .await
            .map_err(IntoResponse::into_response)?;
        match signed_in.0.role {
            Role::Admin => {
                actor::require_admin();
                Ok(Self(signed_in))
            }
            Role::Member => Err(not_found_for(state, signed_in).await),
        }
    }
}

/// A form's fields, who posted them, and to which row.
pub struct Submission {
    pub state: AppState,
    pub signed_in: SignedIn,
    /// The first parameter of the route, or empty.
    pub id: String,
    pub fields: Form,
}

impl Submission {
    pub fn user(&self) -> UserId {
        self.signed_in.0.id
    }

    /// The database, the person, and the time.
    pub fn context(&self) -> (&Db, UserId, OffsetDateTime) {
        (&self.state.db, self.user(), self.state.clock.now())
    }

    /// Begins a call of `tool` by the person.
    pub fn begin(&self, tool: &'static str) -> RunningCall {
        let viewer = self.signed_in.viewer();
        self.state.activity.begin(&viewer, tool)
    }

    /// The text as it may be stored: without what is private, and with secrets as the person has set.
    pub async fn screened(&self, name: &str, text: &str) -> Result<String, Problem> {
        let mut text = text.to_owned();
        let redactor = self.state.embeddings.redactor();
        let field = (name, &mut text);
        let screened = redactor.screen_text(self.user(), None, TextDoor::Call, field);
        screened.await?;
        Ok(text)
    }

    pub fn id(&self) -> Result<i64, Problem> {
        parse_id(&self.id)
    }

    /// Tells the page beside which row to show an error.
    pub fn show_id(&mut self, field: &str) {
        self.fields.0.push((field.to_owned(), self.id.clone()));
    }

    pub async fn respond<F: Future<Output = Response>>(
        &self,
        show: impl FnOnce(Page) -> F,
        path: &str,
        name: FormName,
        outcome: Attempt,
    ) -> Response {
        let signed_in = self.signed_in.clone();
        respond(show, &self.state, signed_in, path, name, &self.fields, outcome).await
    }

    /// On the page of a row, which may not exist.
    pub async fn respond_if_found<F: Future<Output = Response>>(
        &self,
        show: impl FnOnce(Page) -> F,
        path: &str,
        name: FormName,
        outcome: Attempt,
    ) -> Response {
        match outcome {
            Err(problem) if problem.status == StatusCode::NOT_FOUND => self.not_found().await,
            outcome => self.respond(show, path, name, outcome).await,
        }
    }

    pub async fn not_found(&self) -> Response {
        not_found_for(&self.state, self.signed_in.clone()).await
    }

    /// For an error that no page of the form can show.
    pub async fn refused(&self, problem: Problem) -> Response {
        let visitor = Visitor::SignedIn(self.signed_in.clone());
        refused(&self.state, visitor, problem).await
    }
}

/// The posted fields; a field may occur several times.
#[derive(Clone, Default)]
pub struct Form(pub Vec<(String, String)>);

impl Form {
    pub fn parse(RawForm(body): &RawForm) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let fields = Value::from_iter(self.by_name());
        serde_json::from_value(fields).map_err(|_| unknown_action())
    }

    /// The values of a field that occurs several times are separated by spaces.
    pub fn by_name(&self) -> BTreeMap<String, String> {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &self.0 {
            let joined = values.entry(name.clone()).or_default();
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(value);
        }
        values
    }

    /// The values to show again, without passwords and keys.
    pub fn values(&self) -> BTreeMap<String, String> {
        let mut values = self.by_name();
        values.retain(|name, _| !name.contains("password") && name != "key");
        values
    }
}

/// The value of one field; the default if it is missing or cannot be parsed.
#[derive(Default)]
pub struct Field<T = String>(pub T);

impl<'de, T: FromStr + Default> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        // Only an `Option` may be missing.
        let text = Option::<String>::deserialize(field)?;
        let value = text.and_then(|text| text.parse().ok());
        Ok(Self(value.unwrap_or_default()))
    }
}

impl<T> Deref for Field<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Field {
    pub fn is_checked(&self) -> bool {
        self.0 == "1"
    }

    /// Of a field that occurs several times.
    pub fn numbers(&self) -> Vec<i64> {
        let numbers = self.split_whitespace().map(str::parse);
        numbers.filter_map(Result::ok).collect()
    }
}

/// The action is a word of the domain, which parses it.
#[derive(Deserialize)]
pub struct ActionForm {
    pub action: Field,
}

/// The part of a form that describes a new token.
#[derive(Deserialize)]
pub struct TokenFields {
    scope: Field,
    expires_days: Field,
}

impl TokenFields {
    pub fn wish(&self) -> Result<TokenWish, Invalid> {
        let scopes = self.scope.split_whitespace().map(str::parse);
        let days = match self.expires_days.trim() {
            "" => None,
            text => Some(text.parse().unwrap_or(0)),
        };
        Ok(TokenWish {
            scopes: scopes.collect::<Result<Scopes, _>>()?,
            lifetime: parse_expires_days(days)?,
            profile: None,
        })
    }
}

/// How a form ended: the page again, or a redirect.
pub enum Outcome {
    Page(Box<FormState>),
    Redirect,
}

pub type Attempt = Result<Outcome, Problem>;

impl From<FormState> for Outcome {
    fn from(page: FormState) -> Self {
        Self::Page(Box::new(page))
    }
}

/// The page after the form of this name.
pub fn page(form: FormName) -> FormState {
    FormState { form: Some(form), ..FormState::default() }
}

pub fn done(form: FormName, sentence: impl Into<String>) -> Outcome {
    let done = Some(sentence.into());
    Outcome::from(FormState { done, ..page(form) })
}

/// The page shows the token this once.
pub fn new_token(form: FormName, agent_name: String, token: Token) -> Outcome {
    let new_token = NewToken { agent_name, token: token.reveal() };
    Outcome::from(FormState { new_token: Some(new_token), ..page(form) })
}

/// The response to a form of a signed-in person: its page at `path`, made by `show`.
pub async fn respond<F: Future<Output = Response>>(
    show: impl FnOnce(Page) -> F,
    state: &AppState,
    signed_in: SignedIn,
    path: &str,
    name: FormName,
    form: &Form,
    outcome: Attempt,
) -> Response {
    // On the heap: a page's future is large, and so is its form's.
    let user = Some(signed_in.0.id);
    let show = |form| Box::pin(show(Page::new(state, signed_in, form, path)));
    match outcome {
        Ok(Outcome::Redirect) => Redirect::to(path).into_response(),
        Ok(Outcome::Page(page)) => match tell(state, user, path, &page) {
            Some(response) => response,
            None => {
                let mut response = show(*page).await;
                *response.status_mut() = StatusCode::OK;
                response
            }
        },
        Err(problem) => again(show, name, form, problem).await,
    }
}

/// The response to a form of a stranger: what the attempt made of it, or the page at `path` again, made by `show`.
pub async fn respond_to_stranger<F: Future<Output = Response>>(
    show: impl FnOnce(Asked) -> F,
    state: &AppState,
    path: &str,
    name: FormName,
    form: &Form,
    attempt: Result<Response, Problem>,
) -> Response {
    let show = |page| show(Asked::new(state, Visitor::Stranger, page, path));
    match attempt {
        Ok(response) => response,
        Err(problem) => again(show, name, form, problem).await,
    }
}

/// The redirect to the page at `path`, which tells once that something was done. `None`: nothing was, or it is too long.
pub fn tell(
    state: &AppState,
    user: Option<UserId>,
    path: &str,
    page: &FormState,
) -> Option<Response> {
    let cookie = page.has_news().then(|| flash::send(state, user, path, page))??;
    Some(([(header::SET_COOKIE, cookie)], Redirect::to(path)).into_response())
}

/// The page of a form that failed, with `Retry-After` if there is one.
async fn again<F: Future<Output = Response>>(
    show: impl FnOnce(FormState) -> F,
    name: FormName,
    form: &Form,
    problem: Problem,
) -> Response {
    let (status, retry_after_s) = (problem.status, problem.retry_after_s());
    let page = FormState {
        field: problem.field,
        error: Some(problem.detail),
        values: form.values(),
        ..page(name)
    };
    let mut response = show(page).await;
    *response.status_mut() = status;
    if let Some(seconds) = retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// With the same messages as everywhere else.
pub fn memory_problem(error: MemoryError) -> Problem {
    ToolError::from(error).into()
}

pub fn unknown_action() -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid_action",
        "`action` is not known; use the page's buttons.",
    )
}

pub fn parse_id(text: &str) -> Result<i64, Problem> {
    text.parse().map_err(|_| AccountError::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[serde(tag = "action", rename_all = "snake_case")]
    enum TestForm {
        KeepAll { names: Field, n: Field<i64> },
    }

    fn posted(body: &'static str) -> Form {
        Form::parse(&RawForm(body.into()))
    }

    #[test]
    fn fields_are_empty_rather_than_wrong_and_actions_are_known() {
        for (body, numbers, number) in [
            ("action=keep_all&names=7&n=1&other=%00&names=x&names=8", &[7, 8][..], 1),
            ("n=x&action=keep_all", &[], 0),
        ] {
            let Ok(TestForm::KeepAll { names, n }) = posted(body).read() else {
                panic!("{body}");
            };
            assert_eq!((&*names.numbers(), *n), (numbers, number), "{body}");
        }
        for body in ["", "names=7", "action=", "action=KeepAll", "action=keep_all&action=x"] {
            let problem = posted(body).read::<TestForm>().err();
            assert_eq!(problem.map(|p| p.code), Some("invalid_action"), "{body}");
        }
        let shown = posted("key=a&password=b&new_password=c&url=d&scope=e&scope=f").values();
        assert_eq!(format!("{shown:?}"), r#"{"scope": "e f", "url": "d"}"#);
    }
}
