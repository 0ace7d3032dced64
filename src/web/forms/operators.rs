//! The admin page's forms for operators: create one, change its limit, add and revoke service tokens. Members
//! get a 404.

use app::view::FormState;
use axum::extract::{Path, RawForm, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Form, Outcome, parse_id, respond, with_token};
use crate::accounts::{AgentName, ExternalId, OperatorId, TokenHolder, TokenId, UsersMax};
use crate::input::Invalid;
use crate::web::AppState;
use crate::web::auth::{Admin, SignedIn, Visitor};
use crate::web::pages::after_form;

const PATH: &str = "/admin";

pub async fn create(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let name = AgentName::parse(form.get("name"))?;
        let users_max = UsersMax::parse(form.get("users_max"))?;
        let wish = form.token_wish()?;
        let token = state.accounts.create_operator(&name, users_max, &wish);
        Ok((name.as_str().to_owned(), token.await?))
    };
    let (status, outcome) = with_token("operator", &form, attempt.await);
    page(&state, signed_in, status, outcome).await
}

pub async fn create_token(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(operator): Path<String>,
    body: RawForm,
) -> Response {
    let form = form_of(&body, &operator);
    let attempt = async {
        let holder = TokenHolder::Operator(OperatorId(parse_id(&operator)?));
        let wish = form.token_wish()?;
        Ok(state.accounts.create_token(holder, &wish).await?)
    };
    let (status, outcome) = with_token("service_token", &form, attempt.await);
    page(&state, signed_in, status, outcome).await
}

/// Changes the limit, and sets or removes the pool.
pub async fn change(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(operator): Path<String>,
    body: RawForm,
) -> Response {
    let form = form_of(&body, &operator);
    let attempt = async {
        let operator = OperatorId(parse_id(&operator)?);
        let users_max = UsersMax::parse(form.get("users_max"))?;
        let pool = parse_pool(form.get("pool"))?;
        let accounts = &state.accounts;
        let changed = accounts.change_operator(operator, users_max, pool.as_ref());
        changed.await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, "users_max", &form, outcome).await
}

pub async fn revoke_token(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path((operator, token)): Path<(String, String)>,
) -> Response {
    let attempt = async {
        let holder = TokenHolder::Operator(OperatorId(parse_id(&operator)?));
        let token = TokenId(parse_id(&token)?);
        state.accounts.revoke_token(holder, token).await?;
        Ok(Outcome::Redirect)
    };
    let (outcome, form) = (attempt.await, Form(Vec::new()));
    respond(&state, signed_in, PATH, "service_revoke", &form, outcome).await
}

/// Blank: none.
fn parse_pool(text: &str) -> Result<Option<ExternalId>, Invalid> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let parsed = ExternalId::parse(text.as_bytes()).map_err(|invalid| {
        let sentence = invalid.sentence.replace(ExternalId::HEADER, "pool");
        Invalid::new("pool", invalid.code, sentence)
    });
    parsed.map(Some)
}

/// The page shows an error beside its operator.
fn form_of(body: &RawForm, operator: &str) -> Form {
    let mut form = Form::parse(body);
    form.0.push(("operator".to_owned(), operator.to_owned()));
    form
}

async fn page(
    state: &AppState,
    signed_in: SignedIn,
    status: StatusCode,
    outcome: FormState,
) -> Response {
    after_form(state, Visitor::SignedIn(signed_in), PATH, outcome, status).await
}
