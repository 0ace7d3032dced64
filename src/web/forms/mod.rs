//! The forms that pages post. Each is a type in a handler's signature, and ends in a redirect, or in the same
//! page with the submitted values and one sentence beside the field.

pub mod account;
pub mod activity;
pub mod agents;
pub mod chat;
pub mod data;
pub mod documents;
pub mod dreams;
pub mod embeddings;
mod endpoint_test;
pub mod entities;
pub mod fading;
pub mod invitations;
pub mod jobs;
pub mod learned;
pub mod manage;
pub mod operators;
pub mod sessions;
pub mod sign_in;
pub mod summary;
pub mod teams;
pub mod users;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::str::FromStr;

use app::view::{FormState, NewToken};
use axum::extract::rejection::RawFormRejection;
use axum::extract::{FromRequest, RawForm, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::form_urlencoded;

use super::AppState;
use super::auth::{SignedIn, Visitor};
use super::error::Problem;
use super::pages::{after_form, not_found_for};
use crate::accounts::model::parse_expires_days;
use crate::accounts::{AccountError, Scopes, Token, TokenWish};
use crate::input::Invalid;

/// The fields of a posted form, and the form that they make. Missing fields are empty, so the only error is an
/// unknown action.
pub struct Posted<T>(Form, Result<T, Problem>);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Posted<T> {
    type Rejection = RawFormRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, RawFormRejection> {
        let fields = Form::parse(&RawForm::from_request(request, state).await?);
        let form = fields.read();
        Ok(Self(fields, form))
    }
}

/// The posted fields; a field may occur several times.
#[derive(Clone, Default)]
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

    fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let fields = Value::from_iter(self.by_name());
        serde_json::from_value(fields).map_err(|_| unknown_action())
    }

    /// The values of a field that occurs several times are separated by spaces.
    fn by_name(&self) -> BTreeMap<String, String> {
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
    fn values(&self) -> BTreeMap<String, String> {
        let mut values = self.by_name();
        values.retain(|name, _| !name.contains("password") && name != "key");
        values
    }
}

/// The value of one field; the default if it is missing or cannot be parsed.
pub struct Field<T = String>(T);

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
    fn is_checked(&self) -> bool {
        self.0 == "1"
    }

    /// Of a field that occurs several times.
    fn numbers(&self) -> Vec<i64> {
        let numbers = self.split_whitespace().map(str::parse);
        numbers.filter_map(Result::ok).collect()
    }
}

/// The part of a form that describes a new token.
#[derive(Deserialize)]
pub struct TokenFields {
    scope: Field,
    expires_days: Field,
}

impl TokenFields {
    fn wish(&self) -> Result<TokenWish, Invalid> {
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
enum Outcome {
    Page(Box<FormState>),
    Redirect,
}

impl From<FormState> for Outcome {
    fn from(page: FormState) -> Self {
        Self::Page(Box::new(page))
    }
}

fn done(form: &str, sentence: impl Into<String>) -> Outcome {
    let page = FormState {
        form: form.to_owned(),
        done: Some(sentence.into()),
        ..FormState::default()
    };
    page.into()
}

/// The only response that ever contains the token, so it cannot be a redirect.
fn new_token(form: &str, agent_name: String, token: Token) -> Outcome {
    let token = token.reveal();
    let page = FormState {
        form: form.to_owned(),
        new_token: Some(NewToken { agent_name, token }),
        ..FormState::default()
    };
    page.into()
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

/// Like [`respond`], for the page of something that may not exist.
async fn respond_or_not_found(
    state: &AppState,
    signed_in: SignedIn,
    path: &str,
    name: &str,
    form: &Form,
    outcome: Result<Outcome, Problem>,
) -> Response {
    match outcome {
        Err(problem) if problem.status == StatusCode::NOT_FOUND => {
            not_found_for(state, signed_in).await
        }
        outcome => respond(state, signed_in, path, name, form, outcome).await,
    }
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
    let page = FormState {
        form: name.to_owned(),
        field: problem.field,
        error: Some(problem.detail),
        values: form.values(),
        ..FormState::default()
    };
    let mut response = after_form(state, visitor, path, page, problem.status).await;
    if let Some(seconds) = retry_after_s {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
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
